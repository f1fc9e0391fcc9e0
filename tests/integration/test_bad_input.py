"""Bad input on the wire: a broker in a process of its own, and hostile clients."""

from __future__ import annotations

import atexit
import os
import struct
import time
from functools import lru_cache

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode
from kafkatx.records.batch import Record
from kafkatx.records.builder import build_values
from kafkatx.records.compression import Codec
from kafkatx.records.legacy import message_sets
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire import codec
from kafkatx.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkatx.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.integration.raw import RawClient, request_frame, rss_bytes
from tests.measured import check_below

TOPIC = "bad-input"
MAX_MESSAGE_BYTES = 10_000
UNMOVED_BYTES = 4 << 20
LOG_S = 10.0


@lru_cache(maxsize=1)
def broker() -> EmbeddedBroker:
    """The broker of this module, started by its first test."""
    settings = {"message.max.bytes": str(MAX_MESSAGE_BYTES), "kafkatx.log.lines.per.minute": "1000"}
    started = EmbeddedBroker(settings, run_in="process").start()
    atexit.register(started.__exit__, None, None, None)
    with RawClient(started.bootstrap) as client:
        client.ask(19, 4, CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)]))
    return started


class BadInputTestCase(SynchronousTestCase):
    def connect(self) -> RawClient:
        """A new connection, closed at the test's end."""
        client = RawClient(broker().bootstrap)
        self.addCleanup(client.__exit__)
        return client

    def log_lines(self, client: RawClient) -> list[str]:
        """The log's lines about a client; waits for the first."""
        deadline = time.monotonic() + LOG_S
        while True:
            lines = [line for line in broker().output().splitlines() if f"{client.name}:" in line]
            if lines or time.monotonic() > deadline:
                return lines
            time.sleep(0.01)

    def check_closed(self, client: RawClient, *words: str) -> None:
        """The connection is closed, and one line of the log names the client and says why."""
        self.assertTrue(client.closed())
        self.check_served()
        (line,) = self.log_lines(client)
        for word in words:
            self.assertIn(word, line)

    def check_served(self) -> None:
        """The broker serves others."""
        with RawClient(broker().bootstrap) as other:
            self.assertEqual(other.ask(18, 3, ApiVersionsRequest("test", "1")).error_code, 0)

    def end_offset(self) -> int:
        """The end of the topic's log."""
        asked = [ListOffsetsTopic(TOPIC, [ListOffsetsPartition(0, timestamp=-1)])]
        with RawClient(broker().bootstrap) as other:
            offset: int = other.ask(2, 1, ListOffsetsRequest(-1, 0, asked)).topics[0].partitions[0].offset
        return offset


class FrameTests(BadInputTestCase):
    def check_sizes(self, prepare: bool) -> None:
        """No impossible size is waited for, and none costs memory."""
        self.check_served()
        before = rss_bytes(broker().pid or 0)
        for size in (-1, -(2**31), 2**31 - 1, 104_857_601):
            client = self.connect()
            if prepare:
                client.ask(18, 3, ApiVersionsRequest("test", "1"))
            client.send(struct.pack(">i", size) + b"x" * 100)
            self.check_closed(client, str(size), "cannot be" if size < 0 else "above the limit of 104857600")
        check_below(self, rss_bytes(broker().pid or 0) - before, UNMOVED_BYTES, "growth of the broker, bytes")

    def test_sizes_before_api_versions(self) -> None:
        """A negative size, and one above the limit, as the first that a client sends."""
        self.check_sizes(prepare=False)

    def test_sizes_after_api_versions(self) -> None:
        """The same from a client that began well."""
        self.check_sizes(prepare=True)

    def test_large_size_costs_nothing(self) -> None:
        """A size within the limit is taken at its word, but costs only what has come of it."""
        self.check_served()
        before = rss_bytes(broker().pid or 0)
        for _ in range(50):
            self.connect().send(struct.pack(">i", 100 << 20) + b"x" * 100)
        self.check_served()
        check_below(self, rss_bytes(broker().pid or 0) - before, UNMOVED_BYTES, "growth of the broker, bytes")

    def test_tls(self) -> None:
        """A TLS client learns nothing, but the log says what it was."""
        client = self.connect()
        client.send(bytes.fromhex("16030100c8010000c40303") + os.urandom(195))
        self.check_closed(client, "TLS")

    def test_http(self) -> None:
        """An HTTP client learns nothing, but the log says what it was."""
        for method in ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"):
            client = self.connect()
            client.send(f"{method} / HTTP/1.1\r\nHost: localhost:9092\r\n\r\n".encode())
            self.check_closed(client, "HTTP")


