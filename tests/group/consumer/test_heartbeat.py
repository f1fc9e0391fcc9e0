"""Heartbeats of members of KIP-848: joining, staying, leaving, and refusals."""

from __future__ import annotations

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.group.actions import Client
from kafkatx.group.consumer.records import Kind
from tests.group.consumer.driver import (
    INTERVAL_MS,
    REBALANCE_MS,
    SESSION_MS,
    GroupTestCase,
    cluster,
    t,
    topic,
)

ALL = t(0, 1, 2, 3, 4, 5)


class JoinTests(GroupTestCase):
    def test_first(self) -> None:
        """The first member gets all partitions at once, and the heartbeat interval."""
        response = self.join()
        self.assertEqual(
            (response.error_code, response.member_id, response.member_epoch, response.heartbeat_interval_ms),
            (0, "a", 1, INTERVAL_MS),
        )
        self.assertEqual(self.assigned(response), ALL)
        self.assertEqual((self.group.state, self.group.has_members), ("Stable", True))
        self.assertEqual(
            self.kinds(),
            {
                Kind.GROUP_EPOCH: 1,
                Kind.TOPICS: 1,
                Kind.MEMBER: 1,
                Kind.TARGET_EPOCH: 1,
                Kind.TARGET: 1,
                Kind.CURRENT: 1,
            },
        )
        self.assertEqual(self.batches, [6])

    def test_broker_makes_the_id(self) -> None:
        """In version 0 a member without an id is given one; in version 1 it must have its own."""
        response = self.join("", version=0)
        self.assertEqual((response.error_code, response.member_id), (0, "client-1"))
        message = self.refused(ErrorCode.INVALID_REQUEST, self.join("", version=1))
        self.assertEqual(message, "MemberId can't be empty.")

    def test_second(self) -> None:
        """The second member gets its half when the first has given it up, and not before."""
        first = self.joined("a")
        response = self.join("b")
        self.assertEqual((response.member_epoch, self.assigned(response)), (2, set()))
        self.assertEqual(self.group.state, "Reconciling")
        revoking = self.send("a", first)
        self.assertEqual(revoking.member_epoch, 1)
        kept = self.assigned(revoking)
        self.assertEqual(len(kept), 3)
        still = self.send("b", 2)
        self.assertIsNone(still.assignment)
        done = self.send("a", 1, owned=kept)
        self.assertEqual((done.member_epoch, done.assignment), (2, None))
        got = self.send("b", 2)
        self.assertEqual((got.member_epoch, self.assigned(got)), (2, ALL - kept))
        self.assertEqual(self.group.state, "Stable")

    def test_nothing_new(self) -> None:
        """A heartbeat that changes nothing writes nothing, and assigns nothing anew."""
        epoch = self.joined()
        self.batches.clear()
        for _ in range(3):
            response = self.send("a", epoch)
            self.assertEqual((response.error_code, response.member_epoch), (0, epoch))
            self.assertIsNone(response.assignment)
        self.assertEqual(self.batches, [])

    def test_written(self) -> None:
        """Only changes are written: no records of members that a new member takes nothing from."""
        self.cluster = cluster(topic("t", 2), topic("u", 2))
        self.joined("a", ["t"])
        self.batches.clear()
        self.log.clear()
        self.joined("b", ["u"])
        self.assertEqual(self.batches, [6])
        self.assertEqual({key[-1:] for key in self.log}, {b"b", b"g"})

    def test_full_request(self) -> None:
        """A member that sends all fields, as after an error, gets its assignment again."""
        epoch = self.joined()
        response = self.send("a", epoch, ["t"], ALL, rebalance_timeout_ms=REBALANCE_MS)
        self.assertEqual(self.assigned(response), ALL)
        self.assertIsNone(self.send("a", epoch, ["t"], ALL).assignment)

    def test_lost_answer_to_join(self) -> None:
        """A member whose join was not answered joins again, with the same result."""
        self.joined()
        response = self.join()
        self.assertEqual((response.member_epoch, self.assigned(response)), (1, ALL))

    def test_other_subscription(self) -> None:
        """A member that changes its subscription revokes the old topics, and gets the new ones."""
        self.cluster = cluster(topic("t", 2), topic("u", 2))
        epoch = self.joined()
        response = self.send("a", epoch, ["u"])
        self.assertEqual((response.member_epoch, self.assigned(response)), (epoch, set()))
        response = self.send("a", epoch, owned=set())
        self.assertEqual(self.assigned(response), {("u", 0), ("u", 1)})
        self.assertEqual(self.described().subscribed_topic_names, ["u"])

    def test_unknown_topics(self) -> None:
        """Topics that do not exist yet may be subscribed to."""
        response = self.join(topics=["none"])
        self.assertEqual((response.error_code, self.assigned(response)), (0, set()))
        self.assertTrue(self.group.subscribes("none"))
        self.assertFalse(self.group.subscribes("t"))

    def test_no_topics(self) -> None:
        """A member may subscribe to no topics."""
        self.assertEqual(self.assigned(self.join(topics=[])), set())

    def test_assignor(self) -> None:
        """The assignor is the one that most members ask for, or the first of the settings if none does."""
        self.assertEqual(self.group.consumer_describe().assignor_name, "uniform")
        self.joined("a", server_assignor="range")
        self.assertEqual(self.group.consumer_describe().assignor_name, "range")
        self.joined("b", server_assignor="uniform")
        self.joined("c", server_assignor="uniform")
        self.assertEqual(self.group.consumer_describe().assignor_name, "uniform")

    def test_range(self) -> None:
        """The assignor range assigns ranges."""
        self.joined("a", server_assignor="range")
        self.joined("b")
        self.assertEqual(self.assigned(self.send("a", 1)), t(0, 1, 2))


