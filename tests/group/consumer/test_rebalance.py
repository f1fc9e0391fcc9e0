"""The steps of a consumer group's rebalance: epochs, targets, current assignments, static members."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.consumer.assignment.partitions import NOTHING
from kafkatx.group.consumer.deadlines import Wait
from kafkatx.group.consumer.member import Current, MemberState, Metadata
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.settings import GroupSettings
from tests.group.consumer.driver import cluster, topic

T = topic("t", 4)


def wanted(instance: str | None, assignor: str | None) -> Metadata:
    """Return the metadata of a member that subscribes to ``t``."""
    return Metadata(
        instance,
        rebalance_timeout_ms=60_000,
        topic_names=frozenset({"t"}),
        server_assignor=assignor,
    )


class RebalanceTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group over a topic with four partitions."""
        self.settings, self.cluster = GroupSettings(consumer_max_size=2), cluster(T)
        self.rebalance = Rebalance("g", lambda: self.settings, lambda: self.cluster, lambda: 0)
        self.state = self.rebalance.state

    def update(
        self, member_id: str, owned: range, instance: str | None = None, assignor: str | None = None
    ) -> Current:
        """Update a member that owns the partitions in *owned*, and commit that."""
        parts = {T.topic_id: frozenset(owned)} if owned else NOTHING
        current = self.rebalance.update_member(member_id, wanted(instance, assignor), parts, 0)
        self.state.commit()
        for call in self.rebalance.later:
            call()
        self.rebalance.later.clear()
        return current

    def numbers(self, current: Current) -> set[int]:
        """Return the numbers of the assigned partitions."""
        return set(current.assigned.get(T.topic_id, ()))

    def test_first(self) -> None:
        """The first member gets all partitions in the first epoch."""
        current = self.update("a", range(0))
        self.assertEqual(
            (current.epoch, self.state.assignment_epoch, self.numbers(current)), (1, 1, {*range(4)})
        )

    def test_second(self) -> None:
        """A second member gets nothing before the first has revoked its share, then its own share."""
        self.update("a", range(0))
        self.assertEqual(self.numbers(self.update("b", range(0))), set())
        first = self.update("a", range(4))
        self.assertEqual((first.state, len(self.numbers(first))), (MemberState.UNREVOKED_PARTITIONS, 2))
        self.update("a", range(min(self.numbers(first)), max(self.numbers(first)) + 1))
        second = self.update("b", range(0))
        self.assertEqual(self.numbers(second), {*range(4)} - self.numbers(first))

    def test_deadline(self) -> None:
        """A member that has to revoke partitions has its rebalance time-out for it."""
        self.update("a", range(0))
        self.update("b", range(0))
        self.update("a", range(4))
        self.assertEqual(self.rebalance.deadlines.expire(60_000), {"a": Wait.REVOCATION})

    def test_no_change(self) -> None:
        """An update that changes nothing leaves the epochs as they are."""
        self.update("a", range(0))
        self.update("a", range(4))
        self.assertEqual(self.state.epoch, 1)

    def test_topic_grows(self) -> None:
        """New partitions of a subscribed topic increase the epoch."""
        self.update("a", range(0))
        self.cluster = cluster(topic("t", 5))
        current = self.update("a", range(4))
        self.assertEqual((self.state.epoch, self.numbers(current)), (2, {*range(5)}))

    def test_full(self) -> None:
        """A group of the largest size takes no new member, and keeps the others."""
        self.update("a", range(0))
        self.update("b", range(0))
        self.rebalance.check_room("a")
        error = self.assertRaises(RequestError, self.rebalance.check_room, "c")
        self.assertEqual(error.code, ErrorCode.GROUP_MAX_SIZE_REACHED)

    def test_static(self) -> None:
        """A static member is known by both ids; with a former id it is fenced."""
        self.update("a", range(0), instance="i")
        self.rebalance.replace_static("a", "a2")
        self.state.commit()
        self.rebalance.static_member("i", "a2")
        error = self.assertRaises(RequestError, self.rebalance.static_member, "i", "a")
        self.assertEqual(error.code, ErrorCode.FENCED_INSTANCE_ID)
        current = self.state.current_of("a2")
        self.assertEqual((current.epoch, self.numbers(current)), (0, {*range(4)}))

    def test_unknown(self) -> None:
        """Members and instances that are not there are errors."""
        for call in (lambda: self.rebalance.member("x"), lambda: self.rebalance.static_member("i", "x")):
            self.assertEqual(self.assertRaises(RequestError, call).code, ErrorCode.UNKNOWN_MEMBER_ID)

    def test_fence(self) -> None:
        """Removed members leave their partitions to the others."""
        self.update("a", range(0))
        self.update("b", range(0))
        self.rebalance.fence(["a"])
        self.state.commit()
        self.assertEqual(self.numbers(self.update("b", range(0))), {*range(4)})

    def test_assignor(self) -> None:
        """The assignor is that of most members, or the first of the settings."""
        self.assertEqual(self.rebalance.assignor, "uniform")
        self.update("a", range(0), assignor="range")
        self.assertEqual(self.rebalance.assignor, "range")
