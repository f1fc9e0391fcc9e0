"""The offsets that come next, and the tasks that load them."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import TopicMetadata
from kafkatx.spark.ingest.errors import OffsetsLost
from kafkatx.spark.ingest.options import IngestOptions
from kafkatx.spark.ingest.plan import Pending, limited, pending, record_bytes, tasks_of, until
from kafkatx.spark.ingest.table.manifest import Manifest
from kafkatx.spark.offsets import OffsetRange
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Subscribe, SubscribePattern
from kafkatx.types import TopicPartition
from tests.spark.fakes import FakeCluster
from tests.spark.ingest.table.test_table import EMPTY

FIRST, SECOND = uuid.UUID(int=1), uuid.UUID(int=2)


class IdentifiedCluster(FakeCluster):
    """Its topics have ids."""

    topic_id = FIRST

    def topic(self, name: str, allow_auto_create: bool = False) -> TopicMetadata:
        """With its id."""
        return attrs.evolve(super().topic(name), topic_id=self.topic_id)


def options(**given: Any) -> IngestOptions:
    """Return options for topic ``t``, unless a selection is given."""
    return IngestOptions(ClientSettings("h:1"), given.pop("selection", Subscribe(("t",))), "/to", **given)


def committed(ids: dict[str, str] | None = None, **ends: list[int | None]) -> Manifest:
    """A commit after which these offsets come next."""
    return attrs.evolve(
        EMPTY,
        topic_ids=ids or {},
        next={
            TopicPartition(topic, n): offset
            for topic, offsets in ends.items()
            for n, offset in enumerate(offsets)
            if offset is not None
        },
    )


class PendingTests(SynchronousTestCase):
    def plan(
        self, cluster: FakeCluster, last: Manifest | None, **given: Any
    ) -> tuple[Pending, list[tuple[int, int]]]:
        """Return the pending work, and its offsets."""
        found = pending(cluster, options(**given), last)
        return found, [(item.start, item.end) for item in found.ranges]

    def test_first(self) -> None:
        """The first commit starts at the logs' beginnings or, if told so, at their ends."""
        cluster = FakeCluster({"t": [(0, 5), (3, 9)]})
        self.assertEqual(self.plan(cluster, None)[1], [(0, 5), (3, 9)])
        self.assertEqual(self.plan(cluster, None, starting="latest")[1], [(5, 5), (9, 9)])

    def test_next(self) -> None:
        """It goes on behind the last one; partitions that are new start at their beginnings, always."""
        cluster = FakeCluster({"t": [(0, 5), (3, 9), (2, 4)]})
        forgotten: list[None] = []
        self.patch(
            cluster, "forget_metadata", lambda: forgotten.append(None)
        )  # or it would never learn of them
        for starting in ("earliest", "latest"):
            found, offsets = self.plan(cluster, committed(t=[4, 9]), starting=starting)
            self.assertEqual((offsets, found.moved, found.size), ([(4, 5), (9, 9), (2, 4)], False, 3))
        self.assertEqual(len(forgotten), 2)

    def test_open_transaction(self) -> None:
        """Committed records end at the last stable offset; what was loaded beyond it before is not lost."""
        cluster = FakeCluster({"t": [(0, 50), (0, 9)]})
        cluster.stable = {TopicPartition("t", 0): 30}
        committed_only = ClientSettings("h:1", isolation_level=1)
        cases: list[tuple[list[int | None] | None, int, int]]
        cases = [(None, 0, 30), ([20, 0], 20, 30), ([40, 0], 40, 40)]
        for known, start, end in cases:
            last = None if known is None else committed(t=known)
            given = attrs.evolve(options(), client=committed_only)
            found = pending(cluster, given, last)
            self.assertEqual([(item.start, item.end) for item in found.ranges], [(start, end), (0, 9)])
            self.assertFalse(found.moved)
        latest = pending(cluster, attrs.evolve(options(starting="latest"), client=committed_only), None)
        self.assertEqual([(item.start, item.end) for item in latest.ranges], [(30, 30), (9, 9)])
        self.assertEqual(self.plan(cluster, None)[1], [(0, 50), (0, 9)])

    def test_pattern(self) -> None:
        """Topics that were made since are found, and start at their beginnings."""
        cluster = FakeCluster({"t": [(0, 5)], "u": [(1, 2)], "x": [(0, 1)]})
        found, _ = self.plan(cluster, committed(t=[5]), selection=SubscribePattern("^[tu]$"))
        self.assertEqual(found.ranges, (OffsetRange("t", 0, 5, 5), OffsetRange("u", 0, 1, 2)))

    def lost(self, cluster: FakeCluster, last: Manifest, **given: Any) -> str:
        """The error, or, where that is none, the warning; then it goes on at the beginning."""
        error = str(self.assertRaises(OffsetsLost, self.plan, cluster, last, **given))
        logger = logging.getLogger("kafkatx.spark.ingest.plan")
        said: list[str] = []
        self.patch(logger, "warning", lambda text, *values: said.append(text % values))
        self.found, self.offsets = self.plan(cluster, last, fail_on_data_loss=False, **given)
        self.assertTrue(self.found.moved)
        for message in said:
            self.assertIn("Some data may have been lost", message)
        self.assertEqual(len(said), 1)
        return error

    def test_aged_out(self) -> None:
        """Offsets that retention took: an error that names all, or on to the log's beginning."""
        said = self.lost(FakeCluster({"t": [(0, 2), (100, 200)]}), committed(t=[1, 50]))
        self.assertIn("t-1: offset 50 comes next: the log has 100 to 200", said)
        self.assertIn("--skip-lost", said)
        self.assertEqual(self.offsets, [(1, 2), (100, 200)])

    def test_shorter(self) -> None:
        """A log that ends before what comes next is another one."""
        said = self.lost(FakeCluster({"t": [(0, 20)]}), committed(t=[50]))
        self.assertIn("t-0: offset 50 comes next: the log has 0 to 20", said)
        self.assertEqual(self.offsets, [(0, 20)])

    def test_created_anew(self) -> None:
        """A topic that was deleted and made again is noticed by its id, even if it is longer now."""
        cluster = IdentifiedCluster({"t": [(0, 80)]})
        last = committed({"t": str(FIRST)}, t=[50])
        self.assertEqual(self.plan(cluster, last)[1], [(50, 80)])
        cluster.topic_id = SECOND
        self.assertIn("deleted and created anew", self.lost(cluster, last))
        self.assertEqual((self.offsets, self.found.topic_ids), ([(0, 80)], {"t": str(SECOND)}))

    def test_gone(self) -> None:
        """A partition, or a topic that the pattern finds, that is there no more: it will be forgotten."""
        last = committed(t=[1, 7], u=[3], x=[9])
        cluster = FakeCluster({"t": [(0, 1)], "x": [(0, 9)]})
        self.assertIn("t-1, where offset 7 comes next, is gone", self.lost(cluster, committed(t=[1, 7])))
        self.assertEqual(self.found.gone, {TopicPartition("t", 1)})
        said = self.lost(FakeCluster({"t": [(0, 1), (0, 7)]}), last, selection=SubscribePattern("^[tu]$"))
        self.assertIn("u-0, where offset 3", said)