class TopicTests(GroupTestCase):
    def test_grown(self) -> None:
        """New partitions are assigned with the next heartbeat."""
        epoch = self.joined()
        self.cluster = cluster(topic("t", 8))
        response = self.send("a", epoch)
        self.assertEqual((response.member_epoch, self.assigned(response)), (epoch + 1, t(*range(8))))

    def test_created(self) -> None:
        """A topic that was subscribed to before it was created is assigned when it is."""
        self.cluster = cluster()
        epoch = self.joined()
        self.cluster = cluster(topic("t", 1))
        self.assertEqual(self.assigned(self.send("a", epoch)), t(0))

    def test_deleted_and_created_again(self) -> None:
        """A topic that is created again is another topic: its partitions are revoked and assigned."""
        epoch = self.joined()
        self.cluster = cluster(topic("t", 6, 1))
        response = self.send("a", epoch)
        self.assertEqual((response.member_epoch, self.assigned(response)), (epoch, set()))
        self.assertEqual(self.assigned(self.send("a", epoch, owned=set())), ALL)

    def test_deleted(self) -> None:
        """Partitions of a deleted topic are revoked."""
        epoch = self.joined()
        self.cluster = cluster()
        response = self.send("a", epoch)
        assert response.assignment is not None
        self.assertEqual(response.assignment.topic_partitions, [])
        self.assertEqual(self.send("a", epoch, owned=set()).member_epoch, epoch + 1)

    def test_others(self) -> None:
        """Topics without subscribers change nothing."""
        epoch = self.joined()
        self.batches.clear()
        self.cluster = cluster(topic("t", 6), topic("u", 1))
        self.assertEqual(self.send("a", epoch).member_epoch, epoch)
        self.assertEqual(self.batches, [])


