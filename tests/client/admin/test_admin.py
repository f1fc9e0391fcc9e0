"""Tests of kafkatx.client.admin.admin and kafkatx.client.admin.destinations."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from kafkatx.client.admin.admin import Admin
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.clientcore.admin.mirror_status import MirrorStatus
from kafkatx.clientcore.admin.mirrors import NoMirrors
from kafkatx.clientcore.admin.topics import LogDir
from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed, RequestTimedOut, UnknownTopic
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages import delete_records, describe_log_dirs
from kafkatx.wire.messages.create_partitions import CreatePartitionsRequest
from kafkatx.wire.messages.create_topics import CreateTopicsRequest
from kafkatx.wire.messages.delete_topics import DeleteTopicsRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest
from kafkatx.wire.messages.describe_mirrors import DescribeMirrorsRequest
from kafkatx.wire.messages.list_offsets import ListOffsetsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fake_mirrors import FakeMirrors
from tests.blocking.fake_settings import FakeSettings
from tests.blocking.fakes import LOSE_REQUEST, Log
from tests.client.admins import AdminTestCase

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class TopicTests(AdminTestCase):
    def setUp(self) -> None:
        """Make two brokers, each the leader of a partition of t."""
        self.fake = FakeSettings({"t": [Log(end=5), Log(leader=2, start=3, end=9)], "__hidden": [Log()]}, 2)
        self.open(self.fake)

    def test_create(self) -> None:
        """Numbers and settings are sent to the controller as they are given."""
        self.result(self.admin.create_topic("new", 3, 1, {"retention.ms": "5"}))
        (request,) = self.network.sent(CreateTopicsRequest)
        (topic,) = request.topics
        self.assertEqual((topic.num_partitions, topic.replication_factor), (3, 1))
        self.assertEqual([(c.name, c.value) for c in topic.configs], [("retention.ms", "5")])
        self.assertFalse(request.validate_only)
        self.assertEqual(request.timeout_ms, 30_000)
        self.assertEqual(self.asked(CreateTopicsRequest), [1])
        self.assertEqual(len(self.fake.topics["new"]), 3)

    def test_validate_only(self) -> None:
        """The broker is told if it shall only validate a request."""
        self.fake.faults[MetadataRequest].append(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.result(self.admin.create_topic("new", validate_only=True))  # it waits for no topic
        self.assertTrue(self.network.sent(CreateTopicsRequest)[0].validate_only)

    def test_create_waits(self) -> None:
        """A topic that brokers do not know yet is waited for, by repeated requests."""
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self.fake.faults[MetadataRequest].extend([unknown, ErrorCode.LEADER_NOT_AVAILABLE])
        waiting = self.admin.create_topic("new")
        self.network.pump()
        self.assertNoResult(waiting)
        self.result(waiting, 2)
        self.assertEqual(len(self.network.sent(CreateTopicsRequest)), 1)

    def test_never_known(self) -> None:
        """A topic that stays unknown fails when the time is over, with the reason."""
        self.fake.faults[MetadataRequest].extend([ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 1000)
        error = self.error(RequestError, self.admin.create_topic("new"), 61)
        self.assertIn("'new', which was created", str(error))

    def test_defaults(self) -> None:
        """The broker's defaults are requested by -1, and before CreateTopics 4 by 1."""
        for version, number in ((4, -1), (3, 1)):
            self.network.newest[CreateTopicsRequest] = version
            for link in self.network.live():
                link.lose()
            self.result(self.admin.create_topic(f"new{version}"), 2)
            topic = self.network.sent(CreateTopicsRequest)[-1].topics[0]
            self.assertEqual((topic.num_partitions, topic.replication_factor), (number, number))

    def test_create_twice(self) -> None:
        """A topic that exists already is an error with its code, and not tried again."""
        error = self.error(RequestError, self.admin.create_topic("t"))
        self.assertEqual(error.code, ErrorCode.TOPIC_ALREADY_EXISTS)
        self.assertIn("topic 't'", str(error))
        self.assertEqual(len(self.network.sent(CreateTopicsRequest)), 1)

    def test_retried(self) -> None:
        """NOT_CONTROLLER and a lost connection are tried again, after a pause."""
        self.fake.faults[DeleteTopicsRequest].extend([ErrorCode.NOT_CONTROLLER, LOSE_REQUEST])
        waiting = self.admin.delete_topic("t")
        self.network.pump()
        self.assertNoResult(waiting)
        self.result(waiting, 2)
        self.assertNotIn("t", self.fake.topics)
        self.assertEqual(len(self.network.sent(DeleteTopicsRequest)), 3)

    def test_delete_unknown(self) -> None:
        """Deleting or changing a topic that does not exist is an error at once."""
        self.assertEqual(self.error(UnknownTopic, self.admin.delete_topic("nope")).topic, "nope")
        self.error(UnknownTopic, self.admin.create_partitions("nope", 3))
        self.error(UnknownTopic, self.admin.describe_topic("nope"))
        self.error(UnknownTopic, self.admin.list_offsets({TopicPartition("nope", 0): -1}))

    def test_nothing_created(self) -> None:
        """A description never creates a topic, even if brokers create topics automatically."""
        self.error(UnknownTopic, self.admin.describe_topic("nope"))
        self.assertNotIn("nope", self.fake.topics)

    def test_create_partitions(self) -> None:
        """The count is that of all partitions, which the cluster places."""
        self.result(self.admin.create_partitions("t", 3))
        self.assertEqual(len(self.fake.topics["t"]), 3)
        self.assertIsNone(self.network.sent(CreatePartitionsRequest)[0].topics[0].assignments)
        self.assertEqual(len(self.result(self.admin.describe_topic("t")).partitions), 3)
        error = self.error(RequestError, self.admin.create_partitions("t", 1))
        self.assertEqual((error.code, str(error)), (ErrorCode.INVALID_PARTITIONS, "topic 't': t has 3"))

    def test_list(self) -> None:
        """Internal topics are listed on request only; names are sorted; metadata has all."""
        self.fake.topics["a"] = [Log()]
        listed = self.result(self.admin.list_topics())
        self.assertEqual([topic.name for topic in listed], ["a", "t"])
        listed = self.result(self.admin.list_topics(internal=True))
        self.assertEqual([topic.name for topic in listed], ["__hidden", "a", "t"])
        metadata = self.result(self.admin.metadata())
        self.assertEqual((sorted(metadata.brokers), set(metadata.topics)), ([1, 2], {"__hidden", "a", "t"}))

    def test_describe(self) -> None:
        """A description has offsets from the leaders, and settings with their sources."""
        self.fake.settings[2, "t"] = {"retention.ms": "5"}
        topic = self.result(self.admin.describe_topic("t"))
        self.assertEqual(
            [(p.metadata.leader, p.earliest, p.latest) for p in topic.partitions], [(1, 0, 5), (2, 3, 9)]
        )
        self.assertEqual([c.name for c in topic.configs.values() if c.overridden], ["retention.ms"])

    def test_describe_leaderless(self) -> None:
        """A partition without a leader is shown, without offsets."""
        self.fake.topics["t"].append(Log(leader=-1))
        topic = self.result(self.admin.describe_topic("t"))
        self.assertEqual([p.latest for p in topic.partitions], [5, 9, -1])

    def test_describe_without_configs(self) -> None:
        """A broker that cannot describe settings is tolerated; any other error is raised."""
        self.fake.faults[DescribeConfigsRequest].extend(
            [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        )
        self.assertEqual(self.result(self.admin.describe_topic("t")).configs, {})
        self.error(RequestError, self.admin.describe_topic("t"))


class RecordTests(AdminTestCase):
    def setUp(self) -> None:
        """Make two brokers that lead partitions of two topics, and delete records."""
        logs = {"t": [Log(end=5), Log(leader=2, start=3, end=9)], "u": [Log(leader=2, end=7)]}
        self.fake = FakeSettings(logs, 2)
        self.open(self.fake)
        self.network.answers[delete_records.DeleteRecordsRequest] = self.delete

    def delete(self, node: int, request: Any, version: int) -> Any:
        """Delete records as the leader does; refuse at other brokers."""
        m = delete_records
        (topic,) = request.topics
        (asked,) = topic.partitions
        log = self.fake.topics[topic.name][asked.partition_index]
        code = 0
        if log.leader != node:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif asked.offset > log.end:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            log.start = log.end if asked.offset == -1 else asked.offset
        part = m.DeleteRecordsPartitionResult(asked.partition_index, log.start, code)
        return m.DeleteRecordsResponse(topics=[m.DeleteRecordsTopicResult(topic.name, [part])])

    def test_list_offsets(self) -> None:
        """Each leader gets one request for all its partitions; times and ends may be mixed."""
        found = self.result(self.admin.list_offsets({T0: -1, T1: -2, U0: 77}, isolation_level=1))
        self.assertEqual(found, {T0: (5, -1), T1: (3, -1), U0: (1, 11)})
        self.assertEqual(sorted(self.asked(ListOffsetsRequest)), [1, 2])
        self.assertEqual({r.isolation_level for r in self.network.sent(ListOffsetsRequest)}, {1})
        self.assertEqual(self.result(self.admin.list_offsets({})), {})

    def test_leader_moved(self) -> None:
        """Leaders are looked up for each attempt, so that one that has moved is found."""
        self.result(self.admin.list_offsets({T0: -1}))
        self.fake.topics["t"][0].leader = 2
        self.assertEqual(self.result(self.admin.list_offsets({T0: -1})), {T0: (5, -1)})
        self.fake.faults[ListOffsetsRequest].append(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.assertEqual(self.result(self.admin.list_offsets({T0: -1}), 1), {T0: (5, -1)})

    def test_no_leader(self) -> None:
        """A partition without a leader is waited for within the time of a call; an unknown one is not."""
        self.fake.topics["t"][0].leader = -1
        waiting = self.admin.list_offsets({T0: -1})
        self.network.run(5)
        self.assertNoResult(waiting)
        self.fake.topics["t"][0].leader = 1
        self.assertEqual(self.result(waiting, 2), {T0: (5, -1)})
        error = self.error(RequestError, self.admin.list_offsets({TopicPartition("t", 2): -1}))
        self.assertEqual(
            (error.code, str(error)),
            (ErrorCode.INVALID_PARTITIONS, "topic 't' has no partition 2: it has 0 to 1"),
        )
        self.fake.topics["t"][0].leader = -1
        error = self.error(RequestError, self.admin.list_offsets({T0: -1}), 70)
        self.assertEqual(error.code, ErrorCode.LEADER_NOT_AVAILABLE)

    def test_delete_records(self) -> None:
        """Each leader deletes records; the result has the new start offsets."""
        self.assertEqual(self.result(self.admin.delete_records({T0: -1, T1: 6})), {T0: 5, T1: 6})
        self.assertEqual(sorted(self.asked(delete_records.DeleteRecordsRequest)), [1, 2])
        error = self.error(RequestError, self.admin.delete_records({T0: 99}))
        self.assertEqual(
            (error.code, str(error)), (ErrorCode.OFFSET_OUT_OF_RANGE, "t [0]: offset out of range")
        )

    def test_one_fails(self) -> None:
        """One refused partition fails the call, after all answers have come."""
        error = self.error(RequestError, self.admin.delete_records({T0: 99, T1: 99, U0: 1}))
        self.assertEqual(error.code, ErrorCode.OFFSET_OUT_OF_RANGE)
        self.assertEqual(self.flushLoggedErrors(), [])


class LogDirTests(AdminTestCase):
    def setUp(self) -> None:
        """Make two brokers; the second one's disk has failed."""
        self.open(FakeSettings(brokers=2))
        self.network.answers[describe_log_dirs.DescribeLogDirsRequest] = self.describe

    def describe(self, node: int, request: Any, version: int) -> Any:
        """Return one directory for each broker."""
        m = describe_log_dirs
        topics = [m.DescribeLogDirsTopic("t", [m.DescribeLogDirsPartition(1, 1234, 0)])]
        code = ErrorCode.KAFKA_STORAGE_ERROR if node == 2 else ErrorCode.NONE
        return m.DescribeLogDirsResponse(
            results=[m.DescribeLogDirsResult(code, f"/d{node}", topics if node == 1 else [])]
        )

    def test_all(self) -> None:
        """Every broker describes its log directories."""
        self.assertEqual(
            self.result(self.admin.describe_log_dirs()),
            {
                1: [LogDir("/d1", ErrorCode.NONE, {T1: 1234}, {T1: 0})],
                2: [LogDir("/d2", ErrorCode.KAFKA_STORAGE_ERROR)],
            },
        )

    def test_some(self) -> None:
        """Only the named brokers are asked."""
        self.assertEqual(list(self.result(self.admin.describe_log_dirs([2]))), [2])
        self.assertEqual(self.asked(describe_log_dirs.DescribeLogDirsRequest), [2])


class MirrorTests(AdminTestCase):
    def setUp(self) -> None:
        """Make two brokers that mirror one partition each."""
        self.fake = FakeMirrors(brokers=2)
        self.fake.mirrored = {n: [MirrorStatus("dc1", f"t{n}", 0, "paused")] for n in (1, 2)}
        self.open(self.fake)

    def test_all(self) -> None:
        """Every broker describes what it leads."""
        report = self.result(self.admin.describe_mirrors())
        self.assertEqual([(s.topic, s.broker) for s in report.partitions], [("t1", 1), ("t2", 2)])
        report = self.result(self.admin.describe_mirrors(links=["dc1"], topics=["t2"]))
        self.assertEqual([s.topic for s in report.partitions], ["t2"])

    def test_pages(self) -> None:
        """Pages are asked for until there is no more."""
        self.fake.mirrored[1] = [MirrorStatus("dc1", "t1", n, "paused") for n in range(5)]
        self.fake.page = 2
        self.assertEqual(len(self.result(self.admin.describe_mirrors()).partitions), 6)

    def test_foreign(self) -> None:
        """A broker that closes the connection again and again is not of kafkatx."""
        self.network.answers[DescribeMirrorsRequest] = lambda node, request, version: LOSE_REQUEST
        error = self.error(NoMirrors, self.admin.describe_mirrors(), 61)
        self.assertIn("broker", str(error))


class LifeTests(AdminTestCase):
    def setUp(self) -> None:
        """Make one broker."""
        self.fake = FakeSettings({"t": [Log()]})

    def test_settings(self) -> None:
        """Setting names have dots or underscores; one of another kind of client is refused."""
        self.open(self.fake, **{"default.api.timeout.ms": 500})
        self.error(RequestTimedOut, self._mute(), 2)
        self.assertRaises(SettingError, Admin, bootstrap_servers="x:1", linger_ms=5)
        self.assertRaises(SettingError, Admin)

    def _mute(self) -> Any:
        """Make a call that no broker answers."""
        self.network.mute.add(1)
        return self.admin.list_topics()

    def test_broker_down(self) -> None:
        """An unreachable cluster is an error at the start; later it is tried until the time is over."""
        self.open(self.fake)
        self.network.kill(1)
        other = Admin(
            bootstrap_servers="broker1:9092",
            kafkatx_endpoint=self.network.endpoint,
            reactor=self.network.clock,
        )
        self.error(ConnectionFailed, other.start())
        self.result(other.close())
        waiting = self.admin.list_topics()
        self.network.run(30)
        self.assertNoResult(waiting)
        self.network.down.clear()
        self.assertEqual(len(self.result(waiting, 3)), 1)

    def test_closed(self) -> None:
        """A close ends pending and later calls with ClientClosed."""
        self.open(self.fake)
        waiting = self._mute()
        self.network.pump()
        self.result(self.admin.close())
        self.error(ClientClosed, waiting)
        self.error(ClientClosed, self.admin.create_topic("x"))

    def test_cancelled(self) -> None:
        """A cancelled call leaves no timer or request."""
        self.open(self.fake)
        waiting = self._mute()
        self.network.pump()
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)

    def test_shared(self) -> None:
        """Slow requests over another client's cluster have a lane of their own; the cluster stays open."""
        self.open(self.fake)
        cluster = self.admin.cluster
        other = Admin(cluster=cluster)
        self.result(other.start())
        self.network.answers[CreateTopicsRequest] = lambda *_: Deferred()
        creating = other.create_topic("new")
        self.network.pump()
        self.assertEqual(len(self.result(self.admin.list_topics())), 1)
        self.result(self.admin.configs.describe(Resource(ResourceType.TOPIC, "t")))
        self.assertNoResult(creating)
        self.result(other.close())
        creating.cancel()
        self.failureResultOf(creating, CancelledError)
        self.assertEqual(len(self.result(self.admin.list_topics())), 1)

    def test_first_contact_only_once(self) -> None:
        """A start requests no topics."""
        self.open(self.fake)
        self.assertEqual([request.topics for request in self.network.sent(MetadataRequest)], [[]])
