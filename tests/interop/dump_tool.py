"""Apache Kafka's own dump tool reads every file that a log of ours has."""

from __future__ import annotations

import os
import uuid
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.names import TRANSACTION_STATE
from kafkatx.records.batch import Record
from kafkatx.records.builder import BatchBuilder
from kafkatx.records.compression import Codec
from kafkatx.records.keyed import build_keyed
from kafkatx.records.legacy.message_sets import build
from kafkatx.testing.contracts.log.transactions import ABORT, COMMIT, in_transaction
from kafkatx.testing.contracts.partition_log import NOW_MS, StoreCase
from kafkatx.transactions.metadata import TransactionMetadata
from kafkatx.transactions.records import encode_key, encode_value
from kafkatx.types import TopicPartition
from tests.interop.apache import dump
from tests.log.fakes import file_store

CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300)
COUNT = 20


def records(start: int) -> list[Record]:
    """Ten records."""
    return [Record(n, NOW_MS + n, b"key-%d" % n, b"value %d" % n * 5, []) for n in range(start, start + 10)]


class DumpToolTests(StoreCase, SynchronousTestCase):
    def setUp(self) -> None:
        """A log dir."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())

    def make_store(self) -> Any:
        """A store in it."""
        return file_store(self.clock, self.path)

    def fill(self, topic: str, batches: list[bytes], magic: int = 2, **settings: Any) -> str:
        """Write batches to a log of several segments; return its directory."""
        config = attrs.evolve(CONFIG, **settings)
        store = self.make_store()
        self.result(store.open(lambda topic: config))
        log = self.result(store.create(TopicPartition(topic, 0), uuid.uuid4(), config))
        for number, one in enumerate(batches):
            self.put(log, one, leader_epoch=number // 8, one_batch=magic == 2)
        self.assertEqual(log.log_end_offset, 10 * len(batches))
        self.result(store.close())
        directory: str = log.directory
        return directory

    def files(self, directory: str, suffix: str) -> list[str]:
        """The files with a suffix that hold something."""
        names = sorted(name for name in os.listdir(directory) if name.endswith(suffix))
        paths = [os.path.join(directory, name) for name in names]
        return [path for path in paths if os.path.getsize(path)]

    def batches(self, codec: Codec, producer_id: int = -1) -> list[bytes]:
        """Batches of magic 2."""
        found = []
        for number in range(COUNT):
            producer = (producer_id, 0, 10 * number) if producer_id >= 0 else (-1, -1, -1)
            builder = BatchBuilder(codec, *producer)
            for record in records(10 * number):
                builder.append(record.key, record.value, record.timestamp, [("h", b"1"), ("n", None)])
            found.append(builder.build())
        return found

    def check_logs(self, directory: str, codec: Codec, magic: int) -> str:
        """Every record of every segment is decoded, valid, and there once; return all that was said."""
        offsets = []
        said = dump(self.files(directory, ".log"), "--deep-iteration", "--print-data-log")
        for line in said.splitlines():
            if line.startswith("| offset: "):
                offsets.append(int(line.split()[2]))
            if "magic:" in line:
                self.assertIn(f"magic: {magic}", line)
                self.assertIn("isvalid: true", line)
                self.assertIn(f"compresscodec: {codec.name.lower()}", line)
        self.assertEqual(offsets, list(range(10 * COUNT)))
        self.assertIn("payload: value 199value 199", said)
        for word in ("corrupt", "Could not", "Exception", "Mismatch", "invalid"):
            self.assertNotIn(word, said)
        return said

    def check_indexes(self, directory: str, magic: int = 2) -> None:
        """Both indexes of every segment are sound and fit their log; magic 0 has no times to index."""
        for suffix in (".index", ".timeindex") if magic else (".index",):
            paths = self.files(directory, suffix)
            self.assertGreater(len(paths), 1)
            said = dump(paths, "--index-sanity-check")
            self.assertEqual(said.count("passed sanity check"), len(paths))
            # It lists all entries, and then those that do not fit the log.
            said = dump(paths)
            self.assertIn("offset: ", said)
            self.check_quiet(said)

    def check_quiet(self, said: str) -> None:
        """The tool lists only what is wrong."""
        for word in ("Mismatch", "mismatch", "Out of order", "exception", "No mapping", "Indexed", "Found"):
            self.assertNotIn(word, said)

    def test_codecs(self) -> None:
        """Magic 2 with every codec."""
        for codec in Codec:
            directory = self.fill(f"v2-{codec.name.lower()}", self.batches(codec))
            self.assertGreater(len(self.files(directory, ".log")), 1)
            said = self.check_logs(directory, codec, 2)
            self.assertIn("partitionLeaderEpoch: 2", said)
            self.assertIn("headerKeys: [h,n]", said)
            self.check_indexes(directory)

    def test_old_formats(self) -> None:
        """Magic 0 and 1 with every codec they have; magic 0's timestamps are none."""
        for magic in (0, 1):
            for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
                sets = [build(records(10 * n), magic, codec, 0) for n in range(COUNT)]
                directory = self.fill(f"v{magic}-{codec.name.lower()}", sets, magic)
                self.check_logs(directory, codec, magic)
                self.check_indexes(directory, magic)

    def test_idempotent(self) -> None:
        """Producer id, epoch and sequences, and the snapshots of them."""
        directory = self.fill("idempotent", self.batches(Codec.NONE, producer_id=77))
        said = self.check_logs(directory, Codec.NONE, 2)
        self.assertIn("baseSequence: 190 lastSequence: 199 producerId: 77 producerEpoch: 0", said)
        snapshots = self.files(directory, ".snapshot")
        self.assertGreater(len(snapshots), 2)
        said = dump(snapshots)
        self.assertIn("producerId: 77 producerEpoch: 0", said)
        self.assertIn("lastSequence: 199", said)

    def test_log_append_time(self) -> None:
        """The broker's own time, with the checksum that it makes necessary."""
        for magic, batches in (
            (2, self.batches(Codec.LZ4)),
            (1, [build(records(10 * n), 1, Codec.LZ4, 0) for n in range(COUNT)]),
        ):
            directory = self.fill(f"append-{magic}", batches, magic, message_timestamp_type="LogAppendTime")
            said = self.check_logs(directory, Codec.LZ4, magic)
            self.assertIn(f"LogAppendTime: {NOW_MS}", said)
            self.check_indexes(directory)

    def test_transaction_state(self) -> None:
        """Its decoder of transactions reads the records of ``__transaction_state``, and of no other topic."""
        begun = TransactionMetadata(7, 60_000, 4, previous_producer_id=5, client_version=2).with_partitions(
            frozenset({TopicPartition("t", 1), TopicPartition("u", 0)}), 2, NOW_MS
        )
        records = [
            *(
                (encode_key("tx"), encode_value(one))
                for one in (begun, attrs.evolve(begun, next_producer_id=9))
            ),
            (encode_key("old"), None),
        ]
        batches = [build_keyed([record], NOW_MS) for record in records]
        store = self.make_store()
        self.result(store.open(lambda topic: CONFIG))
        log = self.result(store.create(TopicPartition(TRANSACTION_STATE, 0), uuid.uuid4(), CONFIG))
        for batch in batches:
            self.put(log, batch)
        self.result(store.close())
        said = dump(self.files(log.directory, ".log"), "--transaction-log-decoder", "--print-data-log")
        for expected in (
            "transactionalId=tx",
            "transactionalId=old",
            "producerId:7",
            "producerEpoch:4",
            "state=Ongoing",
            "t-1",
            "u-0",
            "txnTimeoutMs=60000",
            f"txnLastUpdateTimestamp={NOW_MS}",
        ):
            self.assertIn(expected, said)

    def test_transactions(self) -> None:
        """Markers, the indexes of aborted transactions, and snapshots with an open one."""
        store = self.make_store()
        self.result(store.open(lambda topic: CONFIG))
        log = self.result(store.create(TopicPartition("transactions", 0), uuid.uuid4(), CONFIG))
        for number in range(40):
            sent = in_transaction(3, 7, 3 * number)
            self.assertEqual(log.append(sent, 0, NOW_MS, True, None, True).error, 0)
            log.append_marker(7, 0, ABORT if number % 2 else COMMIT, 0, NOW_MS)
            log.write()
        log.append(in_transaction(2, 8), 0, NOW_MS, True, None, True)
        log.write()
        self.result(store.close())
        said = dump(self.files(log.directory, ".log"), "--deep-iteration")
        self.assertEqual(said.count("endTxnMarker: ABORT coordinatorEpoch: 3"), 20)
        self.assertEqual(said.count("endTxnMarker: COMMIT coordinatorEpoch: 3"), 20)
        indexes = self.files(log.directory, ".txnindex")
        self.assertGreater(len(indexes), 1)
        said = dump(indexes)
        self.assertEqual(said.count("producerId: 7"), 20)
        self.assertIn("version: 0 producerId: 7 firstOffset: 4 lastOffset: 7 lastStableOffset: 8", said)
        said = dump(self.files(log.directory, ".snapshot")[-1:])
        self.assertIn("coordinatorEpoch: 3", said)
        self.assertIn("currentTxnFirstOffset: OptionalLong[160]", said)