class RegexTests(GroupTestCase):
    def setUp(self) -> None:
        """Make some topics."""
        super().setUp()
        self.cluster = cluster(topic("ta", 1), topic("tb", 1), topic("u", 1))

    def test_subscribed(self) -> None:
        """A regular expression stands for the topics that match as a whole."""
        self.assertEqual(self.assigned(self.join(subscribed_topic_regex="t.")), {("ta", 0), ("tb", 0)})
        self.assertEqual(self.described().subscribed_topic_regex, "t.")
        self.assertTrue(self.group.subscribes("ta"))
        self.assertFalse(self.group.subscribes("u"))
        self.assertEqual(self.kinds()[Kind.REGEX], 1)

    def test_with_names(self) -> None:
        """Names and an expression together subscribe to both."""
        response = self.join(topics=["u"], subscribed_topic_regex="t[b]")
        self.assertEqual(self.assigned(response), {("u", 0), ("tb", 0)})

    def test_new_topic(self) -> None:
        """A topic that is created later is found."""
        epoch = self.joined(subscribed_topic_regex="t.")
        self.cluster = cluster(*self.cluster.topics.values(), topic("tc", 1), topic("v", 1))
        self.assertEqual(self.assigned(self.send("a", epoch)), {("ta", 0), ("tb", 0), ("tc", 0)})

    def test_deleted_topic(self) -> None:
        """A topic that is deleted is forgotten."""
        epoch = self.joined(subscribed_topic_regex="t.")
        self.cluster = cluster(topic("ta", 1))
        self.assertEqual(self.send("a", epoch).member_epoch, epoch)
        self.assertEqual(self.send("a", epoch, owned={("ta", 0)}).member_epoch, epoch + 1)
        self.assertFalse(self.group.subscribes("tb"))

    def test_changed(self) -> None:
        """A new expression replaces the old one, an empty one ends it, and unused ones are dropped."""
        epoch = self.joined(subscribed_topic_regex="t.")
        self.send("a", epoch, subscribed_topic_regex="u")
        self.assertEqual(self.assigned(self.send("a", epoch, owned=set())), {("u", 0)})
        self.assertEqual(self.kinds()[Kind.REGEX], 1)
        self.send("a", epoch + 1, ["ta"], subscribed_topic_regex="")
        self.assertEqual(self.assigned(self.send("a", epoch + 1, owned=set())), {("ta", 0)})
        self.assertNotIn(Kind.REGEX, self.kinds())

    def test_last_leaves(self) -> None:
        """An expression is dropped when the last member that used it leaves."""
        self.joined("a", subscribed_topic_regex="t.")
        self.joined("b", subscribed_topic_regex="t.")
        self.send("a", -1)
        self.assertEqual(self.kinds()[Kind.REGEX], 1)
        self.send("b", -1)
        self.assertNotIn(Kind.REGEX, self.kinds())

    def use(self, *topics: str) -> None:
        """Send later heartbeats as a client that may describe these topics."""
        self.client = Client("client", "/127.0.0.1", set(topics).__contains__)

    def test_rights(self) -> None:
        """Only topics that the member may describe match, those that are created later included."""
        self.use("tb", "td", "u")
        epoch = self.joined(subscribed_topic_regex="t.")
        self.assertEqual(self.group.subscribes("tb"), True)
        self.assertEqual(self.group.subscribes("ta"), False)
        self.cluster = cluster(*self.cluster.topics.values(), topic("tc", 1), topic("td", 1))
        self.assertEqual(self.assigned(self.send("a", epoch)), {("tb", 0), ("td", 0)})

    def test_changed_rights(self) -> None:
        """A change of ACLs has the topics matched anew; without a change no rights are asked for."""
        self.use("ta")
        epoch = self.joined(subscribed_topic_regex="t.")
        self.use("tb")
        self.assertIsNone(self.send("a", epoch).assignment)
        self.cluster = attrs.evolve(self.cluster, acls={})
        self.assertEqual(self.assigned(self.send("a", epoch)), set())
        self.assertEqual(self.assigned(self.send("a", epoch, owned=set())), {("tb", 0)})

    def test_rights_of_nobody(self) -> None:
        """A member that leaves, or a timer, has no rights: the next heartbeat finds the new topics."""
        self.use("ta", "tc")
        epoch = self.joined("a", subscribed_topic_regex="t.")
        self.joined("b", ["u"])
        self.cluster = cluster(*self.cluster.topics.values(), topic("tc", 1), topic("td", 1))
        self.send("b", -1)
        self.assertFalse(self.group.subscribes("tc"))
        self.assertEqual(self.assigned(self.send("a", epoch)), {("ta", 0), ("tc", 0)})

    def test_invalid(self) -> None:
        """An invalid expression of RE2 is refused, and changes nothing."""
        message = self.refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION, self.join(subscribed_topic_regex="(a)\\1")
        )
        self.assertTrue(
            message.startswith("SubscribedTopicRegex `(a)\\1` is not a valid regular expression:")
        )
        self.assertEqual((self.group.has_members, self.log), (False, {}))
        epoch = self.joined()
        self.refused(ErrorCode.INVALID_REGULAR_EXPRESSION, self.send("a", epoch, subscribed_topic_regex="["))
        self.assertEqual(self.described().subscribed_topic_regex, None)

    def test_after_restart(self) -> None:
        """An expression is resolved against the present topics after a restart."""
        epoch = self.joined(subscribed_topic_regex="t.")
        self.restart()
        self.cluster = cluster(topic("ta", 1), topic("tb", 1), topic("tz", 1))
        self.assertEqual(self.assigned(self.send("a", epoch)), {("ta", 0), ("tb", 0), ("tz", 0)})


