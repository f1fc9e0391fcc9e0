"""Conversion of a group with members between the classic protocol and KIP-848."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.errors import ErrorCode
from kafkatx.group.protocol import (
    ConsumerProtocolAssignment,
    TopicPartitions,
    encode_assignment,
)
from kafkatx.wire import codec
from kafkatx.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkatx.wire.messages.leave_group import MemberIdentity
from kafkatx.wire.messages.sync_group import SyncGroupRequestAssignment
from tests.group.consumer.driver import (
    CLASSIC_SESSION_MS,
    CLIENT,
    REBALANCE_MS,
    SESSION_MS,
    Flat,
    MixedTestCase,
    t,
)

ALL = t(0, 1, 2, 3, 4, 5)
REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS


def assignment(*numbers: int) -> bytes:
    """Return the assignment of partitions of t, as a leader encodes it."""
    return encode_assignment([("t", numbers)], 1)


class ConvertTestCase(MixedTestCase):
    def setUp(self) -> None:
        """Begin with a classic group without members."""
        super().setUp()
        self.settings = attrs.evolve(self.settings, initial_rebalance_delay_ms=100)
        self.group = self.new_classic()

    def make_classic(self, *assigned: bytes, **fields: Any) -> list[str]:
        """Fill the classic group with members that have these assignments; return their ids."""
        ids = ["" if "group_instance_id" in fields else self.classic_join().member_id for _ in assigned]
        waiting = [self.send_join(member_id, **fields) for member_id in ids]
        self.pass_time(200)
        joined = [self.answers[token] for token in waiting]
        ids, self.generation = [one.member_id for one in joined], joined[0].generation_id
        shares = [SyncGroupRequestAssignment(one, data) for one, data in zip(ids, assigned, strict=True)]
        named = {
            "group_instance_id": fields.get("group_instance_id"),
            "protocol_type": fields.get("protocol_type", "consumer"),
            "protocol_name": "range",
        }
        for member_id in sorted(ids, key=lambda one: one == joined[0].leader):
            self.sync(member_id, self.generation, shares if member_id == joined[0].leader else (), **named)
        self.assertEqual(self.group.state, "Stable")
        return ids

    def upgrade(self, member_id: str = "n", **fields: Any) -> Any:
        """Join a member of KIP-848 as the broker's handler does; return the response."""
        defaults = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": ["t"]}
        request = ConsumerGroupHeartbeatRequest(
            "g", member_id, 0, topic_partitions=[], **{**defaults, **fields}
        )
        classic, new, token = self.group, self.new_group(), object()
        self.perform(new, new.take_over(classic, request, 1, CLIENT, token, self.now_ms))
        return self.answers.get(token)


