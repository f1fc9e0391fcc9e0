"""ConsumerGroupHeartbeat: groups that are created, loaded, converted, and refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import SERVED
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.protocol import ConsumerProtocolSubscription, encode_subscription
from kafkatx.names import CONSUMER_OFFSETS
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from kafkatx.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.coordinated import groups_of, offsets_of, reload
from tests.broker.running import BrokerTestCase, Held

HEARTBEAT, COMMIT, JOIN = 68, 8, 11


class ConsumerGroupTestCase(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {
        "offsets.topic.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.session.timeout.ms": "10000",
        "group.consumer.heartbeat.interval.ms": "777",
    }

    def setUp(self) -> None:
        """Make a topic."""
        super().setUp()
        self.make_topic("t", 4)

    def request(self, member_id: str = "a", epoch: int = 0, group: str = "g", **fields: Any) -> Any:
        """Return a heartbeat of a joining member, or of one without changes."""
        if epoch == 0:
            fields = {
                "rebalance_timeout_ms": 5000,
                "subscribed_topic_names": ["t"],
                "topic_partitions": [],
                **fields,
            }
        return ConsumerGroupHeartbeatRequest(group, member_id, epoch, **fields)

    def beat(self, *args: Any, version: int = 1, **fields: Any) -> Any:
        """Return the response to such a heartbeat."""
        return self.ask(HEARTBEAT, version, self.request(*args, **fields))

    def code(self, *args: Any, **fields: Any) -> tuple[ErrorCode, str | None]:
        """Return the error code and message of the response."""
        response = self.beat(*args, **fields)
        return ErrorCode(response.error_code), response.error_message

    def commit(self, member_id: str, epoch: int) -> ErrorCode:
        """Commit an offset; return the error."""
        partition = OffsetCommitRequestPartition(0, 5)
        request = OffsetCommitRequest(
            "g", epoch, member_id, topics=[OffsetCommitRequestTopic("t", [partition])]
        )
        response = self.ask(COMMIT, 9, request)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def classic_join(self, member_id: str = "", version: int = 3) -> Any:
        """Return the response to a JoinGroup, or a Deferred of it."""
        metadata = encode_subscription(ConsumerProtocolSubscription(["t"]), 1)
        request = JoinGroupRequest(
            "g", 10_000, 10_000, member_id, None, "consumer", [JoinGroupRequestProtocol("range", metadata)]
        )
        return self.answer(JOIN, version, request)


class ServeTests(ConsumerGroupTestCase):
    def test_join(self) -> None:
        """The first heartbeat makes the offsets topic and the group, and returns an assignment by id."""
        self.assertFalse(self.broker.groups.topic.exists)
        response = self.beat()
        self.assertEqual((response.error_code, response.member_epoch), (0, 1))
        self.assertEqual(response.heartbeat_interval_ms, 777)
        topic_id = self.broker.metadata.state.topics["t"].topic_id
        self.assertEqual(response.assignment.topic_partitions, [TopicPartitions(topic_id, [0, 1, 2, 3])])
        self.assertIn(CONSUMER_OFFSETS, self.broker.topics.partitions)
        self.assertEqual(self.beat("a", 1).assignment, None)

    def test_broker_makes_the_id(self) -> None:
        """The broker generates the member id in version 0."""
        response = self.beat("", version=0)
        self.assertTrue(response.member_id.startswith("tests-"))
        self.assertEqual(self.beat(response.member_id, 1, version=0).error_code, 0)

    def test_topic_grows(self) -> None:
        """Added partitions are assigned at the next heartbeat."""
        self.beat()
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.make_topic("t", 2)
        response = self.beat("a", 1)
        self.assertEqual(response.assignment.topic_partitions, [])
        response = self.beat("a", 1, topic_partitions=[])
        self.assertEqual(response.assignment.topic_partitions[0].partitions, [0, 1])

    def test_session(self) -> None:
        """Sessions end by the broker's clock."""
        self.beat()
        self.clock.advance(9.9)
        self.assertEqual(self.beat("a", 1).error_code, 0)
        self.clock.advance(9.9)
        self.assertEqual(self.beat("b", -1).error_code, ErrorCode.UNKNOWN_MEMBER_ID)
        self.clock.advance(0.2)
        self.assertEqual(self.beat("a", 1).error_code, ErrorCode.UNKNOWN_MEMBER_ID)

    def test_session_setting(self) -> None:
        """A changed setting applies from the next heartbeat on."""
        self.beat()
        self.broker.groups.settings = attrs.evolve(
            self.broker.groups.settings,
            consumer_heartbeat_interval_ms=5,
            consumer_session_timeout_ms=1000,
        )
        self.assertEqual(self.beat("a", 1).heartbeat_interval_ms, 5)
        self.clock.advance(1.1)
        self.assertEqual(self.beat("a", 1).error_code, ErrorCode.UNKNOWN_MEMBER_ID)

    def test_commit(self) -> None:
        """A member commits with its own epoch only."""
        self.beat()
        self.assertEqual(self.commit("a", 1), ErrorCode.NONE)
        self.assertEqual(self.commit("a", 0), ErrorCode.STALE_MEMBER_EPOCH)
        self.assertEqual(self.commit("b", 1), ErrorCode.UNKNOWN_MEMBER_ID)

    def test_loaded(self) -> None:
        """A written group is loaded again: its members continue, and commits are kept."""
        self.beat()
        self.beat("b")
        self.commit("a", 1)
        before = self.broker.groups.find("g").consumer_describe()  # type: ignore[union-attr]
        reload(self.broker)
        group = self.broker.groups.find("g")
        self.assertEqual(group.consumer_describe(), before)  # type: ignore[union-attr]
        self.assertEqual(self.beat("b", 2).error_code, 0)

    def test_removed_and_loaded(self) -> None:
        """A deleted group does not come back."""
        self.beat()
        self.beat("a", -1)
        group = self.broker.groups.find("g")
        assert group is not None
        self.successResultOf(Deferred.fromCoroutine(self.broker.groups.delete(group)))
        reload(self.broker)
        self.assertIsNone(self.broker.groups.find("g"))


