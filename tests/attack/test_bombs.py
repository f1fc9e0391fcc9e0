"""Small batches that are large inside: produced, stored, and read by old clients."""

from __future__ import annotations

import gzip
import time
from concurrent.futures import ThreadPoolExecutor

from kafkatx.errors import ErrorCode
from kafkatx.records.builder import assemble
from kafkatx.records.compression import Codec, compress
from kafkatx.records.header import HEADER_BYTES
from kafkatx.records.keyed import build_keyed
from kafkatx.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkatx.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import RawClient

SENDERS = 8 if FULL else 2
ROUNDS = 5 if FULL else 1
RECORD = bytes((14, 0, 0, 0, 2, 107, 1, 0))
"""Key "k", no value, offset 0: as often as one likes."""
INSIDE_BYTES = 350 << 20 if FULL else 40 << 20
READ_BYTES = 15 << 20
"""What a reader has to inflate: less than ``kafkatx.records.max.inflated.bytes``."""
MEMBERS = 50_000


def bomb(codec: Codec, size: int) -> bytes:
    """A batch of *size* bytes inside, in which each record has the first one's offset."""
    count = size // len(RECORD)
    now_ms = int(time.time() * 1000)
    return assemble(compress(codec, RECORD * count), count, codec, now_ms, now_ms)


class BombTests(AttackCase):
    def create(self, name: str, **configs: str) -> None:
        """Create a topic; config names with ``_`` for ``.``."""
        given = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
        self.connect().ask(19, 4, CreateTopicsRequest([CreatableTopic(name, 1, 1, configs=given)]))

    def produce(self, topic: str, batch: bytes) -> int:
        """Produce on a connection of its own; return the error."""
        with RawClient(self.broker.bootstrap) as client:
            data = [TopicProduceData(topic, [PartitionProduceData(0, batch)])]
            response = client.ask(0, 9, ProduceRequest(None, -1, 30_000, data))
        code: int = response.responses[0].partition_responses[0].error_code
        return code

    def produce_all(self, topic: str, batches: list[bytes]) -> set[ErrorCode]:
        """Produce from several connections at once, again and again; return the errors."""
        with ThreadPoolExecutor(SENDERS) as senders:
            told = senders.map(lambda batch: self.produce(topic, batch), batches * SENDERS * ROUNDS)
            return {ErrorCode.of(code) for code in told}

    def test_compacted_topic(self) -> None:
        """A batch of a few kB for a compacted topic, whose keys have to be looked at."""
        self.create("compacted", cleanup_policy="compact")
        now_ms = int(time.time() * 1000)
        value = build_keyed([(b"k", bytes(INSIDE_BYTES))], now_ms)[HEADER_BYTES:]
        zeros = assemble(compress(Codec.ZSTD, value), 1, Codec.ZSTD, now_ms, now_ms)
        with self.beside():
            self.assertEqual(self.produce_all("compacted", [zeros]), {ErrorCode.MESSAGE_TOO_LARGE})
            for size in (INSIDE_BYTES, READ_BYTES):
                told = self.produce_all("compacted", [bomb(Codec.ZSTD, size)])
                self.assertEqual(told, {ErrorCode.INVALID_RECORD})

    def test_sound_records(self) -> None:
        """The largest batch of small records, all of them valid."""
        self.create("sound", cleanup_policy="compact", max_message_bytes="8000000")
        count = 1_000_000 if FULL else 30_000
        now_ms = int(time.time() * 1000)
        keyed = build_keyed([(b"", b"")] * count, now_ms)[HEADER_BYTES:]
        batch = assemble(compress(Codec.ZSTD, keyed), count, Codec.ZSTD, now_ms, now_ms)
        with self.beside():
            told = self.produce_all("sound", [batch])
        self.assertEqual(told, {ErrorCode.NONE})

    def test_gzip_members(self) -> None:
        """Empty gzip members, one after the other."""
        self.create("members")
        now_ms = int(time.time() * 1000)
        batch = assemble(gzip.compress(b"") * MEMBERS, 1, Codec.GZIP, now_ms, now_ms)
        with self.beside():
            told = self.produce_all("members", [batch])
        self.assertEqual(told, {ErrorCode.INVALID_RECORD})

    def test_old_fetcher(self) -> None:
        """A batch that was stored unseen, read by clients that need it in an old format."""
        self.create("old", kafkatx_records_validation="headers")
        batch = bomb(Codec.GZIP, READ_BYTES)
        self.assertEqual(self.produce("old", batch), 0)

        def fetch(version: int) -> int:
            partition = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
            request = FetchRequest(
                max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic("old", partitions=[partition])]
            )
            with RawClient(self.broker.bootstrap) as client:
                response = client.ask(1, version, request)
            part = response.responses[0].partitions[0]
            self.assertIn(part.error_code, (0, ErrorCode.CORRUPT_MESSAGE))
            return len(part.records or b"")

        with self.beside(), ThreadPoolExecutor(SENDERS) as readers:
            sizes = list(readers.map(fetch, [1, 2] * SENDERS * ROUNDS))
        self.assertLess(max(sizes), 2 << 20)
