"""Tests of kafkatx.spark.sink.exactly_once.decision."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.producer.transaction import TransactionHandle
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.spark.sink.exactly_once.decision import (
    MAX_METADATA,
    Decision,
    Part,
    Stored,
    decode,
    encode,
    is_task_id,
    task_id,
)
from kafkatx.types import TopicPartition

PLACE = TopicPartition("t", 0)
QUERY = "0e5e1b5c-4d2a-4a6c-9f6e-6c8b7f6f2a11"


def parts(count: int) -> tuple[Part, ...]:
    """The transactions of as many tasks."""
    return tuple(Part(number, number % 2, 70_000 + number, 32_000, number % 3 > 0) for number in range(count))


class CodecTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A stored decision is read back; a decision without parts is complete."""
        for decision in (Decision(QUERY, 0, parts(1)), Decision(QUERY, 1 << 40, parts(20)), Decision("q", 7)):
            offset = encode(decision)
            self.assertEqual(offset.offset, decision.batch_id)
            self.assertEqual(decode("id", {PLACE: offset}), Stored(decision, PLACE))
        self.assertIn(" complete", encode(Decision("q", 7)).metadata)
        self.assertIsNone(decode("id", {}))

    def test_size(self) -> None:
        """Some hundred tasks fit in what a broker takes; with more the error says what to do."""
        self.assertLessEqual(len(encode(Decision(QUERY, 1, parts(300))).metadata), MAX_METADATA)
        error = self.assertRaises(KafkaTXError, encode, Decision(QUERY, 1, parts(5000)))
        self.assertIn("batch 1 was written by 5000 tasks", str(error))
        self.assertIn("coalesce()", str(error))

    def test_foreign(self) -> None:
        """Offsets of a consumer group, or damaged ones, are told of, and what to do."""
        good = encode(Decision("q", 7, parts(2))).metadata
        bad = ["", "x", "kafkatx q", "kafkatx q open", "kafkatx q complete eA==", "other q complete"]
        bad += [good[:-8], good + " more", "kafkatx q half", "kafkatx q open !!!!"]
        for metadata in bad:
            error = self.assertRaises(KafkaTXError, decode, "id", {PLACE: OffsetAndMetadata(3, metadata)})
            self.assertIn("'id'", str(error))
            self.assertIn("another kafka.transactional.id", str(error))
        several = {PLACE: encode(Decision("q", 7)), TopicPartition("u", 0): encode(Decision("q", 8))}
        self.assertIn("2 partitions", str(self.assertRaises(KafkaTXError, decode, "id", several)))


class NameTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The ids of a query's tasks are told from those of queries with similar names."""
        self.assertEqual(task_id("a.b", 12, 0), "a.b-task-12-0")
        self.assertTrue(is_task_id("a.b", "a.b-task-12-0"))
        for name in (
            "a.b",
            "aXb-task-12-0",
            "a.b-task-1",
            "a.b-task-1-2-3",
            "x-a.b-task-1-2",
            "a.b-2-task-1-2",
        ):
            self.assertFalse(is_task_id("a.b", name))

    def test_handle(self) -> None:
        """A part has all that ends its transaction."""
        self.assertEqual(Part(3, 1, 7, 2, True).handle("q"), TransactionHandle("q-task-3-1", 7, 2, True))