class TaskTests(SynchronousTestCase):
    RANGES = (OffsetRange("t", 0, 10, 20), OffsetRange("t", 1, 0, 5), OffsetRange("u", 0, 7, 32))

    def offsets(self, tasks: list[tuple[OffsetRange, ...]]) -> list[tuple[str, int, int]]:
        """Every offset, in order."""
        return [(r.topic, r.partition, n) for task in tasks for r in task for n in range(r.start, r.end)]

    def test_small(self) -> None:
        """A small commit is one task, however many partitions there are."""
        self.assertEqual(tasks_of(self.RANGES, 100.0, 1 << 20, 8), [self.RANGES])

    def test_equal(self) -> None:
        """A large one is dealt out in equal parts, nothing left out, nothing twice."""
        whole = self.offsets([self.RANGES])
        for size in (1, 3, 7, 11, 39, 40):
            tasks = tasks_of(self.RANGES, 1.0, size, 1)
            self.assertEqual(self.offsets(tasks), whole)
            self.assertEqual(len(tasks), -(-40 // size))
            sizes = [sum(item.size for item in task) for task in tasks]
            self.assertLessEqual(max(sizes) - min(sizes), 1)

    def test_cores(self) -> None:
        """There are as many tasks as keep the cores busy, none of less than 16 MiB."""
        ranges = [OffsetRange("t", 0, 0, 1000)]
        mib = float(1 << 20)
        counts = [len(tasks_of(ranges, n * mib / 1000, 1 << 40, 4)) for n in (1, 31, 33, 500)]
        self.assertEqual(counts, [1, 1, 2, 4])
        self.assertEqual(len(tasks_of([OffsetRange("t", 0, 0, 2)], 1e12, 1, 4)), 2)

    def test_record_bytes(self) -> None:
        """The size of a record is that of the last commit; before it, a guess."""
        self.assertEqual((record_bytes(None), record_bytes(EMPTY)), (100.0, 100.0))


class LimitTests(SynchronousTestCase):
    def test_limited(self) -> None:
        """In proportion; empty ranges go; no limit, no change."""
        ranges = [OffsetRange("t", 0, 0, 10), OffsetRange("t", 1, 5, 5), OffsetRange("t", 2, 100, 130)]
        self.assertEqual(limited(ranges, 4), [ranges[0]._replace(end=1), ranges[2]._replace(end=103)])
        self.assertEqual(limited(ranges, None), [ranges[0], ranges[2]])
        self.assertEqual(limited(ranges, 40), [ranges[0], ranges[2]])

    def test_until(self) -> None:
        """Up to the offsets that were the latest at the start; what came later is left out."""
        ranges = [OffsetRange("t", n, 5, 50) for n in range(4)]
        ends = {TopicPartition("t", 0): 20, TopicPartition("t", 1): 3, TopicPartition("t", 2): 60}
        self.assertEqual([(r.start, r.end) for r in until(ranges, ends)], [(5, 20), (5, 5), (5, 50), (5, 5)])
