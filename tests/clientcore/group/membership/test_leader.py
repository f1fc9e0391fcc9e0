"""Tests of kafkatx.clientcore.group.membership.leader."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.assignors import Assignor
from kafkatx.clientcore.group.membership import State
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.join_group import (
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kafkatx.wire.messages.sync_group import SyncGroupRequest
from tests.clientcore.group.membership.alone import Alone
from tests.clientcore.group.membership.world import NOW_MS


class LeaderTests(SynchronousTestCase):
    def elect(self, member: Alone, *metadata: bytes, skip: bool = False) -> None:
        """Answer a JoinGroup: the member leads, and others have this metadata."""
        member.subscribe("t")
        own = member.last.protocols[0].metadata
        members = [JoinGroupResponseMember("me", None, own)]
        members += [JoinGroupResponseMember(f"m{n}", None, data) for n, data in enumerate(metadata)]
        member.answer(
            JoinGroupResponse(
                generation_id=1,
                protocol_type="consumer",
                protocol_name=member.last.protocols[0].name,
                leader="me",
                member_id="me",
                members=members,
                skip_assignment=skip,
            )
        )

    def test_assigns(self) -> None:
        """The leader requests the topics of all, watches them, and sends all assignments."""
        member = Alone()
        member.world.topics["u"] = 1
        self.elect(member, b"\0\0\0\0\0\1\0\1u\xff\xff\xff\xff")
        self.assertEqual(member.watched, {"t", "u"})
        self.assertEqual(member.looks[0].topics, {"t", "u"})
        said = {a.member_id: a.assignment for a in member.last.assignments}
        self.assertEqual(said["m0"], b"\0\1\0\0\0\1\0\1u\0\0\0\1\0\0\0\0\xff\xff\xff\xff")
        self.assertEqual(len(said), 2)

    def test_malformed(self) -> None:
        """A member with an unreadable subscription gets no partitions; the others are not affected."""
        member = Alone()
        self.elect(member, b"\0\1\0\0")
        said = {a.member_id: a.assignment for a in member.last.assignments}
        self.assertEqual(said["m0"], b"\0\1\0\0\0\0\xff\xff\xff\xff")
        self.assertTrue(any(tell.warn and tell.values["other"] == "m0" for tell in member.told))

    def test_skip(self) -> None:
        """A static leader that comes back to a stable group assigns nothing, and watches (KIP-814)."""
        member = Alone(group_instance_id="one")
        self.elect(member, skip=True)
        self.assertEqual(member.last.assignments, [])
        member.sync(0, 1)
        member.do(member.machine.metadata_changed({"t": 3}, NOW_MS))
        self.assertEqual((member.state, member.last.reason), (State.JOINING, "cached metadata has changed"))

    def test_broken_assignor(self) -> None:
        """An assignor that fails ends the membership with its error."""

        def fail(members: Any, partitions: Any) -> Any:
            raise LookupError("oops")

        member = Alone(assignors=(Assignor("own", fail),))
        self.elect(member)
        self.assertEqual(member.state, State.CLOSED)
        self.assertIn("the assignor own failed: LookupError('oops')", str(member.errors[0]))

    def test_wrong_assignor(self) -> None:
        """An invalid assignment ends the membership with the reason, and is not sent."""
        place = TopicPartition("t", 0)
        member = Alone(assignors=(Assignor("own", lambda members, partitions: {"me": [place, place]}),))
        self.elect(member)
        self.assertEqual((member.state, member.sent(SyncGroupRequest)), (State.CLOSED, []))
        self.assertIn("the assignor own is wrong: it assigns t [0] to me, and to me", str(member.errors[0]))

    def test_metadata(self) -> None:
        """The leader rebalances when its group's partition counts change; other topics do not matter."""
        member = Alone()
        self.elect(member)
        member.sync(0, 1)
        for counts in ({"t": 2}, {"t": 2, "u": 7}):
            member.do(member.machine.metadata_changed(counts, NOW_MS))
            self.assertEqual(member.state, State.STABLE)
        member.do(member.machine.metadata_changed({"t": 4}, NOW_MS))
        self.assertEqual(member.state, State.JOINING)

    def test_metadata_of_follower(self) -> None:
        """A follower leaves changed partition counts to the leader."""
        member = Alone().stable(0)
        member.do(member.machine.metadata_changed({"t": 9}, NOW_MS))
        self.assertEqual((member.state, member.watched), (State.STABLE, frozenset()))

    def test_metadata_before_sync(self) -> None:
        """Changes between the assignment and the response count, too."""
        member = Alone()
        self.elect(member)
        member.do(member.machine.metadata_changed({"t": 4}, NOW_MS))
        self.assertEqual(member.state, State.SYNCING)
        member.sync(0, 1)
        member.do(member.machine.metadata_changed({"t": 4}, NOW_MS))
        self.assertEqual(member.state, State.JOINING)

    def test_look_fails(self) -> None:
        """The member joins again after partition counts could not be read."""
        member = Alone()
        member.late_looks = True
        self.elect(member)
        member.do(member.machine.request_failed(member.looks[0].token, ConnectionFailed("x"), NOW_MS))
        self.assertEqual(member.state, State.UNJOINED)
        member.do(member.machine.partition_counts_received(member.looks[0].token, {"t": 2}, NOW_MS))
        self.assertEqual(member.sent(SyncGroupRequest), [])