class RefusedTests(GroupTestCase):
    def test_invalid(self) -> None:
        """Invalid requests are refused with Apache Kafka's messages."""
        joining = {"rebalance_timeout_ms": 1, "topics": ["t"], "owned": set()}
        for epoch, fields, message in (
            (
                0,
                {**joining, "rebalance_timeout_ms": -1},
                "RebalanceTimeoutMs must be provided in first request.",
            ),
            (0, {**joining, "owned": None}, "TopicPartitions must be empty when (re-)joining."),
            (0, {**joining, "owned": t(1)}, "TopicPartitions must be empty when (re-)joining."),
            (
                0,
                {**joining, "topics": None},
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
            ),
            (0, {**joining, "instance_id": " "}, "InstanceId can't be empty."),
            (0, {**joining, "rack_id": ""}, "RackId can't be empty."),
            (-2, {}, "InstanceId can't be null."),
            (-3, {}, "MemberEpoch is invalid."),
        ):
            response = self.send("a", epoch, **fields)  # type: ignore[arg-type]
            self.assertEqual(self.refused(ErrorCode.INVALID_REQUEST, response), message)
        for epoch in (1, -1):
            message = self.refused(ErrorCode.INVALID_REQUEST, self.send(" ", epoch, version=0))
            self.assertEqual(message, "MemberId can't be empty.")
        self.assertEqual(self.log, {})

    def test_too_long(self) -> None:
        """Ids that are too long for a record are refused."""
        self.refused(ErrorCode.INVALID_REQUEST, self.join("m" * 40_000))
        self.refused(ErrorCode.INVALID_REQUEST, self.join(instance_id="i" * 40_000))

    def test_unsupported_assignor(self) -> None:
        """An assignor that is not offered is refused, with those that are."""
        message = self.refused(ErrorCode.UNSUPPORTED_ASSIGNOR, self.join(server_assignor="mine"))
        self.assertEqual(
            message, "ServerAssignor mine is not supported. Supported assignors: uniform, range."
        )

    def test_unknown_member(self) -> None:
        """An unknown member can neither stay nor leave."""
        self.joined()
        for epoch in (1, -1):
            message = self.refused(ErrorCode.UNKNOWN_MEMBER_ID, self.send("b", epoch))
            self.assertEqual(message, "Member b is not a member of group g.")

    def test_full(self) -> None:
        """A full group takes no new members, and keeps those that it has."""
        self.settings = attrs.evolve(self.settings, consumer_max_size=1)
        epoch = self.joined("a")
        message = self.refused(ErrorCode.GROUP_MAX_SIZE_REACHED, self.join("b"))
        self.assertEqual(message, "The consumer group has reached its maximum capacity of 1 members.")
        self.assertEqual(self.send("a", epoch).error_code, 0)

    def test_fenced(self) -> None:
        """A member with an epoch other than its own must join again."""
        self.joined()
        message = self.refused(ErrorCode.FENCED_MEMBER_EPOCH, self.send("a", 2))
        self.assertIn("greater member epoch (2) than the one known by the group coordinator (1)", message)
        self.cluster = cluster(topic("t", 7))
        self.send("a", 1)
        self.cluster = cluster(topic("t", 8))
        self.send("a", 2)
        message = self.refused(ErrorCode.FENCED_MEMBER_EPOCH, self.send("a", 1, owned=set()))
        self.assertIn("smaller member epoch (1) than the one known by the group coordinator (3)", message)

    def test_previous_epoch(self) -> None:
        """A member whose last answer was lost may name the epoch before, if it owns nothing else."""
        self.joined()
        self.cluster = cluster(topic("t", 7))
        self.assertEqual(self.send("a", 1).member_epoch, 2)
        self.refused(ErrorCode.FENCED_MEMBER_EPOCH, self.send("a", 1))
        self.refused(ErrorCode.FENCED_MEMBER_EPOCH, self.send("a", 1, owned=ALL | {("t", 99)}))
        response = self.send("a", 1, owned=ALL)
        self.assertEqual((response.error_code, response.member_epoch), (0, 2))


