"""The stream's reader, asked as Spark asks it."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StringType, StructField, StructType
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.source import plan
from kafkatx.spark.source.data_source import KafkaSource, spark_schema
from kafkatx.spark.source.stream_offsets import StrangeOffsets
from kafkatx.types import TopicPartition
from tests.spark.fakes import FakeCluster
from tests.spark.sparks import STEPS, Spark

restarts = st.lists(
    st.tuples(
        st.integers(1, 3),  # triggers
        st.one_of(st.none(), st.tuples(st.sampled_from(STEPS), st.integers(0, 2))),  # where it is killed
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=3),  # records, by partition
    ),
    min_size=20,
    max_size=20,
)


def reader(**options: str) -> Any:
    """A reader of topic t, as Spark makes it."""
    given = {"kafka.bootstrap.servers": "h:1", "subscribe": "t", **options}
    return KafkaSource(CaseInsensitiveDict(given)).streamReader(spark_schema(False))


class StreamingTestCase(SynchronousTestCase):
    def setUp(self) -> None:
        """A topic with two partitions."""
        self.cluster = FakeCluster({"t": [(0, 10), (0, 20)]})
        self.patch(plan, "connect", lambda client: self.cluster)

    def append(self, partition: int, records: int) -> None:
        """Write records; a partition that is not there yet is added first."""
        partitions = self.cluster.logs["t"]
        if partition >= len(partitions):
            partitions.append((0, 0))
        partition = min(partition, len(partitions) - 1)
        earliest, latest = partitions[partition]
        partitions[partition] = (earliest, latest + records)


class ReaderTests(StreamingTestCase):
    def test_first_batch(self) -> None:
        """The first batch's end carries its start; no later one does."""
        made = reader()
        start = made.initialOffset()
        self.append(0, 5)
        self.assertEqual(made.initialOffset(), start)
        end = made.latestOffset(start, ReadAllAvailable())
        self.assertEqual(end, {"t": {"0": 15, "1": 20}, "<start>": {"t": {"0": 10, "1": 20}}})
        self.assertEqual([item.value for item in made.partitions(start, end)], [("t", 0, 10, 15)])
        self.append(1, 1)
        self.assertEqual(made.latestOffset(end, ReadAllAvailable()), {"t": {"0": 15, "1": 21}})

    def test_first_batch_without_records(self) -> None:
        """It is written down, too: its end is another text than the start, and keeps being the same."""
        made = reader()
        start = made.initialOffset()
        end = made.latestOffset(start, ReadAllAvailable())
        self.assertNotEqual(json.dumps(end), json.dumps(start))
        self.assertEqual(made.partitions(start, end), [])
        again = made.latestOffset(json.loads(json.dumps(end)), ReadAllAvailable())
        self.assertEqual(json.dumps(again), json.dumps(end))

    def test_limits(self) -> None:
        """The options' limits are heeded, but not where Spark asks for all that there is."""
        start = {"t": {"0": 0, "1": 0}}
        for options, limit, end in (
            ({"maxOffsetsPerTrigger": "3"}, ReadMaxRows(3), {"0": 1, "1": 2}),
            ({"maxOffsetsPerTrigger": "3", "minOffsetsPerTrigger": "2"}, ReadMaxRows(3), {"0": 1, "1": 2}),
            ({"minOffsetsPerTrigger": "2"}, ReadMinRows(2), {"0": 10, "1": 20}),
            ({}, ReadAllAvailable(), {"0": 10, "1": 20}),
        ):
            made = reader(**options)
            self.assertEqual(made.getDefaultReadLimit(), limit)
            self.assertEqual(made.latestOffset(start, limit), {"t": end})
            everything = made.latestOffset(start, ReadAllAvailable())
            self.assertEqual(everything, {"t": {"0": 10, "1": 20}})

    def test_least(self) -> None:
        """The least number, which Spark's limit cannot hold beside a most, is put back."""
        made = reader(maxOffsetsPerTrigger="3", minOffsetsPerTrigger="2")
        first = made.latestOffset(made.initialOffset(), ReadMaxRows(3))
        self.append(0, 1)
        self.assertEqual(made.latestOffset(first, ReadMaxRows(3)), first)
        self.append(0, 1)
        self.assertEqual(made.latestOffset(first, ReadMaxRows(3)), {"t": {"0": 12, "1": 20}})

    def test_available_now(self) -> None:
        """Spark sees that the trigger is supported; what comes later is not read."""
        made = reader(startingOffsets="earliest", maxOffsetsPerTrigger="20")
        self.assertIsInstance(made, SupportsTriggerAvailableNow)
        made.prepareForTriggerAvailableNow()
        spark = Spark(lambda: made)
        spark.run(1)
        self.append(0, 50)
        spark.run(5)
        self.assertEqual(json.loads(spark.offsets[-1]), {"t": {"0": 10, "1": 20}})
        self.assertEqual(spark.commits, 2)

    def test_progress(self) -> None:
        """For a query's progress there are the ends of the partitions, whatever the limits."""
        made = reader(startingOffsets="earliest", maxOffsetsPerTrigger="2")
        self.assertIsNone(made.reportLatestOffset())
        made.latestOffset(made.initialOffset(), made.getDefaultReadLimit())
        self.assertEqual(made.reportLatestOffset(), {"t": {"0": 10, "1": 20}})

    def test_strange_checkpoint(self) -> None:
        """A first batch that another source has planned has no known start: it is not guessed."""
        made = reader()
        error = self.assertRaises(StrangeOffsets, made.partitions, made.initialOffset(), {"t": {"0": 5}})
        self.assertIn("checkpointLocation of its own", str(error))

    def test_carried_start_comes_first(self) -> None:
        """The start that a first batch carries is what it is read from, whatever initial offset Spark has."""
        start, end = {"t": {"0": 9, "1": 20}, "<start>": True}, {"t": {"0": 10, "1": 20}}
        carrying = {**end, "<start>": {"t": {"0": 4, "1": 20}}}
        self.assertEqual([item.value for item in reader().partitions(start, carrying)], [("t", 0, 4, 10)])

    def test_only_in_the_first_batch(self) -> None:
        """A start that is carried does not count where Spark's checkpoint has one."""
        start, end = {"t": {"0": 4, "1": 20}}, {"t": {"0": 10, "1": 20}}
        carrying = {**end, "<start>": {"t": {"0": 9, "1": 20}}}
        self.assertEqual([item.value for item in reader().partitions(start, carrying)], [("t", 0, 4, 10)])

    def test_started_again(self) -> None:
        """Given the last offset by a batch without offsets, the reader asks no broker, whatever is gone."""
        made = reader()
        self.cluster.logs.clear()
        self.assertEqual(made.partitions({"t": {"0": 9}}, {"t": {"0": 9}}), [])
        self.assertEqual(self.cluster.asked, 0)

    def test_without_start(self) -> None:
        """The reader goes on from the last offset that it was given where Spark gives no start (4.0, 4.1)."""
        here = {"t": {"0": 10, "1": 20}}
        made = reader()
        first = made.latestOffset()
        self.assertEqual(first, {**here, "<start>": here})
        self.append(0, 1)
        self.assertEqual(made.latestOffset(), {"t": {"0": 11, "1": 20}})
        again = reader()
        again.partitions({"t": {"0": 11, "1": 20}}, {"t": {"0": 11, "1": 20}})
        self.assertEqual(again.latestOffset(), {"t": {"0": 11, "1": 20}})

    def test_warnings(self) -> None:
        """Options without effect are reported once, when the query starts."""
        made = reader(**{"kafka.group.id": "g"})
        with self.assertLogs("kafkatx.spark", "WARNING") as logged:
            made.initialOffset()
            made.initialOffset()
        self.assertEqual(len(logged.output), 1)
        self.assertIn("no consumer group is joined", logged.output[0])

    def test_in_workers(self) -> None:
        """The reader survives the way to the workers; a batch without tasks reads nothing."""
        made = pickle.loads(pickle.dumps(reader()))
        self.assertEqual(list(made.read(InputPartition(None))), [])

    def test_options(self) -> None:
        """Options of batches, and a schema of the user's own, are refused."""
        self.assertRaises(SettingError, reader(endingOffsets="latest").initialOffset)
        own = StructType([StructField("value", StringType())])
        source = KafkaSource(CaseInsensitiveDict({"kafka.bootstrap.servers": "h:1", "subscribe": "t"}))
        refused = source.streamReader(own)
        calls = (refused.initialOffset, refused.latestOffset, lambda: refused.partitions({}, {}))
        for call in calls:
            self.assertIn("fixed schema", str(self.assertRaises(SettingError, call)))
        refused.stop()

    def test_connections(self) -> None:
        """One cluster is used for as long as the query runs, and closed when it ends."""
        made: list[Any] = []
        closed: list[bool] = []

        def connect(client: Any) -> FakeCluster:
            made.append(client)
            return self.cluster

        self.patch(self.cluster, "close", lambda: closed.append(True))
        self.patch(plan, "connect", connect)
        stream = reader()
        spark = Spark(lambda: stream)
        spark.run(3)
        self.assertEqual((len(made), closed), (1, [True]))


