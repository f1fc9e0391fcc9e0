"""The offsets that a query reads are fixed on the driver."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import UnknownTopic
from kafkatx.errors import SettingError
from kafkatx.spark.offsets import Available, OffsetRange
from kafkatx.spark.options.options import Assign, Subscribe, SubscribePattern, parse_batch
from kafkatx.spark.source.plan import DataLoss, assigned, checked, connect, plan_batch
from kafkatx.types import TopicPartition
from tests.spark.fakes import FakeCluster

T = [TopicPartition("t", 0), TopicPartition("t", 1)]
LOGS = {"t": [(0, 10), (5, 7)], "u": [(0, 0)], "tea": [(3, 4)], "__consumer_offsets": [(0, 50)]}


class AssignedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A cluster with three topics and one of its own."""
        self.cluster = FakeCluster(LOGS, frozenset({"__consumer_offsets"}))

    def names(self, selection: Subscribe | SubscribePattern | Assign) -> list[str]:
        """The partitions that are selected, as text."""
        return [str(partition) for partition in assigned(self.cluster, selection)]

    def test_subscribe(self) -> None:
        """All partitions of the topics named, in order."""
        self.assertEqual(self.names(Subscribe(("u", "t"))), ["t-0", "t-1", "u-0"])

    def test_missing_topic(self) -> None:
        """A topic that is not there is an error that names it, not an empty table."""
        error = self.assertRaises(UnknownTopic, assigned, self.cluster, Subscribe(("t", "tee")))
        self.assertIn("'tee'", str(error))

    def test_pattern(self) -> None:
        """A pattern may match anywhere in a name, as in Spark's source; never one of the cluster's own."""
        self.assertEqual(self.names(SubscribePattern("t")), ["t-0", "t-1", "tea-0"])
        self.assertEqual(self.names(SubscribePattern("^t$")), ["t-0", "t-1"])
        self.assertEqual(self.names(SubscribePattern("ea")), ["tea-0"])
        self.assertEqual(self.names(SubscribePattern(".")), ["t-0", "t-1", "tea-0", "u-0"])
        self.assertEqual(self.names(SubscribePattern("zzz")), [])

    def test_assign(self) -> None:
        """Only the partitions named; one that is not there is an error."""
        self.assertEqual(self.names(Assign(frozenset({TopicPartition("t", 1)}))), ["t-1"])
        wrong = Assign(frozenset({TopicPartition("t", 2)}))
        error = self.assertRaises(SettingError, assigned, self.cluster, wrong)
        self.assertIn("topic 't' has no partition 2: it has 0 to 1", str(error))

    def test_not_strict(self) -> None:
        """Topics and partitions that do not exist are left out on request."""
        gone = [TopicPartition("t", 2), TopicPartition("x", 0)]
        for selection in (Subscribe(("x", "t")), Assign(frozenset({*gone, *T})), SubscribePattern("^[tx]$")):
            self.assertEqual(assigned(self.cluster, selection, strict=False), T)


class CheckedTests(SynchronousTestCase):
    log_has = Available(5, 10)

    def test_all_there(self) -> None:
        """A range that is wholly in the log is read as it is; one without offsets loses nothing."""
        for start, end in ((5, 10), (6, 7), (10, 10), (3, 3)):
            wanted = OffsetRange("t", 1, start, end)
            self.assertEqual(checked(wanted, self.log_has, True), wanted)

    def test_loss_is_failure(self) -> None:
        """Offsets that are gone, or not there yet, fail with topic, partition and offsets."""
        for start, end in ((0, 8), (8, 12), (0, 3), (20, 30), (20, 10)):
            error = self.assertRaises(DataLoss, checked, OffsetRange("t", 1, start, end), self.log_has, True)
            self.assertIn(f"t [1] offsets {start} to {end} cannot be read: the log has 5 to 10", str(error))
            self.assertIn("failOnDataLoss", str(error))

    def test_loss_is_a_warning(self) -> None:
        """With failOnDataLoss=false there is a warning, and what is there is read."""
        for start, end, left in ((0, 8, (5, 8)), (8, 12, (8, 10)), (0, 3, (3, 3)), (20, 10, (10, 10))):
            with self.assertLogs("kafkatx.spark.source.plan", "WARNING") as logged:
                got = checked(OffsetRange("t", 1, start, end), self.log_has, False)
            self.assertEqual((got.start, got.end), left)
            self.assertIn(f"t [1] offsets {start} to {end} cannot be read", logged.output[0])