class LeaveTests(GroupTestCase):
    def test_leave(self) -> None:
        """The partitions of a member are free after it left."""
        self.joined("a")
        self.joined("b")
        response = self.send("a", -1)
        self.assertEqual((response.error_code, response.member_id, response.member_epoch), (0, "a", -1))
        self.assertEqual(self.group.state, "Assigning")
        self.assertEqual(self.assigned(self.send("b", 2)), ALL)

    def test_last_leaves(self) -> None:
        """A group is empty after its last member left, and tells since when."""
        self.joined()
        self.assertEqual(self.group.empty_since_ms, -1)
        self.now_ms = 5000
        self.send("a", -1)
        self.assertEqual((self.group.state, self.group.has_members), ("Empty", False))
        self.assertEqual(self.group.empty_since_ms, 1_700_000_005_000)
        self.assertEqual(self.kinds(), {Kind.GROUP_EPOCH: 1, Kind.TOPICS: 1, Kind.TARGET_EPOCH: 1})
        self.assertEqual(self.joined("b"), 3)
        self.assertEqual(self.group.empty_since_ms, -1)
        self.now_ms = 6000
        self.send("b", -1)
        self.assertEqual(self.group.empty_since_ms, 1_700_000_006_000)

    def test_session(self) -> None:
        """A member that is silent for the session time-out is removed; a heartbeat in time keeps it."""
        epoch = self.joined()
        for _ in range(3):
            self.pass_time(SESSION_MS - 1)
            self.assertEqual(self.send("a", epoch).error_code, 0)
        self.pass_time(SESSION_MS - 1)
        self.assertTrue(self.group.has_members)
        self.pass_time(1)
        self.assertFalse(self.group.has_members)
        self.refused(ErrorCode.UNKNOWN_MEMBER_ID, self.send("a", epoch))
        (line,) = (line for line in self.lines if line.warn)
        self.assertEqual(line.values, {"member": "a", "reason": "its session expired"})

    def test_refused_heartbeat(self) -> None:
        """A refused heartbeat does not extend the session."""
        self.joined()
        self.pass_time(SESSION_MS - 1)
        self.refused(ErrorCode.FENCED_MEMBER_EPOCH, self.send("a", 7))
        self.pass_time(1)
        self.assertFalse(self.group.has_members)

    def test_revocation(self) -> None:
        """A member that does not revoke within its rebalance time-out is removed despite heartbeats."""
        self.joined("a", rebalance_timeout_ms=10_000)
        self.joined("b")
        self.send("a", 1)
        for _ in range(9):
            self.pass_time(1000)
            self.assertEqual(self.send("a", 1).error_code, 0)
            self.assertEqual(self.send("b", 2).error_code, 0)
        self.pass_time(1000)
        self.refused(ErrorCode.UNKNOWN_MEMBER_ID, self.send("a", 1))
        self.assertEqual(self.assigned(self.send("b", 2)), ALL)

    def test_revoked_in_time(self) -> None:
        """A member that has revoked in time has no further deadline for it."""
        self.joined("a", rebalance_timeout_ms=10_000)
        self.joined("b")
        kept = self.assigned(self.send("a", 1))
        self.send("a", 1, owned=kept)
        for _ in range(5):
            self.pass_time(10_000)
            self.assertEqual(self.send("a", 2).error_code, 0)

    def test_many_at_once(self) -> None:
        """Members whose sessions end at the same time are removed in one batch, with one new epoch."""
        for name in "abc":
            self.joined(name)
        self.batches.clear()
        self.pass_time(SESSION_MS)
        self.assertEqual(len(self.batches), 1)
        self.assertEqual(self.group.consumer_describe().group_epoch, 4)
        self.assertEqual(self.group.deadline_ms, 2**63 - 1)