class RestartTests(StreamingTestCase):
    def check(self, spark: Spark, start: dict[TopicPartition, int]) -> None:
        """From *start* each partition was read without a gap, and nothing twice, to where the offsets say."""
        read: defaultdict[TopicPartition, list[tuple[int, int]]] = defaultdict(list)
        for batch in range(spark.commits):
            for item in spark.delivered[batch]:
                read[TopicPartition(item.topic, item.partition)].append((item.start, item.end))
        ends = json.loads(spark.offsets[-1])["t"]
        for number, end in ends.items():
            partition = TopicPartition("t", int(number))
            begin = start.get(partition, 0)
            ranges = [(begin, begin), *read[partition], (end, end)]
            self.assertTrue(all(a[1] == b[0] for a, b in pairwise(ranges)), (partition, ranges))

    def restart(self, with_limits: bool, runs: list[Any], options: dict[str, str]) -> None:
        """Run a query again and again, with records written between; then to the end."""
        self.cluster.logs["t"] = [(0, 10), (0, 20)]
        spark = Spark(lambda: reader(**options), with_limits)
        start: dict[TopicPartition, int] = {}
        for triggers, kill_at, records in runs:
            if not spark.offsets:
                start = {
                    TopicPartition("t", n): 0 if options.get("startingOffsets") == "earliest" else end
                    for n, (_, end) in enumerate(self.cluster.logs["t"])
                }
            spark.run(triggers, kill_at)
            for partition, count in records:
                self.append(partition, count)
        spark.run(200)
        self.check(spark, start)
        latest = {str(n): end for n, (_, end) in enumerate(self.cluster.logs["t"])}
        self.assertEqual(json.loads(spark.offsets[-1])["t"], latest)

    @settings(deadline=None, max_examples=30)
    @given(restarts)
    def test_latest(self, runs: list[Any]) -> None:
        """20 restarts, with kills at any point and new partitions: nothing is lost after the first batch."""
        self.restart(True, runs, {})

    @settings(deadline=None, max_examples=20)
    @given(restarts)
    def test_with_limits(self, runs: list[Any]) -> None:
        """The same with limits, from the earliest offset."""
        self.restart(True, runs, {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "7"})

    @settings(deadline=None, max_examples=20)
    @given(restarts)
    def test_spark_4_0(self, runs: list[Any]) -> None:
        """The same in Spark 4.0 and 4.1, which ask for the latest offset without saying from where."""
        self.restart(False, runs, {})

    def test_first_batch_not_committed(self) -> None:
        """A first batch that was written down and not run reads from its own start; latest has moved on."""
        spark = Spark(reader)
        spark.run(1, ("written", 0))
        self.append(0, 5)
        spark.run(1, ("delivered", 0))
        self.append(0, 5)
        spark.run(3)
        self.check(spark, {TopicPartition("t", 0): 10, TopicPartition("t", 1): 20})
        self.assertEqual(json.loads(spark.offsets[-1])["t"], {"0": 20, "1": 20})

    def test_start_is_not_asked_for_again(self) -> None:
        """After a restart the start comes from the checkpoint: the options need not fit any more."""
        options = {"startingOffsets": '{"t":{"0":3,"1":4}}'}
        spark = Spark(lambda: reader(**options))
        spark.run(1, ("written", 0))
        self.append(2, 5)
        spark.run(3)
        self.check(spark, {TopicPartition("t", 0): 3, TopicPartition("t", 1): 4})

    def test_nothing_new(self) -> None:
        """Restarts without new records make no batches."""
        for with_limits in (True, False):
            spark = Spark(reader, with_limits)
            for _ in range(5):
                spark.run(3)
            self.assertEqual(spark.commits, 1)