class RefuseTests(ConsumerGroupTestCase):
    def test_invalid(self) -> None:
        """Invalid requests are refused and make no group."""
        for fields, code, message in (
            ({"group": ""}, ErrorCode.INVALID_REQUEST, "GroupId can't be empty."),
            (
                {"subscribed_topic_names": None},
                ErrorCode.INVALID_REQUEST,
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
            ),
        ):
            self.assertEqual(self.code(**fields), (code, message))
        self.assertEqual(self.code(subscribed_topic_regex="(")[0], ErrorCode.INVALID_REGULAR_EXPRESSION)
        self.assertEqual(self.code(group="g" * 40_000)[0], ErrorCode.INVALID_REQUEST)
        self.assertEqual(groups_of(self.broker), {})

    def test_no_group(self) -> None:
        """A heartbeat to a missing group or to another kind of group gets GROUP_ID_NOT_FOUND."""
        self.beat("x")  # so that the topic exists
        for epoch in (1, -1):
            self.assertEqual(
                self.code("a", epoch, group="h"),
                (ErrorCode.GROUP_ID_NOT_FOUND, "Consumer group h not found."),
            )
        self.broker.groups.make("h")
        self.assertEqual(
            self.code("a", 1, group="h"),
            (ErrorCode.GROUP_ID_NOT_FOUND, "Group h is not a consumer group."),
        )

    def test_loading(self) -> None:
        """Members get an error to retry while groups are loaded."""
        self.beat()

        def check(group_id: str, may_be_empty: bool = False) -> ErrorCode:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

        self.patch(self.broker.groups, "check", check)
        self.assertEqual(self.code("a", 1)[0], ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def test_our_own_fault(self) -> None:
        """A bug is an error of the one request, and the group continues."""
        self.beat()
        group: Any = self.broker.groups.find("g")

        def fail(*_: object) -> None:
            raise ZeroDivisionError

        self.patch(group._rebalance, "_make_target", fail)
        self.assertEqual(self.code("b")[0], ErrorCode.UNKNOWN_SERVER_ERROR)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assertEqual(self.beat("a", 1).error_code, 0)
        self.assertEqual(list(group._rebalance.state.members), ["a"])

    def test_refused_join_leaves_nothing(self) -> None:
        """A group that no member could join is forgotten."""
        self.beat()
        self.assertEqual(self.code(group="h", instance_id=" ")[0], ErrorCode.INVALID_REQUEST)
        self.patch(self.broker.groups.writer, "append", self.fail_to_append)
        self.assertEqual(self.code(group="h")[0], ErrorCode.NOT_COORDINATOR)
        self.assertEqual(set(groups_of(self.broker)), {"g"})

    def fail_to_append(self, *_: object) -> None:
        """Fail like a failing disk."""
        raise RequestError(ErrorCode.NOT_COORDINATOR)


class ClassicOnlyTests(ConsumerGroupTestCase):
    settings: ClassVar[Mapping[str, str]] = {"group.coordinator.rebalance.protocols": "classic"}

    def test_not_offered(self) -> None:
        """A heartbeat is refused as in Apache Kafka if the protocol is disabled."""
        self.assertEqual(self.code()[0], ErrorCode.UNSUPPORTED_VERSION)


class MigrationTests(ConsumerGroupTestCase):
    def test_up_and_down(self) -> None:
        """A classic group is converted with its members, and back when the last KIP-848 member leaves."""
        self.beat("x", group="other")
        waiting = self.classic_join()
        self.clock.advance(0.1)
        joined = self.response(
            JOIN, 3, self.successResultOf(waiting) if isinstance(waiting, Deferred) else waiting
        )
        response = self.beat()
        had = response.assignment.topic_partitions[0].partitions
        self.assertEqual((response.error_code, len(had)), (0, 2))
        group: Any = self.broker.groups.find("g")
        self.assertEqual((group.kind, len(group.consumer_describe().members)), ("consumer", 2))
        again = self.response(JOIN, 3, self.classic_join(joined.member_id))
        self.assertEqual((again.error_code, again.generation_id), (0, response.member_epoch))
        self.beat("a", -1)
        back: Any = self.broker.groups.find("g")
        self.assertEqual((back.kind, list(back.members)), ("classic", [joined.member_id]))

    def test_not_taken_over(self) -> None:
        """A classic group that may not be converted stays as it is, with its members."""
        self.beat("x", group="other")
        self.classic_join()
        self.clock.advance(0.1)
        group = self.broker.groups.find("g")
        settings = self.broker.groups.settings
        self.broker.groups.settings = attrs.evolve(settings, migration_policy="disabled")
        self.assertEqual(self.code()[0], ErrorCode.GROUP_ID_NOT_FOUND)
        self.assertIs(self.broker.groups.find("g"), group)

    def test_empty_groups(self) -> None:
        """An empty group takes the protocol of the next member, and keeps its offsets."""
        self.beat()
        self.commit("a", 1)
        self.beat("a", -1)
        self.classic_join("", 9)
        back = self.broker.groups.find("g")
        assert back is not None
        self.assertEqual(back.kind, "classic")
        self.assertEqual(len(offsets_of(self.broker, "g").of("g")), 1)
        self.clock.advance(60)
        self.assertEqual(self.beat("b").error_code, 0)
        again = self.broker.groups.find("g")
        assert again is not None
        self.assertEqual(again.kind, "consumer")
        self.assertEqual(len(offsets_of(self.broker, "g").of("g")), 1)

    def test_commit_then_join(self) -> None:
        """A group that only has offsets is converted, too."""
        self.beat("x", group="other")
        self.assertEqual(self.commit("", -1), ErrorCode.NONE)
        self.assertEqual(self.beat().error_code, 0)
        self.assertEqual(self.commit("a", 1), ErrorCode.NONE)


class SlowDiskTests(ConsumerGroupTestCase):
    def test_first_of_all(self) -> None:
        """Members that arrive while the offsets topic is being created wait for it."""
        workers = Held()
        self.broker = self.make_broker(workers)
        self.dispatch = Dispatch(self.broker, SERVED)
        answers = [self.answer(HEARTBEAT, 1, self.request(name)) for name in "ab"]
        for answer in answers:
            self.assertNoResult(answer)
        workers.work()
        for name, answer in zip("ab", answers, strict=True):
            response = self.response(HEARTBEAT, 1, self.successResultOf(answer))
            self.assertEqual((response.error_code, response.member_id), (0, name))
