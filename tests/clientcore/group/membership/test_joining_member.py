"""The requests of a member until it is in a generation."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.assignors import COOPERATIVE_STICKY, STICKY
from kafkatx.clientcore.group.membership import State
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.protocol import ConsumerProtocolSubscription, parse_subscription
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.heartbeat import HeartbeatRequest
from kafkatx.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
)
from kafkatx.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.clientcore.group.membership.alone import COOPERATIVE, Alone
from tests.clientcore.group.membership.world import BEAT_MS, POLL_MS, SESSION_MS, World


class JoiningMemberTests(SynchronousTestCase):
    def test_member_id_required(self) -> None:
        """A new member joins twice: the coordinator gives it an id first (KIP-394)."""
        world = World({"t": 2})
        member = world.member("t")
        first, second = member.sent(JoinGroupRequest)
        self.assertEqual((first.member_id, second.member_id), ("", "c-1"))
        self.assertEqual(second.reason, "need to re-join with the given member-id")
        self.assertEqual(member.state, State.STABLE)
        self.assertEqual(member.calls, [("assigned", {("t", 0), ("t", 1)})])

    def test_request(self) -> None:
        """JoinGroup has time-outs, and for each assignor the subscription, owned partitions and user data."""
        member = Alone(assignors=(STICKY, COOPERATIVE_STICKY), rack="r")
        member.subscribe("t", "u")
        request = member.last
        self.assertEqual((request.session_timeout_ms, request.rebalance_timeout_ms), (SESSION_MS, POLL_MS))
        self.assertEqual([p.name for p in request.protocols], ["sticky", "cooperative-sticky"])
        said = parse_subscription(request.protocols[0].metadata)
        expected = ConsumerProtocolSubscription(["t", "u"], None, [], -1, "r")
        self.assertEqual(said, expected)
        self.assertEqual(member.asked[-1].timeout_ms, POLL_MS + 5000)

    def test_rejoin_request(self) -> None:
        """Cooperative members send owned partitions and generation; eager ones remember them."""
        member = Alone(**COOPERATIVE)
        member.subscribe("t")
        member.join(protocol="cooperative-sticky", generation=7)
        member.sync(0, 1)
        member.subscribe("t", "u")
        said = parse_subscription(member.last.protocols[0].metadata)
        self.assertEqual([(t.topic, t.partitions) for t in said.owned_partitions], [("t", [0, 1])])
        self.assertEqual((said.generation_id, said.user_data), (7, b"\0\0\0\7"))
        self.assertEqual(member.last.reason, "subscription has changed")
        eager = Alone(assignors=(STICKY,))
        eager.subscribe("t")
        eager.join(protocol="sticky", generation=7)
        eager.sync(0, 1)
        eager.subscribe("t", "u")
        said = parse_subscription(eager.last.protocols[0].metadata)
        self.assertEqual(said.owned_partitions, [])
        self.assertEqual(
            said.user_data, STICKY.user_data([TopicPartition("t", 0), TopicPartition("t", 1)], 7)
        )

    def test_no_heartbeats_before(self) -> None:
        """No heartbeats are sent while the member waits for the others to join."""
        member = Alone()
        member.subscribe("t")
        member.pass_ms(SESSION_MS * 2)
        self.assertEqual(member.sent(HeartbeatRequest), [])

    def test_heartbeats_while_syncing(self) -> None:
        """Heartbeats are sent once all have joined, even while the member waits for its assignment."""
        member = Alone()
        member.subscribe("t")
        member.join()
        member.pass_ms(BEAT_MS)
        self.assertEqual(len(member.sent(HeartbeatRequest)), 1)

    def test_follower(self) -> None:
        """A follower sends no assignments, and gets its own."""
        member = Alone().stable(1)
        (request,) = member.sent(SyncGroupRequest)
        self.assertEqual((request.generation_id, request.member_id, request.assignments), (1, "me", []))
        self.assertEqual((request.protocol_type, request.protocol_name), ("consumer", "range"))
        self.assertEqual(member.numbers, [1])

    def test_no_bytes(self) -> None:
        """An empty assignment has no partitions: some leaders leave out members without partitions."""
        member = Alone()
        member.subscribe("t")
        member.join()
        member.answer(SyncGroupResponse(assignment=b""))
        self.assertEqual((member.state, member.calls), (State.STABLE, [("assigned", set())]))

    def test_malformed_assignment(self) -> None:
        """A malformed assignment is logged, and the member joins again after a pause."""
        member = Alone()
        member.subscribe("t")
        member.join()
        member.answer(SyncGroupResponse(assignment=b"\0\1\0\0\0\7"))
        self.assertEqual((member.state, member.told[-1].warn), (State.UNJOINED, True))
        member.pass_ms(100)
        self.assertEqual(member.state, State.JOINING)

    def test_other_topics(self) -> None:
        """An assignment for an earlier subscription is dropped, and the member joins again at once."""
        member = Alone()
        member.subscribe("t")
        member.join()
        member.subscribe("u")
        member.sync(0)
        self.assertEqual((member.calls, member.state), ([], State.JOINING))
        self.assertEqual(parse_subscription(member.last.protocols[0].metadata).topics, ["u"])

    def test_other_match(self) -> None:
        """A topic that the leader saw first is accepted if the pattern matches it, without a rebalance."""
        member = Alone()
        member.subscribe("t", matches=lambda name: name in "tuv")
        member.join()
        member.sync(0, topic="u")
        self.assertEqual((member.state, member.calls), (State.STABLE, [("assigned", {("u", 0)})]))

    def test_other_protocol(self) -> None:
        """A protocol that it did not offer, or of another type, ends the membership."""
        for protocol, kind in (("other", "consumer"), ("range", "connect")):
            member = Alone()
            member.subscribe("t")
            member.answer(
                JoinGroupResponse(generation_id=1, protocol_type=kind, protocol_name=protocol, member_id="me")
            )
            (error,) = member.errors
            self.assertEqual(getattr(error, "code", None), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    def test_fatal(self) -> None:
        """Final errors end the membership, with messages that say what to do."""
        for code, words in (
            (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "partition.assignment.strategy"),
            (ErrorCode.INVALID_SESSION_TIMEOUT, "session.timeout.ms=10000"),
            (ErrorCode.GROUP_MAX_SIZE_REACHED, "group.max.size"),
            (ErrorCode.FENCED_INSTANCE_ID, "group.instance.id=one"),
            (ErrorCode.GROUP_AUTHORIZATION_FAILED, "group authorization failed"),
            (ErrorCode.UNSUPPORTED_VERSION, "too old"),
        ):
            member = Alone(group_instance_id="one")
            member.subscribe("t")
            member.answer(JoinGroupResponse(error_code=code))
            (error,) = member.errors
            assert isinstance(error, RequestError)
            self.assertEqual((error.code, member.state), (code, State.CLOSED))
            self.assertIn(words, str(error))
            self.assertTrue(member.idle)
            self.assertIs(member.machine.error, error)

    def test_retried(self) -> None:
        """Retriable errors are followed by another attempt after a growing pause."""
        member = Alone()
        member.subscribe("t")
        pauses = []
        for _ in range(4):
            member.answer(JoinGroupResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
            pauses.append(member.machine.deadline_ms - member.world.now_ms)
            member.pass_ms(pauses[-1])
        self.assertEqual(pauses, [100, 200, 400, 800])
        self.assertEqual((len(member.sent(JoinGroupRequest)), member.forgot), (5, 0))
        member.join()
        member.sync()
        member.answer(SyncGroupResponse())
        self.assertEqual(member.state, State.STABLE)

    def test_coordinator_moves(self) -> None:
        """The coordinator is looked up again if it has moved or cannot be reached."""
        for step in ("join", "sync"):
            member = Alone()
            member.subscribe("t")
            if step == "sync":
                member.join()
            kind = JoinGroupResponse if step == "join" else SyncGroupResponse
            member.answer(kind(error_code=ErrorCode.NOT_COORDINATOR))
            self.assertEqual((member.forgot, member.state), (1, State.UNJOINED))
            member.pass_ms(100)
            member.refuse(ConnectionFailed("gone"))
            self.assertEqual((member.forgot, member.state), (2, State.UNJOINED))
            member.pass_ms(200)
            self.assertEqual(member.state, State.JOINING)

    def test_broken(self) -> None:
        """An error other than retriable network errors ends the membership."""
        member = Alone()
        member.subscribe("t")
        member.refuse(RequestError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "no"))
        self.assertEqual(str(member.errors[0]), "no")
        member = Alone()
        member.subscribe("t")
        member.refuse(ZeroDivisionError("x"))
        self.assertIn("ZeroDivisionError", str(member.errors[0]))

    def test_unknown_in_join(self) -> None:
        """An unknown member id is dropped, and a new one requested."""
        member = Alone()
        member.subscribe("t")
        member.answer(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me"))
        self.assertEqual(member.last.member_id, "me")
        member.answer(JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        self.assertEqual(member.last.member_id, "")

    def test_illegal_in_sync(self) -> None:
        """A member that syncs for an ended generation joins again with its member id."""
        member = Alone()
        member.subscribe("t")
        member.join()
        member.answer(SyncGroupResponse(error_code=ErrorCode.ILLEGAL_GENERATION))
        self.assertEqual((member.last.member_id, member.state), ("me", State.JOINING))

    def test_not_at_once_for_ever(self) -> None:
        """A coordinator that always makes the member join again is asked with pauses."""
        member = Alone()
        member.subscribe("t")
        for _ in range(10):
            if member.state is State.JOINING:
                member.answer(JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        self.assertEqual(len(member.sent(JoinGroupRequest)), 4)
        self.assertGreater(member.machine.deadline_ms, member.world.now_ms)

    def test_rebalance_in_sync(self) -> None:
        """A rebalance that begins before the assignment makes the member join again."""
        member = Alone()
        member.subscribe("t")
        member.join()
        member.answer(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        self.assertEqual(member.state, State.JOINING)

    def test_stale_answers(self) -> None:
        """A response to a request that was given up is ignored."""
        member = Alone()
        member.subscribe("t")
        member.refuse(ConnectionFailed("gone"))
        member.join()
        self.assertEqual(member.state, State.UNJOINED)