class UpTests(ConvertTestCase):
    def test_empty(self) -> None:
        """An empty classic group is replaced, whatever the policy."""
        self.settings = attrs.evolve(self.settings, migration_policy="disabled")
        self.group = self.new_classic()
        response = self.upgrade()
        self.assertEqual((response.error_code, self.assigned(response)), (0, ALL))
        self.assertEqual(self.group.kind, "consumer")
        self.assertEqual(self.log[b"\0\2\0\1g"], None)

    def test_members_stay(self) -> None:
        """Members keep their partitions and are told to join again; no partition has two owners meanwhile."""
        one, two = self.make_classic(assignment(0, 1, 2), assignment(3, 4, 5))
        response = self.upgrade()
        self.assertEqual((response.error_code, self.assigned(response)), (0, set()))
        self.assertEqual((self.group.kind, self.group.state), ("consumer", "Reconciling"))
        self.assertEqual(self.log[b"\0\2\0\1g"], None)
        owned: dict[str, Flat] = {one: t(0, 1, 2), two: t(3, 4, 5)}
        for member_id, had in owned.items():
            self.assertEqual(self.beat(member_id, self.generation), REBALANCE)
            joined = self.classic_join(member_id, owned=had)
            kept = self.synced(member_id, joined.generation_id)
            self.assertLess(kept, had)
            self.classic_join(member_id, owned=kept)
            owned[member_id] = kept
        response = self.send("n", response.member_epoch)
        self.assertEqual(self.assigned(response), ALL - owned[one] - owned[two])
        self.assertEqual(self.group.state, "Stable")

    def test_sessions_go_on(self) -> None:
        """Members that are silent after the conversion are removed when their sessions end."""
        self.make_classic(assignment(0, 1, 2, 3, 4, 5))
        epoch = self.upgrade().member_epoch
        self.pass_time(CLASSIC_SESSION_MS)
        self.assertEqual([m.member_id for m in self.group.consumer_describe().members], ["n"])
        self.assertEqual(self.assigned(self.send("n", epoch)), ALL)

    def test_who_waits(self) -> None:
        """A member that waits for the classic group's rebalance is told to join again."""
        self.make_classic(assignment(0, 1, 2, 3, 4, 5))
        token = self.send_join(self.classic_join().member_id)
        self.assertNotIn(token, self.answers)
        self.upgrade()
        self.assertEqual(self.answers[token].error_code, REBALANCE)

    def test_refused(self) -> None:
        """A refused conversion leaves the group as it was."""
        for settings, why in (
            ({"migration_policy": "downgrade"}, "because online upgrade is disabled."),
            ({"migration_policy": "disabled"}, "because online upgrade is disabled."),
            ({"consumer_max_size": 0}, "because the group size exceeds the consumer group maximum size."),
        ):
            self.group = self.new_classic()
            (one,) = self.make_classic(assignment(1))
            before, self.settings = self.settings, attrs.evolve(self.settings, **settings)
            message = self.refused(ErrorCode.GROUP_ID_NOT_FOUND, self.upgrade())
            self.assertEqual(message, f"Cannot upgrade classic group g to consumer group {why}")
            self.settings = before
            self.assertEqual((self.group.kind, self.beat(one, self.generation)), ("classic", 0))

    def test_not_consumers(self) -> None:
        """Groups of other protocol types, or whose bytes cannot be read, stay classic."""
        custom = ConsumerProtocolAssignment([TopicPartitions("t", [1])], b"mine")
        for assigned, fields, why in (
            (assignment(1), {"protocol_type": "connect"}, "does not use the consumer embedded protocol."),
            (b"\0\1\0\0\0\x09", {}, "the embedded consumer protocol is malformed."),
            (b"\0\1" + codec.encode(custom, 1), {}, "an unsupported custom assignor is in use."),
        ):
            self.group = self.new_classic()
            self.make_classic(assigned, **fields)
            self.assertIn(why, self.refused(ErrorCode.GROUP_ID_NOT_FOUND, self.upgrade()))
            self.assertEqual(self.group.kind, "classic")

    def test_invalid_request(self) -> None:
        """An invalid request converts nothing."""
        self.make_classic(assignment(1))
        self.refused(ErrorCode.UNSUPPORTED_ASSIGNOR, self.upgrade(server_assignor="x"))
        self.refused(ErrorCode.INVALID_REGULAR_EXPRESSION, self.upgrade(subscribed_topic_regex="("))
        self.assertEqual(self.group.kind, "classic")

    def test_not_written(self) -> None:
        """The group stays classic, and continues, if the conversion cannot be written."""
        (one,) = self.make_classic(assignment(1))
        before = dict(self.log)
        self.store_error = ErrorCode.NOT_COORDINATOR
        self.refused(ErrorCode.NOT_COORDINATOR, self.upgrade())
        self.assertEqual((self.group.kind, self.log), ("classic", before))
        self.assertEqual(self.beat(one, self.generation), 0)

    def test_two_owners(self) -> None:
        """A partition that the leader assigned twice stays with its first owner until the next target."""
        one, two = self.make_classic(assignment(0, 1, 2), assignment(2, 3, 4, 5))
        self.upgrade()
        owners = {m.member_id: m.assignment.topic_partitions[0].partitions for m in self.members()}
        self.assertEqual(owners, {one: [0, 1, 2], two: [3, 4, 5]})

    def members(self) -> list[Any]:
        """Return the members that have partitions."""
        return [m for m in self.group.consumer_describe().members if m.assignment.topic_partitions]

    def test_static_comes_up(self) -> None:
        """A static classic member that comes back with KIP-848 takes its former place."""
        self.group = self.new_classic()
        self.make_classic(assignment(0, 1, 2, 3, 4, 5), group_instance_id="i")
        response = self.upgrade(instance_id="i")
        self.assertEqual((response.error_code, self.assigned(response)), (0, ALL))
        self.assertEqual([m.member_id for m in self.group.consumer_describe().members], ["n"])

    def test_after_restart(self) -> None:
        """A restart loads the converted group."""
        (one,) = self.make_classic(assignment(0, 1, 2, 3, 4, 5))
        self.upgrade()
        before = self.group.consumer_describe()
        self.restart_mixed()
        self.assertEqual(self.group.consumer_describe(), before)
        self.pass_time(CLASSIC_SESSION_MS - 1)
        self.assertEqual(self.beat(one, self.generation), REBALANCE)
        self.pass_time(CLASSIC_SESSION_MS)
        self.assertEqual([m.member_id for m in self.group.consumer_describe().members], ["n"])
        self.restart()
        self.pass_time(CLASSIC_SESSION_MS)
        self.assertTrue(self.group.has_members)

    def test_silent_after_restart(self) -> None:
        """A classic member's own session time-out also holds after a restart."""
        self.make_classic(assignment(0, 1, 2, 3, 4, 5))
        self.upgrade()
        self.restart_mixed()
        self.pass_time(CLASSIC_SESSION_MS)
        self.assertEqual([m.member_id for m in self.group.consumer_describe().members], ["n"])

    def restart_mixed(self) -> None:
        """Restart, after a check that the classic group's record is a tombstone."""
        self.assertIsNone(self.log.pop(b"\0\2\0\1g"))
        self.restart()