class StaticTests(GroupTestCase):
    def test_comes_back(self) -> None:
        """A static member that was away gets its partitions back under another id, without a rebalance."""
        self.joined("a", instance_id="i")
        self.joined("b")
        kept = self.assigned(self.send("a", 1, instance_id="i"))
        self.send("a", 1, owned=kept, instance_id="i")
        self.send("b", 2)
        response = self.send("a", -2, instance_id="i")
        self.assertEqual((response.error_code, response.member_epoch), (0, -2))
        self.assertIsNone(self.send("b", 2).assignment)
        response = self.join("a2", instance_id="i")
        self.assertEqual((response.member_epoch, self.assigned(response)), (2, kept))
        self.assertEqual(self.group._rebalance.state.current_of("a2").previous_epoch, 0)
        self.assertEqual(self.send("b", 2).member_epoch, 2)
        self.assertEqual({one.member_id for one in self.group.consumer_describe().members}, {"a2", "b"})
        self.assertEqual({one for _, one in self.group._rebalance.deadlines._due}, {"a2", "b"})
        message = self.refused(ErrorCode.FENCED_INSTANCE_ID, self.send("a", 2, instance_id="i"))
        self.assertEqual(message, "Static member a with instance id i was fenced by member a2.")

    def test_stays_away(self) -> None:
        """A static member that does not come back within its session is removed."""
        self.joined("a", instance_id="i")
        self.pass_time(1000)
        self.send("a", -2, instance_id="i")
        self.pass_time(SESSION_MS - 1001)
        self.assertTrue(self.group.has_members)
        self.pass_time(1)
        self.assertFalse(self.group.has_members)

    def test_unreleased(self) -> None:
        """The place of a static member cannot be taken before it has left."""
        self.joined("a", instance_id="i")
        message = self.refused(ErrorCode.UNRELEASED_INSTANCE_ID, self.join("a2", instance_id="i"))
        self.assertEqual(
            message,
            "Static member a2 with instance id i cannot join the group because the instance id is owned by "
            "a member.",
        )

    def test_leaves(self) -> None:
        """A static member may also leave for good; another instance is unknown."""
        self.joined("a", instance_id="i")
        message = self.refused(ErrorCode.UNKNOWN_MEMBER_ID, self.send("a", -1, instance_id="j"))
        self.assertEqual(message, "Instance id j is unknown.")
        self.refused(ErrorCode.FENCED_INSTANCE_ID, self.send("x", -1, instance_id="i"))
        self.assertEqual(self.send("a", -1, instance_id="i").error_code, 0)
        self.assertFalse(self.group.has_members)
        self.assertEqual(self.assigned(self.join("a2", instance_id="i")), ALL)

    def test_leaves_while_revoking(self) -> None:
        """Partitions that a static member was to revoke are free when it is away, and it is not removed."""
        self.joined("a", instance_id="i", rebalance_timeout_ms=1000)
        self.joined("b")
        kept = self.assigned(self.send("a", 1, instance_id="i"))
        self.send("a", -2, instance_id="i")
        self.assertEqual(self.assigned(self.send("b", 2)), ALL - kept)
        self.pass_time(2000)
        self.assertEqual(self.described("a").member_epoch, -2)
        self.assertEqual(self.assigned(self.join("a2", instance_id="i")), kept)

    def test_other_subscription(self) -> None:
        """A static member that comes back with another subscription makes the group rebalance."""
        self.cluster = cluster(topic("t", 2), topic("u", 2))
        self.joined("a", instance_id="i")
        self.send("a", -2, instance_id="i")
        response = self.join("a2", ["u"], instance_id="i")
        self.assertEqual((response.member_epoch, self.assigned(response)), (2, {("u", 0), ("u", 1)}))

    def test_full(self) -> None:
        """The return of a static member to a full group is refused, as in Apache Kafka."""
        self.settings = attrs.evolve(self.settings, consumer_max_size=1)
        self.joined("a", instance_id="i")
        self.send("a", -2, instance_id="i")
        self.refused(ErrorCode.GROUP_MAX_SIZE_REACHED, self.join("a2", instance_id="i"))
