"""Offsets are asked for again while brokers cannot answer."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import ConnectionFailed, UnknownTopic
from kafkatx.errors import KafkaTXError, SettingError
from kafkatx.spark.options.options import parse_batch, parse_stream
from kafkatx.spark.source import plan
from kafkatx.spark.source.partition_logs import PartitionLogs
from kafkatx.types import TopicPartition
from tests.spark.fakes import FakeCluster

BASE = {"kafka.bootstrap.servers": "h:1"}
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class LogsTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """A cluster with two topics; what sleeps is written down."""
        self.cluster = FakeCluster({"t": [(0, 10), (5, 7)], "u": [(0, 3)]})
        self.patch(plan, "connect", lambda client: self.cluster)
        self.slept: list[float] = []

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Keep warnings off the terminal."""
        logger = logging.getLogger("kafkatx.spark.source.partition_logs")
        logger.disabled = True
        yield
        logger.disabled = False

    def logs(self, **options: str) -> PartitionLogs:
        """The logs of a stream."""
        parsed = parse_stream({**BASE, "subscribe": "t,u", **options})
        return PartitionLogs(parsed, self.slept.append)


class StartTests(LogsTestCase):
    def test_words(self) -> None:
        """Earliest and latest become offsets, for all or for each."""
        self.assertEqual(self.logs().start(), {T0: 10, T1: 7, U0: 3})
        self.assertEqual(self.logs(startingOffsets="earliest").start(), {T0: 0, T1: 5, U0: 0})
        each = '{"t":{"0":4,"1":-2},"u":{"0":-1}}'
        self.assertEqual(self.logs(startingOffsets=each).start(), {T0: 4, T1: 5, U0: 3})

    def test_times(self) -> None:
        """A time becomes offsets; where no record is so late it is an error, or the latest."""
        self.assertEqual(self.logs(startingTimestamp="150").start(), {T0: 2, T1: 5, U0: 2})
        self.assertRaises(SettingError, self.logs(startingTimestamp="500").start)
        latest = {"startingTimestamp": "500", "startingOffsetsByTimestampStrategy": "latest"}
        self.assertEqual(self.logs(**latest).start(), {T0: 5, T1: 5, U0: 3})

    def test_missing(self) -> None:
        """A topic that is not there when a stream starts is an error at once; so are missing partitions."""
        self.assertRaises(UnknownTopic, self.logs(subscribe="t,x").start)
        self.assertRaises(SettingError, self.logs(startingOffsets='{"t":{"0":4}}').start)
        self.assertEqual(self.slept, [])


class TryingTests(LogsTestCase):
    def test_attempts(self) -> None:
        """There are fetchOffset.numRetries attempts, with the interval between them."""
        gone = ConnectionFailed("gone")
        for attempts in (1, 3):
            self.slept.clear()
            self.cluster.failures = [gone] * 9
            logs = self.logs(
                **{"fetchOffset.numRetries": str(attempts), "fetchOffset.retryIntervalMs": "250"}
            )
            with self.quiet():
                self.assertRaises(ConnectionFailed, logs.start)
            self.assertEqual(
                (len(self.cluster.failures), self.slept), (9 - attempts, [0.25] * (attempts - 1))
            )

    def test_comes_back(self) -> None:
        """An answer in time is an answer: of a stream's questions, and of a batch's."""
        self.cluster.failures = [ConnectionFailed("gone")] * 2
        with self.assertLogs("kafkatx.spark.source.partition_logs", "WARNING") as logged:
            self.assertEqual(self.logs().latest({}), {T0: 10, T1: 7, U0: 3})
        self.assertIn("gone; trying again", logged.output[0])
        self.cluster.failures = [ConnectionFailed("gone")] * 2
        batch = PartitionLogs(parse_batch({**BASE, "subscribe": "u"}), self.slept.append)
        with self.quiet():
            self.assertEqual(batch.batch(), [("u", 0, 0, 3)])
        self.assertEqual(self.slept, [1.0] * 4)

    def test_for_good(self) -> None:
        """An error that will not pass is raised at once."""
        self.cluster.failures = [KafkaTXError("for good")]
        self.assertRaises(KafkaTXError, self.logs().latest, {})
        self.assertEqual(self.slept, [])

    def test_deleted_between_questions(self) -> None:
        """A topic that goes between two requests of one question is asked for again while a stream runs."""
        self.cluster.failures = [UnknownTopic("u")]
        with self.quiet():
            self.assertEqual(self.logs().latest({}), {T0: 10, T1: 7, U0: 3})
        self.cluster.failures = [UnknownTopic("u")]
        with self.quiet():
            self.assertEqual(list(self.logs().available([T0])), [T0])
        self.cluster.failures = [UnknownTopic("u")]
        self.assertRaises(UnknownTopic, self.logs().start)


class LatestTests(LogsTestCase):
    def test_new_partitions(self) -> None:
        """Partitions and, by pattern, topics that were added are seen."""
        logs = self.logs()
        logs.latest({})
        self.cluster.logs["u"].append((0, 8))
        self.assertEqual(logs.latest({})[TopicPartition("u", 1)], 8)
        logs = PartitionLogs(parse_stream({**BASE, "subscribePattern": "^u"}), self.slept.append)
        self.cluster.logs["ux"] = [(0, 1)]
        self.assertEqual(sorted({item.topic for item in logs.latest({})}), ["u", "ux"])

    def test_metadata_is_forgotten(self) -> None:
        """Each question begins with what there is now, not with what was known."""
        forgotten: list[bool] = []
        self.patch(self.cluster, "forget_metadata", lambda: forgotten.append(True))
        logs = self.logs()
        logs.latest({})
        logs.latest({})
        self.assertEqual(len(forgotten), 2)

    def test_went_back(self) -> None:
        """An end before what was known is asked for again, and then believed, as by Spark's source."""
        with self.assertLogs("kafkatx.spark.source.partition_logs", "WARNING") as logged:
            self.assertEqual(self.logs().latest({T0: 11})[T0], 10)
        self.assertIn("Found incorrect offsets in t-0", logged.output[0])
        self.assertEqual((self.cluster.asked, self.slept), (3, [1.0, 1.0]))

    def test_gone(self) -> None:
        """A topic that is gone is asked for again, and may come back."""
        missing = self.cluster.logs.pop("u")
        with self.assertLogs("kafkatx.spark.source.partition_logs", "WARNING"):
            self.assertEqual(self.logs().latest({U0: 1}), {T0: 10, T1: 7})
        self.patch(self, "slept", PuttingBack(self.cluster, missing))
        with self.assertLogs("kafkatx.spark.source.partition_logs", "WARNING"):
            self.assertEqual(self.logs().latest({U0: 1}), {T0: 10, T1: 7, U0: 3})

    def test_nothing_wrong(self) -> None:
        """Offsets that have not gone back are asked for once."""
        self.logs().latest({T0: 10, U0: 0})
        self.assertEqual((self.cluster.asked, self.slept), (1, []))


class PuttingBack(list[float]):
    """Topic u comes back in the first pause."""

    def __init__(self, cluster: FakeCluster, missing: list[tuple[int, int]]) -> None:
        super().__init__()
        self.cluster, self.missing = cluster, missing

    def append(self, pause_s: float) -> None:
        """Put it back."""
        self.cluster.logs["u"] = self.missing


class AvailableTests(LogsTestCase):
    def test_only_those(self) -> None:
        """The requested partitions that exist are returned, and no others."""
        gone = TopicPartition("t", 5)
        self.assertEqual(self.logs().available([T1, gone]), {T1: (5, 7)})
