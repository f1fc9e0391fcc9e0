"""Tests of kafkatx.clientcore.consumer.completed_fetch."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.aborted_transactions import AbortedTransactions
from kafkatx.clientcore.consumer.completed_fetch import CompletedFetch, DecodeSettings
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import Undecodable
from kafkatx.errors import CorruptRecords
from kafkatx.records import batch as v2
from kafkatx.records.builder import BatchBuilder, assemble, build_values
from kafkatx.records.compression import Codec
from kafkatx.records.legacy import message_sets
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.fetch import AbortedTransaction
from tests.clientcore.consumer.test_aborted_transactions import ABORT, batch, marker

T0 = TopicPartition("t", 0)


def at(offset: int, data: bytes, leader_epoch: int = 3) -> bytes:
    """Return a batch as a broker stores it."""
    return offset.to_bytes(8, "big") + data[8:12] + leader_epoch.to_bytes(4, "big") + data[16:]


def text(topic: str, data: bytes | None) -> Any:
    """Decode UTF-8 text; fail for other bytes."""
    return None if data is None else f"{topic}:{data.decode('ascii')}"


class CompletedFetchTests(SynchronousTestCase):
    def fetched(
        self, data: bytes, offset: int = 0, aborted: AbortedTransactions | None = None, **how: Any
    ) -> CompletedFetch:
        """Return the records of one partition."""
        return CompletedFetch(T0, memoryview(data), offset, aborted, DecodeSettings(**how))

    def records(self, fetched: CompletedFetch) -> list[Record]:
        """Return all records."""
        found = []
        while fetched:
            decoded = fetched.decode_next()
            found += decoded.records(0, len(decoded))
        return found

    def test_every_field(self) -> None:
        """A record has its partition, offset, times, key, value, headers and leader epoch."""
        builder = BatchBuilder(Codec.GZIP)
        builder.append(b"k", b"v", 11, [("h", b"x"), ("n", None)])
        builder.append(None, None, 12)
        one, two = self.records(self.fetched(at(40, builder.build()), 40))
        self.assertEqual(one[:7], ("t", 0, 40, 11, 0, b"k", b"v"))
        self.assertEqual((one.headers, one.leader_epoch), ([("h", b"x"), ("n", None)], 3))
        self.assertEqual((two.offset, two.key, two.value, two.headers), (41, None, None, []))
        self.assertEqual(one.topic_partition, T0)

    def test_headers_that_are_wrong(self) -> None:
        """Headers that do not end where the record does raise an error once they are used."""
        builder = BatchBuilder()
        builder.append(None, b"v", 11, [("h", b"x")])
        (record,) = self.records(self.fetched(builder.build()))
        whole = record.encoded_headers
        for cut in (whole[:-1], whole + b"x", whole[:1]):
            self.assertRaises(CorruptRecords, getattr, record._replace(encoded_headers=cut), "headers")

    def test_begins_within_a_batch(self) -> None:
        """Records below the requested offset are left out, although brokers send whole batches."""
        data = at(10, build_values([b"a", b"b", b"c"], 5)) + at(13, build_values([b"d"], 5))
        fetched = self.fetched(data, 12)
        self.assertEqual(
            (fetched.next_offset, fetched.end_offset, fetched.remaining_bytes), (12, 14, len(data))
        )
        self.assertEqual([r.offset for r in self.records(fetched)], [12, 13])
        self.assertEqual((fetched.next_offset, fetched.remaining_bytes), (14, 0))

    def test_cut_off(self) -> None:
        """A truncated batch at the end is ignored."""
        first, second = at(0, build_values([b"a"], 5)), at(1, build_values([b"b"], 5))
        fetched = self.fetched(first + second[:-1])
        self.assertEqual((fetched.end_offset, fetched.remaining_bytes), (1, len(first)))
        self.assertEqual([r.value for r in self.records(fetched)], [b"a"])
        self.assertFalse(self.fetched(first[:-1]))

    def test_compacted(self) -> None:
        """The next offset is after a batch's last record, even one that compaction has removed."""
        data = assemble(build_values([b"a"], 5)[61:], 1, 0, 5, 5, last_offset_delta=9)
        fetched = self.fetched(data)
        self.assertEqual(len(fetched.decode_next()), 1)
        self.assertEqual(fetched.next_offset, 10)

    def test_control_batches(self) -> None:
        """Transaction markers are not records, but the next offset is after them."""
        fetched = self.fetched(marker(5, 7, ABORT), 5)
        self.assertEqual(len(fetched.decode_next()), 0)
        self.assertEqual(fetched.next_offset, 6)

    def test_read_committed(self) -> None:
        """Records of aborted transactions are left out, those of the producer's next one are not."""
        data = batch(0, 7, b"a") + batch(1, 8, b"b") + marker(2, 7, ABORT) + batch(3, 7, b"c")
        transactions = [AbortedTransaction(7, 0)]
        committed = self.records(self.fetched(data, aborted=AbortedTransactions(transactions)))
        self.assertEqual([r.value for r in committed], [b"b", b"c"])
        self.assertEqual([r.value for r in self.records(self.fetched(data))], [b"a", b"b", b"c"])

    def test_legacy(self) -> None:
        """Message sets of magic 0 and 1 are read, compressed ones from the requested offset on."""
        old = [v2.Record(offset, 40, b"k", b"v%d" % offset, []) for offset in range(3)]
        for magic, kind, timestamp in ((0, -1, -1), (1, 0, 40)):
            for codec in (Codec.NONE, Codec.GZIP):
                fetched = self.fetched(message_sets.build(old, magic, codec, None), 1)
                found = self.records(fetched)
                self.assertEqual([r.value for r in found], [b"v1", b"v2"])
                self.assertEqual(found[0][3:6], (timestamp, kind, b"k"))
                self.assertEqual((found[0].headers, found[0].leader_epoch), ([], -1))
                self.assertEqual(fetched.next_offset, 3)

    def test_broker_time(self) -> None:
        """The batch's time is that of each record with LogAppendTime."""
        data = assemble(build_values([b"a"], 5)[61:], 1, v2.TIMESTAMP_TYPE, 5, 99)
        (record,) = self.records(self.fetched(data))
        self.assertEqual((record.timestamp_ms, record.timestamp_type), (99, 1))

    def test_crc(self) -> None:
        """A flipped bit is an error, unless CRCs are not checked."""
        data = build_values([b"abc"], 5).replace(b"abc", b"abX")
        self.assertRaises(CorruptRecords, self.fetched(data).decode_next)
        self.assertEqual(self.records(self.fetched(data, check_crcs=False))[0].value, b"abX")

    def test_decoders(self) -> None:
        """Keys and values are decoded as settings say."""
        builder = BatchBuilder()
        builder.append(b"k", b"v", 1)
        builder.append(None, b"w", 1)
        data = builder.build()
        both = self.records(self.fetched(data, decode_key=text, decode_value=text))
        self.assertEqual([(r.key, r.value) for r in both], [("t:k", "t:v"), (None, "t:w")])
        value = self.records(self.fetched(data, decode_value=text))
        self.assertEqual([(r.key, r.value) for r in value], [(b"k", "t:v"), (None, "t:w")])

    def test_undecodable(self) -> None:
        """The error names the record and keeps those before it; records before the offset are not decoded."""
        data = build_values([b"a", b"b", b"\xff", b"c"], 5)
        error = self.assertRaises(Undecodable, self.fetched(data, decode_value=text).decode_next)
        self.assertEqual((error.topic, error.partition, error.offset), ("t", 0, 2))
        self.assertEqual([r.value for r in error.records], ["t:a", "t:b"])
        self.assertEqual([r.value for r in self.records(self.fetched(data, 3, decode_value=text))], ["t:c"])
