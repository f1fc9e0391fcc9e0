"""Batches that would stop every consumer of a topic: refused, so that what stands around them is read."""

from __future__ import annotations

import struct
import time
from typing import ClassVar

from kafka import KafkaConsumer, TopicPartition

from kafkatx.blocking.cluster import Cluster
from kafkatx.blocking.consumer.reader import Reader
from kafkatx.errors import ErrorCode
from kafkatx.records.batch import Record
from kafkatx.records.builder import assemble, build_values
from kafkatx.records.compression import Codec, compress
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.legacy import message_sets
from kafkatx.records.legacy.messages import encode_message
from kafkatx.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import RawClient

TOPIC = "wedged"
ROUNDS = 200 if FULL else 2
ALL_CODECS = tuple(Codec)
PACKED = ALL_CODECS[1:]


def made(payload: bytes, count: int, codec: int = 0, delta: int = -1) -> bytes:
    """A batch with a right checksum around anything."""
    now_ms = int(time.time() * 1000)
    return assemble(payload, count, codec, now_ms, now_ms, last_offset_delta=delta)


def payload(count: int) -> bytes:
    """Return valid records of different sizes."""
    return build_values([b"v" * n for n in range(count)], int(time.time() * 1000))[HEADER_BYTES:]


def wedges() -> list[bytes]:
    """Yield batches that Apache Kafka rejects, too."""
    garbage = b"this is nothing that inflates"
    found = [made(garbage, 3, codec) for codec in PACKED]
    found += [made(b"", 3, codec) for codec in PACKED]
    for codec in ALL_CODECS:
        for count, said in ((2, 1), (3, 2), (2, 3), (100, 99), (99, 100), (3, 2**31 - 1)):
            found.append(made(compress(codec, payload(count)), said, codec))
        found.append(made(compress(codec, payload(2)), 2, codec, 2**31 - 1))
        found.append(made(compress(codec, payload(1) * 2), 2, codec))
        found.append(made(compress(codec, payload(3)[:-1]), 3, codec))
        found.append(made(compress(codec, payload(3) + b"x"), 3, codec))
        found.append(made(compress(codec, bytes((14, 0, 0, 0, 126, 1, 0, 0))), 1, codec))
    found += [made(payload(1), 1, attributes) for attributes in (5, 6, 7, 0x20, 0x40)]
    return found


def old_wedges() -> list[bytes]:
    """The like in message sets of magic 1."""
    inner = message_sets.build([Record(0, 1, None, b"v", [])], 1, Codec.NONE, 0)
    found = [encode_message(0, 1, codec, 1, None, b"garbage") for codec in (1, 2, 3)]
    found += [encode_message(0, 1, 1, 1, None, compress(Codec.GZIP, inner[:-1]))]
    found += [encode_message(0, 1, 1, 1, None, compress(Codec.GZIP, struct.pack(">qi", 0, 2**31 - 1)))]
    return found


class WedgeTests(AttackCase):
    settings: ClassVar = {"log.message.timestamp.difference.max.ms": str(2**62)}

    def produce(self, client: RawClient, batch: bytes, version: int = 9) -> ErrorCode:
        """Produce one batch; return the error."""
        data = [TopicProduceData(TOPIC, [PartitionProduceData(0, batch)])]
        response = client.ask(0, version, ProduceRequest(None, -1, 30_000, data))
        return ErrorCode.of(response.responses[0].partition_responses[0].error_code)

    def test_wedges(self) -> None:
        """None is stored; kafka-python and the blocking reader read all sound records around them."""
        client = self.connect()
        client.ask(19, 4, CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)]))
        sound: list[bytes] = []
        with self.beside():
            for round_number in range(ROUNDS):
                bad = wedges() if round_number < 2 else wedges()[:8]
                for number, batch in enumerate(bad):
                    self.assertIn(
                        self.produce(client, batch),
                        (ErrorCode.INVALID_RECORD, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
                        f"wedge {number} of round {round_number}",
                    )
                for batch in old_wedges():
                    self.assertNotEqual(self.produce(client, batch, 2), ErrorCode.NONE)
                value = b"sound %d" % round_number
                codec = ALL_CODECS[round_number % len(ALL_CODECS)]
                batch = build_values([value] * 3, int(time.time() * 1000), codec)
                self.assertEqual(self.produce(client, batch), ErrorCode.NONE)
                sound += [value] * 3
        with (
            Cluster(self.broker.bootstrap) as cluster,
            Reader(cluster, TOPIC, 0, start_offset=0, end_offset=len(sound)) as reader,
        ):
            self.assertEqual([record.value for record in reader], sound)
        consumer = KafkaConsumer(bootstrap_servers=self.broker.bootstrap, consumer_timeout_ms=2000)
        self.addCleanup(consumer.close)
        consumer.assign([TopicPartition(TOPIC, 0)])
        consumer.seek_to_beginning()
        read = []
        for record in consumer:
            read.append(record.value)
            if len(read) == len(sound):
                break
        self.assertEqual(read, sound)