class DownTests(ConvertTestCase):
    def setUp(self) -> None:
        """Make a group with a member of each protocol."""
        super().setUp()
        (self.classic_id,) = self.make_classic(assignment(0, 1, 2, 3, 4, 5))
        self.epoch = self.upgrade().member_epoch

    def back(self) -> None:
        """Check that the group is classic again by its record, and rebalances with the remaining member."""
        self.assertEqual((self.group.kind, self.group.state), ("classic", "PreparingRebalance"))
        self.assertEqual(list(self.group.members), [self.classic_id])
        left = {int.from_bytes(key[:2], "big") for key, value in self.log.items() if value is not None}
        self.assertEqual(left, {2})
        generation = self.described_generation()
        self.assertEqual(self.beat(self.classic_id, generation), REBALANCE)

    def described_generation(self) -> int:
        """Return the present generation of the remaining member."""
        generation: int = self.group.generation
        return generation

    def test_last_leaves(self) -> None:
        """The group is classic again after the last member of KIP-848 left; members keep their partitions."""
        response = self.send("n", -1)
        self.assertEqual((response.error_code, response.member_epoch), (0, -1))
        self.back()
        self.assertLess(self.read(self.group.members[self.classic_id].assignment), ALL)

    def test_last_expires(self) -> None:
        """The group is classic again after the session of the last member of KIP-848 ended."""
        for _ in range(SESSION_MS // 1000 + 1):
            self.pass_time(1000)
            if self.group.kind == "consumer":
                self.beat(self.classic_id, self.described(self.classic_id).member_epoch)
        self.back()

    def test_goes_on(self) -> None:
        """The classic group then rebalances as any other."""
        self.send("n", -1)
        token = self.send_join(self.classic_id)
        self.pass_time(200)
        joined = self.answers[token]
        self.assertEqual((joined.error_code, joined.leader), (0, self.classic_id))
        self.assertGreater(joined.generation_id, self.epoch)

    def test_not_allowed(self) -> None:
        """The group stays a consumer group of classic members if the policy forbids the conversion."""
        for policy in ("upgrade", "disabled"):
            self.settings = attrs.evolve(self.settings, migration_policy=policy)
        self.send("n", -1)
        self.assertEqual(self.group.kind, "consumer")
        joined = self.classic_join(self.classic_id, owned=ALL)
        self.assertEqual(self.synced(self.classic_id, joined.generation_id), ALL)

    def test_too_large(self) -> None:
        """A group that is too large for a classic group stays a consumer group."""
        self.settings = attrs.evolve(self.settings, max_size=0)
        self.send("n", -1)
        self.assertEqual(self.group.kind, "consumer")

    def test_not_written(self) -> None:
        """A conversion that cannot be written changes nothing, and the member may leave again."""
        before = self.group.consumer_describe()
        self.store_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, self.send("n", -1))
        self.assertEqual(self.group.consumer_describe(), before)
        self.store_error = ErrorCode.NONE
        self.send("n", -1)
        self.back()

    def test_classic_leaves(self) -> None:
        """The group stays a consumer group after its classic members left, even if it is empty."""
        self.leave(MemberIdentity(self.classic_id))
        self.assertEqual(self.group.kind, "consumer")
        self.send("n", -1)
        self.assertEqual((self.group.kind, self.group.state), ("consumer", "Empty"))

    def test_static_goes_down(self) -> None:
        """A classic member that takes the place of the last member of KIP-848 joins a classic group."""
        self.send("n", -1)
        self.group = self.new_classic()
        self.make_classic(assignment(0, 1, 2, 3, 4, 5))
        self.upgrade(instance_id="i")
        (static,) = (m for m in self.group.consumer_describe().members if m.instance_id)
        self.send(static.member_id, -2, instance_id="i")
        token = self.send_join("", group_instance_id="i")
        self.assertEqual(self.group.kind, "classic")
        self.assertEqual(len(self.group.members), 2)
        self.assertEqual({key[:2] for key, value in self.log.items() if value is not None}, {b"\0\2"})
        self.assertNotIn(token, self.answers)
        others = [one for one, member in self.group.members.items() if not member.is_static]
        self.send_join(others[0])
        self.pass_time(200)
        self.assertEqual(self.answers[token].error_code, 0)


class EmptyTests(ConvertTestCase):
    def test_classic_joins(self) -> None:
        """A classic member that joins an empty consumer group makes it a classic group."""
        self.group = self.new_group()
        self.joined("a")
        self.send("a", -1)
        response = self.classic_join()
        self.assertEqual((self.group.kind, response.error_code), ("classic", ErrorCode.MEMBER_ID_REQUIRED))
        self.assertEqual({value for key, value in self.log.items() if key[:2] != b"\0\2"}, {None})

    def test_old_member(self) -> None:
        """A join with a member id that is unknown is refused, and does not convert the group."""
        self.group = self.new_group()
        self.joined("a")
        self.send("a", -1)
        self.assertEqual(self.classic_join("x").error_code, ErrorCode.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.group.kind, "consumer")

    def test_not_written(self) -> None:
        """The join is refused, and the group stays a consumer group, if the conversion cannot be written."""
        self.group = self.new_group()
        self.joined("a")
        self.send("a", -1)
        self.store_error = ErrorCode.NOT_COORDINATOR
        self.assertEqual(self.classic_join().error_code, ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.group.kind, "consumer")