class RequestTests(BadInputTestCase):
    def send_body(self, body: bytes) -> RawClient:
        """Send a frame of this body, while a request of another connection is waiting."""
        client = self.connect()
        client.send(struct.pack(">i", len(body)) + body)
        return client

    def test_unknown(self) -> None:
        """An API or version that is not offered closes the connection; the log names it."""
        for key, version, words in (
            (999, 0, "API key 999"),
            (4, 0, "API key 4"),
            (-1, 0, "API key -1"),
            (0, 13, "Produce version 13"),
            (1, 99, "Fetch version 99"),
            (3, -1, "Metadata version -1"),
        ):
            client = self.send_body(struct.pack(">hhih", key, version, 1, -1))
            self.check_closed(client, words, "not offered")

    def test_newer_api_versions(self) -> None:
        """A newer ApiVersions is answered with error 35 in version 0, and the connection goes on."""
        client = self.send_body(struct.pack(">hhih", 18, 99, 7, -1) + b"\0")
        reply = client.receive()
        self.assertEqual(struct.unpack_from(">i", reply), (7,))
        response = codec.decode(ApiVersionsResponse, 0, reply[4:])
        self.assertEqual(response.error_code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertEqual([(k.api_key, k.max_version) for k in response.api_keys], [(18, 4)])
        self.assertEqual(client.ask(18, 3, ApiVersionsRequest("test", "1")).error_code, 0)

    def test_garbage(self) -> None:
        """Bodies that no request can have close their connection; one that waits is served on."""
        header = struct.pack(">hhih", 3, 1, 1, -1)
        flexible = struct.pack(">hhih", 3, 9, 1, -1) + b"\0"
        parked = self.connect()
        wait = FetchRequest(
            max_wait_ms=60_000,
            min_bytes=1,
            topics=[
                FetchTopic(
                    TOPIC,
                    partitions=[FetchPartition(0, fetch_offset=self.end_offset(), partition_max_bytes=999)],
                )
            ],
        )
        parked.send(request_frame(1, 12, wait))
        before = rss_bytes(broker().pid or 0)
        for body in (
            header + struct.pack(">i", 2**31 - 1),  # an array of 2^31 topics
            struct.pack(">hhihi", 3, 0, 1, -1, -1),  # null where version 0 has none
            header + struct.pack(">ih", 1, 30_000) + b"t",  # a string past the end
            header + struct.pack(">ih", 1, -5),
            header + struct.pack(">ih", 1, 2) + b"\xff\xff",  # no UTF-8
            flexible + b"\xff\xff\xff\xff\x0f",  # a compact array of 2^32
            flexible + b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",  # a varint without end
            flexible[:-1],
            struct.pack(">hhih", 0, 3, 1, -1) + b"\x7f" * 100,
            b"",
            b"\0",
        ):
            self.check_closed(self.send_body(body))
        check_below(self, rss_bytes(broker().pid or 0) - before, UNMOVED_BYTES, "growth of the broker, bytes")
        produce(self.connect(), build_values([b"wakes the one that waits"], now_ms()))
        self.assertTrue(parked.receive())

    def test_earlier_request_is_answered(self) -> None:
        """A request before the garbage is answered."""
        client = self.connect()
        good = request_frame(18, 0, ApiVersionsRequest(), 5)
        client.send(good + struct.pack(">i", 3) + b"bad")
        self.assertEqual(struct.unpack_from(">i", client.receive()), (5,))
        self.check_closed(client)


def now_ms() -> int:
    """The time that a producer stamps."""
    return int(time.time() * 1000)


def produce(client: RawClient, records: bytes, version: int = 9, acks: int = -1) -> PartitionProduceResponse:
    """Produce to the topic; gives the partition's result."""
    data = [TopicProduceData(TOPIC, [PartitionProduceData(0, records)])]
    response = client.ask(0, version, ProduceRequest(None, acks, 1000, data))
    result: PartitionProduceResponse = response.responses[0].partition_responses[0]
    return result


class RecordsTests(BadInputTestCase):
    def check_refused(self, records: bytes, code: ErrorCode, version: int = 9) -> None:
        """The records are refused with a code, nothing is written, and the connection goes on."""
        before, client = self.end_offset(), self.connect()
        result = produce(client, records, version)
        self.assertEqual((ErrorCode.of(result.error_code), result.base_offset), (code, -1))
        self.assertEqual(self.end_offset(), before)
        good = produce(client, build_values([b"v"], now_ms()))
        self.assertEqual((good.error_code, good.base_offset), (0, before))

    def test_wrong_crc(self) -> None:
        """A batch with a wrong CRC."""
        self.check_refused(build_values([b"value"], now_ms())[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE)

    def test_wrong_magic(self) -> None:
        """A magic that the version does not carry, or that does not exist."""
        old = message_sets.build([Record(0, now_ms(), None, b"v", [])], 1, Codec.NONE, 0)
        self.check_refused(old, ErrorCode.INVALID_RECORD)
        batch = bytearray(build_values([b"v"], now_ms()))
        batch[16] = 9
        self.check_refused(bytes(batch), ErrorCode.INVALID_RECORD)

    def test_two_batches(self) -> None:
        """Two batches for one partition."""
        one = build_values([b"v"], now_ms())
        self.check_refused(one + one, ErrorCode.INVALID_RECORD)

    def test_too_large(self) -> None:
        """A batch above message.max.bytes."""
        self.check_refused(build_values([b"v" * MAX_MESSAGE_BYTES], now_ms()), ErrorCode.MESSAGE_TOO_LARGE)

    def test_without_acks(self) -> None:
        """With acks=0 the connection is closed: there is no other way to tell."""
        before, client = self.end_offset(), self.connect()
        data = [TopicProduceData(TOPIC, [PartitionProduceData(0, b"nonsense")])]
        client.send(request_frame(0, 9, ProduceRequest(None, 0, 1000, data)))
        self.check_closed(client, f"acks=0 to partition 0 of '{TOPIC}'")
        self.assertEqual(self.end_offset(), before)


class NameTests(BadInputTestCase):
    NAMES = ("../x", "", "x" * 250, ".", "..", "/etc/x", "a\0b")

    def test_names(self) -> None:
        """Bad topic names get INVALID_TOPIC_EXCEPTION from CreateTopics and Metadata, and no file is made."""
        data_dir = broker().data_dir or ""
        before = sorted(os.listdir(data_dir)), sorted(os.listdir(os.path.dirname(data_dir)))
        client = self.connect()
        for name in self.NAMES:
            created = client.ask(19, 4, CreateTopicsRequest([CreatableTopic(name, 1, 1)])).topics
            asked = MetadataRequest([MetadataRequestTopic(name=name)], True)
            shown = [client.ask(3, version, asked).topics[0].error_code for version in (0, 12)]
            self.assertEqual(
                [created[0].error_code, *shown], [ErrorCode.INVALID_TOPIC_EXCEPTION] * 3, repr(name)
            )
        after = sorted(os.listdir(data_dir)), sorted(os.listdir(os.path.dirname(data_dir)))
        self.assertEqual(after[0], before[0])
        self.assertNotIn("x-0", after[1])
