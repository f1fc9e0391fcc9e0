"""From where to where the batches of a stream go, and what their tasks read."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.options.limits import Limits
from kafkatx.spark.options.options import parse_stream
from kafkatx.spark.source import plan as planning
from kafkatx.spark.source.microbatches import MicroBatches
from kafkatx.spark.source.partition_logs import PartitionLogs
from kafkatx.spark.source.plan import DataLoss
from kafkatx.types import TopicPartition
from tests.spark.fakes import FakeCluster

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
ALL = Limits()
LOGGERS = "kafkatx.spark"


class MicroBatchesTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """A topic with two partitions."""
        self.cluster = FakeCluster({"t": [(0, 10), (0, 20)]})
        self.patch(planning, "connect", lambda client: self.cluster)
        self.clock = Clock()

    def batches(self, **options: str) -> MicroBatches:
        """The batches of a stream of that topic."""
        parsed = parse_stream({"kafka.bootstrap.servers": "h:1", "subscribePattern": "^t", **options})
        return MicroBatches(parsed, PartitionLogs(parsed, lambda pause_s: None), self.clock.seconds)


class StartTests(MicroBatchesTestCase):
    def test_asked_twice(self) -> None:
        """The start is the same each time, though latest moves on."""
        batches = self.batches()
        self.assertEqual(batches.start(), {T0: 10, T1: 20})
        self.cluster.logs["t"][0] = (0, 15)
        self.assertEqual(batches.start(), {T0: 10, T1: 20})

    def test_of_an_earlier_run(self) -> None:
        """A start of an earlier run holds, and no broker is asked for another one."""
        batches = self.batches()
        batches.started_at({T0: 3})
        self.assertEqual(batches.start(), {T0: 3})
        self.assertEqual(self.cluster.asked, 0)


class EndTests(MicroBatchesTestCase):
    def test_all(self) -> None:
        """Without limits a batch goes to the ends; the start comes back if there is nothing new."""
        batches = self.batches()
        self.assertEqual(batches.end({T0: 4, T1: 4}, ALL), {T0: 10, T1: 20})
        start = {T0: 10, T1: 20}
        self.assertIs(batches.end(start, ALL), start)
        self.assertEqual(batches.seen, start)

    def test_added(self) -> None:
        """Partitions and topics that were added belong to the next batch, with limits and without."""
        self.cluster.logs["t"].append((0, 5))
        self.cluster.logs["tx"] = [(2, 4)]
        end = {T0: 10, T1: 20, T2: 5, TopicPartition("tx", 0): 4}
        self.assertEqual(self.batches().end({T0: 4, T1: 4}, ALL), end)
        self.assertEqual(self.batches().end({T0: 4, T1: 4}, Limits(1000)), end)
        got = self.batches().end({T0: 10, T1: 20}, Limits(2))
        self.assertEqual(got, {T0: 10, T1: 20, T2: 1, TopicPartition("tx", 0): 3})

    def test_most(self) -> None:
        """maxOffsetsPerTrigger cuts in proportion; what was seen is what there is."""
        batches = self.batches()
        self.assertEqual(batches.end({T0: 0, T1: 0}, Limits(9)), {T0: 3, T1: 6})
        self.assertEqual(batches.seen, {T0: 10, T1: 20})

    def test_least(self) -> None:
        """minOffsetsPerTrigger waits for more, but not longer than the delay, nor before the first batch."""
        batches, limits = self.batches(), Limits(None, 10, 5000)
        start = batches.end({T0: 9, T1: 19}, limits)
        self.assertEqual(start, {T0: 10, T1: 20})
        self.cluster.logs["t"][0] = (0, 19)
        self.assertIs(batches.end(start, limits), start)
        self.cluster.logs["t"][0] = (0, 20)
        self.assertEqual(batches.end(start, limits), {T0: 20, T1: 20})
        start = {T0: 19, T1: 20}
        self.clock.advance(4.9)
        self.assertIs(batches.end(start, limits), start)
        self.clock.advance(0.1)
        self.assertEqual(batches.end(start, limits), {T0: 20, T1: 20})
        self.assertIs(batches.end(start, limits), start)

    def test_least_after_empty_first(self) -> None:
        """A first batch without records counts: the next one waits."""
        batches, limits = self.batches(), Limits(None, 10, 5000)
        start = {T0: 10, T1: 20}
        self.assertIs(batches.end(start, limits), start)
        self.cluster.logs["t"][0] = (0, 11)
        self.assertIs(batches.end(start, limits), start)

    def test_least_and_most(self) -> None:
        """Both hold together."""
        batches, limits = self.batches(), Limits(3, 3, 5000)
        self.assertEqual(batches.end({T0: 0, T1: 0}, limits), {T0: 1, T1: 2})
        start = {T0: 9, T1: 19}
        self.assertIs(batches.end(start, limits), start)

    def test_until_now(self) -> None:
        """With AvailableNow batches go to where the logs ended at first, and not a record further."""
        batches, limits = self.batches(), Limits(20)
        batches.until_now()
        first = batches.end({T0: 0, T1: 0}, limits)
        self.cluster.logs["t"] = [(0, 100), (0, 100), (0, 100)]
        second = batches.end(first, limits)
        self.assertEqual((first, second), ({T0: 6, T1: 13}, {T0: 10, T1: 20}))
        self.assertIs(batches.end(second, limits), second)

    def test_until_now_waits_for_nothing(self) -> None:
        """With AvailableNow a least number would leave the rest unread: it does not hold."""
        batches, limits = self.batches(), Limits(29, 29)
        batches.until_now()
        first = batches.end({T0: 0, T1: 0}, limits)
        self.assertEqual(batches.end(first, limits), {T0: 10, T1: 20})


class LossTests(MicroBatchesTestCase):
    def test_told_before_the_batch(self) -> None:
        """A loss fails the query before a batch with it is planned."""
        batches = self.batches()
        with self.assertLogs(LOGGERS, "WARNING"):
            said = str(self.assertRaises(DataLoss, batches.end, {T0: 11, T1: 20}, ALL))
        self.assertIn(
            "Partition t-0's offset was changed from 11 to 10, some data may have been missed", said
        )
        with self.assertLogs(LOGGERS, "WARNING"):
            said = str(self.assertRaises(DataLoss, batches.end, {T2: 1, T0: 1}, ALL))
        self.assertIn("t-2 are gone. Some data may have been missed", said)

    def test_or_goes_on(self) -> None:
        """With failOnDataLoss=false the next batch ends at what there is."""
        batches = self.batches(failOnDataLoss="false")
        with self.assertLogs(LOGGERS, "WARNING"):
            self.assertEqual(batches.end({T0: 11, T2: 1}, ALL), {T0: 10, T1: 20})


class PlanTests(MicroBatchesTestCase):
    def warned(self, batches: MicroBatches, start: dict[TopicPartition, int], end: object) -> list[object]:
        """Plan with failOnDataLoss=false: the warnings, then the ranges."""
        assert isinstance(end, dict)
        with self.assertLogs(LOGGERS, "WARNING") as logged:
            planned = batches.plan(start, end)
        return [*(line.partition(":")[2].partition(":")[2] for line in logged.output), *planned]

    def test_ranges(self) -> None:
        """A range for each partition with something new, in order."""
        planned = self.batches().plan({T0: 4, T1: 20}, {T1: 20, T0: 10})
        self.assertEqual(planned, [("t", 0, 4, 10)])

    def test_split(self) -> None:
        """minPartitions and maxRecordsPerPartition hold in streams."""
        planned = self.batches(minPartitions="3").plan({T0: 0, T1: 0}, {T0: 10, T1: 20})
        self.assertEqual(planned, [("t", 0, 0, 10), ("t", 1, 0, 10), ("t", 1, 10, 20)])
        planned = self.batches(maxRecordsPerPartition="10").plan({T0: 0, T1: 0}, {T0: 10, T1: 20})
        self.assertEqual(planned, [("t", 0, 0, 10), ("t", 1, 0, 10), ("t", 1, 10, 20)])

    def test_added(self) -> None:
        """A partition that was added is read from its earliest offset; that should be 0."""
        self.assertEqual(self.batches().plan({T0: 10}, {T0: 10, T1: 20}), [("t", 1, 0, 20)])
        self.cluster.logs["t"][1] = (5, 20)
        plan = self.batches().plan
        said = str(self.assertRaises(DataLoss, plan, {T0: 10}, {T0: 10, T1: 20}))
        expected = "Added partition t-1 starts from 5 instead of 0. Some data may have been missed"
        self.assertIn(expected, said)
        found = self.warned(self.batches(failOnDataLoss="false"), {T0: 10}, {T0: 10, T1: 20})
        self.assertEqual(found, [f"{expected}; going on, as failOnDataLoss is false", ("t", 1, 5, 20)])

    def test_added_and_gone(self) -> None:
        """One that is gone already cannot be read."""
        self.assertRaises(DataLoss, self.batches().plan, {T0: 10}, {T0: 10, T2: 3})
        (warning,) = self.warned(self.batches(failOnDataLoss="false"), {T0: 10}, {T0: 10, T2: 3})
        self.assertIn("Cannot find earliest offsets of t-2", str(warning))

    def test_gone(self) -> None:
        """A partition that is gone, now or since the batch was planned, is a loss."""
        for end in ({T0: 10}, {T0: 10, T2: 5}):
            start = {T0: 4, T2: 3}
            self.assertRaises(DataLoss, self.batches().plan, start, end)
            warning, wanted = self.warned(self.batches(failOnDataLoss="false"), start, end)
            self.assertIn("t-2 are gone", str(warning))
            self.assertEqual(wanted, ("t", 0, 4, 10))

    def test_gone_without_anything_new(self) -> None:
        """A partition that is gone and has nothing for the batch is no loss."""
        self.assertEqual(self.batches().plan({T0: 4, T2: 3}, {T0: 10, T2: 3}), [("t", 0, 4, 10)])

    def test_made_anew(self) -> None:
        """A topic that was deleted and created is read from its earliest offset, unless that is a failure."""
        start, end = {T0: 50}, {T0: 10}
        said = str(self.assertRaises(DataLoss, self.batches().plan, start, end))
        self.assertIn("offset was changed from 50 to 10", said)
        _, wanted = self.warned(self.batches(failOnDataLoss="false"), start, end)
        self.assertEqual(wanted, ("t", 0, 0, 10))

    def test_aged_out(self) -> None:
        """Offsets that retention took between two batches are a loss."""
        self.cluster.logs["t"][0] = (6, 10)
        said = str(self.assertRaises(DataLoss, self.batches().plan, {T0: 4}, {T0: 10}))
        self.assertIn("t [0] offsets 4 to 10 cannot be read: the log has 6 to 10", said)
        _, wanted = self.warned(self.batches(failOnDataLoss="false"), {T0: 4}, {T0: 10})
        self.assertEqual(wanted, ("t", 0, 6, 10))
