"""The contract of a group's assignors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zope.interface.verify import verifyObject

from kafkatx.clientcore.group.assignors import Assignor, Member, assignors_of
from kafkatx.clientcore.group.assignors.validation import validate_assignment
from kafkatx.interfaces import IAssignor
from kafkatx.types import TopicPartition

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

TOPICS = {"a": 5, "b": 3}
MOST_ROUNDS = 5

Owned = dict[str, tuple[TopicPartition, ...]]


class AssignorContract(_Case):
    """For an :class:`~kafkatx.interfaces.IAssignor`."""

    leaves_out = False
    """True if it may leave partitions without an owner though their topic has subscribers."""

    def make_assignor(self) -> IAssignor:
        """Return the assignor to be tested."""
        raise NotImplementedError

    def rebalanced(self, topics: Mapping[str, set[str]], owned: Owned) -> Owned:
        """Return each member's partitions after assigning again for as long as some are held back to move."""
        (assignor,) = assignors_of(self.make_assignor())
        for generation in range(1, MOST_ROUNDS):
            before, owned = owned, self._round(assignor, topics, owned, generation)
            moved = any(set(owned[member]) ^ set(before.get(member, ())) for member in topics)
            if not (assignor.cooperative and moved):
                return owned
        raise AssertionError(f"partitions still move after {MOST_ROUNDS - 1} rebalances")

    def _round(
        self, assignor: Assignor, topics: Mapping[str, set[str]], owned: Owned, generation: int
    ) -> Owned:
        members = {}
        for member_id, wanted in topics.items():
            had = owned.get(member_id)
            members[member_id] = Member(
                member_id,
                frozenset(wanted),
                owned=had if had and assignor.cooperative else (),
                generation=generation if had else -1,
                user_data=assignor.user_data(had, generation if had else -1) or b"",
            )
        given = assignor.assign(members, TOPICS)
        validate_assignment(assignor, members, TOPICS, given)
        backwards = dict(reversed(members.items()))
        again = assignor.assign(backwards, TOPICS)
        found = {member_id: tuple(given.get(member_id, ())) for member_id in topics}
        for member_id, places in found.items():
            self.assertEqual(set(again.get(member_id, ())), set(places), "the order of members matters")
        return found

    def assert_all_given(self, owned: Owned, *topics: str) -> None:
        """Check that every partition of these topics has an owner, where none may be held back."""
        if not self.leaves_out:
            every = {TopicPartition(topic, n) for topic in topics for n in range(TOPICS[topic])}
            self.assertEqual({at for places in owned.values() for at in places}, every)

    def test_shape(self) -> None:
        """Check that it has the attributes of IAssignor, and that settings accept it."""
        made = self.make_assignor()
        self.assertTrue(verifyObject(IAssignor, made, tentative=True))
        (assignor,) = assignors_of(made)
        self.assertTrue(assignor.name and isinstance(assignor.name, str))
        for told in (assignor.user_data(None, -1), assignor.user_data((TopicPartition("a", 0),), 3)):
            self.assertIsInstance(told, (bytes, type(None)))

    def test_alone(self) -> None:
        """Check that a single member gets all that it subscribes to, and nothing else."""
        owned = self.rebalanced({"one": {"a"}}, {})
        self.assert_all_given(owned, "a")

    def test_shared(self) -> None:
        """Check that several members share, whatever they subscribe to; a topic that does not exist has no
        owner.
        """
        wanted = {"one": {"a", "b", "gone"}, "two": {"a"}, "three": {"b"}, "idle": set[str]()}
        self.assert_all_given(self.rebalanced(wanted, {}), "a", "b")

    def test_comes_and_goes(self) -> None:
        """Check that every partition has a current member as owner after one joins, and after one leaves."""
        both = {"a", "b"}
        owned = self.rebalanced({"one": both, "two": both}, {})
        owned = self.rebalanced({"one": both, "two": both, "three": both}, owned)
        self.assert_all_given(owned, "a", "b")
        owned = self.rebalanced({"two": both, "three": both}, owned)
        self.assert_all_given(owned, "a", "b")

    def test_no_subscribers(self) -> None:
        """Check that partitions of topics without subscribers have no owner."""
        self.assertEqual(self.rebalanced({"one": set()}, {}), {"one": ()})
