"""Requests that are made beforehand are those of a real client, and places in answers are where they are."""

from __future__ import annotations

import glob
import os
import struct
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.experiments import prepared_requests
from benchmarks.compare.experiments.place import Metrics, Place
from benchmarks.compare.loads import replay
from benchmarks.compare.loads.replay import Batch
from benchmarks.compare.systems.kafkatx import Kafkatx
from kafkatx.blocking import Cluster, Writer
from kafkatx.records.batch import iter_records
from kafkatx.records.builder import build_values
from kafkatx.testing import EmbeddedBroker
from kafkatx.wire import codec
from kafkatx.wire.headers import encode_response_header, split_request
from kafkatx.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafkatx.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafkatx.wire.schema import Message

TOPIC = "bench-7"
RECORDS = build_values([b"a", b"b", b"c"], 1_700_000_000_000)


def numbers(command: list[str]) -> dict[str, int]:
    """Return the arguments of a command behind the file and the count."""
    return {name: int(number) for name, number in (given.split("=") for given in command[5:])}


def answered(version: int, response: Message) -> bytes:
    """An answer as it is on the wire."""
    chunks = [encode_response_header(response.API_KEY, version, 0), codec.encode(response, version)]
    body = b"".join(chunks)
    return struct.pack(">i", len(body)) + body


class RequestTests(SynchronousTestCase):
    def setUp(self) -> None:
        """No program is built."""
        self.patch(replay, "program", lambda: "/built/replay")

    def decoded(self, request: bytes, kind: type[Message], version: int) -> Any:
        """The request in a frame."""
        frame = memoryview(request)[4:]
        self.assertEqual(struct.unpack_from(">i", request), (len(frame),))
        key, told, _, _, at = split_request(frame)
        self.assertEqual((key, told), (kind.API_KEY, version))
        return codec.decode(kind, version, frame[at:])

    def kept(self, request: bytes) -> str:
        """A request in a file."""
        path: str = self.mktemp()
        with open(path, "wb") as file:
            file.write(request)
        return path

    def test_produce(self) -> None:
        """A produce request has the batch, and where its answer has an error code the command tells."""
        request = replay.produce_request(TOPIC, -1, RECORDS)
        decoded = self.decoded(request, ProduceRequest, replay.PRODUCE_VERSION)
        (topic,) = decoded.topic_data
        (data,) = topic.partition_data
        self.assertEqual((topic.name, data.index, bytes(data.records)), (TOPIC, 0, RECORDS))
        self.assertEqual(decoded.acks, -1)
        command = replay.produce_command(9092, self.kept(request), TOPIC, -1, Batch(RECORDS, 3), 1, 10, 2)
        self.assertEqual((command[:3], command[4]), (["/built/replay", "produce", "9092"], "10"))
        found = numbers(command)
        self.assertEqual((found["seconds"], found["records"], found["bytes"]), (2, 3, 3))
        self.assertEqual(found["window"], replay.WINDOW_BYTES // len(request))
        result = PartitionProduceResponse(0, 0x1234, 5)
        response = ProduceResponse([TopicProduceResponse(TOPIC, [result])])
        answer = answered(replay.PRODUCE_VERSION, response)
        self.assertEqual(struct.unpack_from(">h", answer, found["error-at"]), (0x1234,))

    def test_large_requests(self) -> None:
        """A few large requests may be unanswered, as with Kafka's Java producer."""
        path = self.kept(bytes(replay.WINDOW_BYTES))
        command = replay.produce_command(9092, path, TOPIC, 1, Batch(RECORDS, 3), 1, 10, 2)
        self.assertEqual(numbers(command)["window"], replay.WINDOW_REQUESTS)

    def test_unanswered(self) -> None:
        """With acks=0 there are no answers to look into."""
        path = self.kept(replay.produce_request(TOPIC, 0, RECORDS))
        command = replay.produce_command(9092, path, TOPIC, 0, Batch(RECORDS, 3), 1, 10, 2)
        self.assertEqual((command[1], sorted(numbers(command))), ("send", ["bytes", "records", "seconds"]))

    def test_fetch(self) -> None:
        """The command tells where a fetch has its offset and limit, and its answer the records."""
        request, offset_at = replay.fetch_request(TOPIC, 200_000)
        (at,) = struct.unpack_from(">q", request, offset_at)
        (partition,) = self.decoded(request, FetchRequest, replay.FETCH_VERSION).topics[0].partitions
        self.assertEqual((partition.fetch_offset, partition.partition_max_bytes), (at, 200_000))
        self.assertEqual(struct.unpack_from(">i", request, offset_at + 16), (200_000,))
        found = numbers(replay.fetch_command(9092, "request", offset_at, TOPIC, 200, 10))
        self.assertEqual((found["bytes"], found["offset-at"]), (200, offset_at))
        result = PartitionData(0, 0, 3, records=RECORDS)
        response = FetchResponse(responses=[FetchableTopicResponse(TOPIC, partitions=[result])])
        answer = answered(replay.FETCH_VERSION, response)
        self.assertEqual(struct.unpack_from(">i", answer, found["records-at"]), (len(RECORDS),))
        self.assertEqual(answer[found["records-at"] + 4 :], RECORDS)


class RecordedTests(SynchronousTestCase):
    def test_batches(self) -> None:
        """Batches come out of a log as they were sent, with as many messages."""
        with EmbeddedBroker() as broker:
            with Cluster(broker.bootstrap) as cluster, Writer(cluster, "t") as writer:
                for value in (b"a", b"bb"):
                    writer.send(value)
                    writer.flush()
            (path,) = glob.glob(os.path.join(str(broker.data_dir), "t-0", "*.log"))
            found = list(replay._batches(path))
        self.assertEqual([batch.messages for batch in found], [1, 1])
        self.assertEqual([struct.unpack_from(">qxxxxi", batch.data) for batch in found], [(0, -1), (0, -1)])
        values = [
            bytes(record.value or b"") for batch in found for record in iter_records(memoryview(batch.data))
        ]
        self.assertEqual(values, [b"a", b"bb"])


class ProducedTests(SynchronousTestCase):
    def produced(self, told: int) -> Metrics:
        """A load that sends two messages and says that it sent so many."""

        def load(place: Place, command: list[str]) -> tuple[dict[str, int], Metrics]:
            with Cluster(f"127.0.0.1:{place.port}") as cluster, Writer(cluster, place.topics[-1]) as writer:
                writer.send(b"a")
                writer.send(b"b")
            return {"messages": told}, {"replayed_mb_per_s": 1.0}

        self.patch(replay, "program", lambda: "/built/replay")
        self.patch(replay, "recorded", lambda size, properties: Batch(RECORDS, 3))
        self.patch(prepared_requests, "_measured", load)
        folder = self.mktemp()
        os.mkdir(folder)
        with EmbeddedBroker() as broker:
            port = int(broker.bootstrap.rpartition(":")[2])
            server: Any = None
            return prepared_requests.produced(
                Place(Kafkatx(), server, port, folder, None, 1.0, []), 1, {"acks": "all"}
            )

    def test_all_there(self) -> None:
        """It counts when all that was sent is in the topic."""
        self.assertEqual(self.produced(2), {"replayed_mb_per_s": 1.0})

    def test_lost(self) -> None:
        """It does not when something is missing."""
        failure = self.assertRaises(RuntimeError, self.produced, 3)
        self.assertEqual(str(failure), "3 messages were sent, 2 are in the topic")