class PlanTests(SynchronousTestCase):
    def plan(self, **options: str) -> list[OffsetRange]:
        """Return the ranges of a query with these options."""
        parsed = parse_batch({"kafka.bootstrap.servers": "h:1", **options})
        return plan_batch(FakeCluster(LOGS), parsed)

    def test_defaults(self) -> None:
        """All that there is; nothing of an empty partition."""
        self.assertEqual(self.plan(subscribe="t,u"), [("t", 0, 0, 10), ("t", 1, 5, 7)])

    def test_boundaries(self) -> None:
        """Offsets by partition hold, and -2 and -1 in them stand for the log's ends."""
        planned = self.plan(
            subscribe="t", startingOffsets='{"t":{"0":4,"1":-2}}', endingOffsets='{"t":{"0":-1,"1":6}}'
        )
        self.assertEqual(planned, [("t", 0, 4, 10), ("t", 1, 5, 6)])

    def test_partition_left_out(self) -> None:
        """Specific offsets that leave a partition out are refused."""
        error = self.assertRaises(SettingError, self.plan, subscribe="t", startingOffsets='{"t":{"0":4}}')
        self.assertIn("it must specify all topic partitions", str(error))

    def test_min_partitions(self) -> None:
        """Large ranges are split."""
        self.assertEqual(self.plan(assign='{"t":[0]}', minPartitions="2"), [("t", 0, 0, 5), ("t", 0, 5, 10)])

    def test_data_loss(self) -> None:
        """failOnDataLoss decides what becomes of offsets that are gone."""
        gone = {"subscribe": "t", "startingOffsets": '{"t":{"0":4,"1":2}}'}
        self.assertRaises(DataLoss, self.plan, **gone)
        with self.assertLogs("kafkatx.spark.source.plan", "WARNING"):
            planned = self.plan(**gone, failOnDataLoss="false")
        self.assertEqual(planned, [("t", 0, 4, 10), ("t", 1, 5, 7)])

    def test_max_records(self) -> None:
        """No task gets more offsets than wanted."""
        planned = self.plan(assign='{"t":[0]}', maxRecordsPerPartition="4")
        self.assertEqual([item.size for item in planned], [3, 3, 4])

    def test_times(self) -> None:
        """A time is the first record that is not older; as an end it may be later than all records."""
        planned = self.plan(subscribe="t", startingTimestamp="501", endingTimestamp="799")
        self.assertEqual(planned, [("t", 0, 6, 8), ("t", 1, 6, 7)])
        times = '{"t":{"0":300,"1":0}}'
        planned = self.plan(subscribe="t", startingOffsetsByTimestamp=times)
        self.assertEqual(planned, [("t", 0, 3, 10), ("t", 1, 5, 7)])

    def test_no_record_so_late(self) -> None:
        """A start that no record reaches is an error in Spark's words, or the end of the partition."""
        late = {"subscribe": "t", "startingTimestamp": "700"}
        said = str(self.assertRaises(SettingError, self.plan, **late))
        self.assertIn("No offset matched from request of topic-partition t-1 and timestamp 700", said)
        planned = self.plan(**late, startingOffsetsByTimestampStrategy="latest")
        self.assertEqual(planned, [("t", 0, 7, 10)])

    def test_end_before_start(self) -> None:
        """Times the wrong way round are told, and are no data loss."""
        wrong = {"subscribe": "t", "startingTimestamp": "600", "endingTimestamp": "500"}
        self.assertIn("start is behind the end", str(self.assertRaises(SettingError, self.plan, **wrong)))

    def test_open_transaction(self) -> None:
        """With committed records only a log ends at its last stable offset."""
        cluster = FakeCluster(LOGS)
        cluster.stable[TopicPartition("t", 0)] = 4
        for level, end in (("read_committed", 4), ("read_uncommitted", 10)):
            options = {"kafka.bootstrap.servers": "h:1", "subscribe": "t", "kafka.isolation.level": level}
            self.assertEqual(plan_batch(cluster, parse_batch(options)), [("t", 0, 0, end), ("t", 1, 5, 7)])


class ConnectTests(SynchronousTestCase):
    def test_bad_address(self) -> None:
        """Bootstrap servers that are no addresses are refused before anything is dialled."""
        client = parse_batch({"kafka.bootstrap.servers": "host:port", "subscribe": "t"}).client
        self.assertIn("host:port", str(self.assertRaises(SettingError, connect, client)))

    def test_settings_arrive(self) -> None:
        """Time-outs and pauses are those of the options."""
        options = {"kafka.request.timeout.ms": "1500", "kafka.retry.backoff.ms": "20", "subscribe": "t"}
        cluster = connect(parse_batch({"kafka.bootstrap.servers": "h:1", **options}).client)
        self.assertEqual((cluster.timeout_s, cluster.backoff.first_ms), (1.5, 20))
