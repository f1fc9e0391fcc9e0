"""The assignors: every partition is assigned, to subscribers only, evenly, and few partitions move."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.assignment import balance
from kafkatx.group.consumer.assignment.assignors import ASSIGNORS, Subscriber, ranges, uniform
from kafkatx.group.consumer.assignment.partitions import Assignment

TOPICS = [uuid.UUID(int=number) for number in range(1, 7)]

partitions = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 12))
names = st.sampled_from([f"m{number}" for number in range(8)])
mixed = st.dictionaries(names, st.frozensets(st.sampled_from(TOPICS)))


@st.composite
def alike(draw: st.DrawFn) -> dict[str, frozenset[uuid.UUID]]:
    """Draw members that all have the same subscription."""
    topics = draw(st.frozensets(st.sampled_from(TOPICS)))
    return dict.fromkeys(draw(st.sets(names, min_size=1)), topics)


def subscribers(
    wanted: Mapping[str, frozenset[uuid.UUID]], previous: Mapping[str, Assignment] | None = None
) -> dict[str, Subscriber]:
    """Return members with these subscriptions and previous assignments."""
    had = previous or {}
    return {member: Subscriber(None, topics, had.get(member, {})) for member, topics in wanted.items()}


def flat(assigned: Mapping[str, Assignment]) -> dict[tuple[uuid.UUID, int], str]:
    """Return the owner of each partition; fail if a partition has two."""
    found: dict[tuple[uuid.UUID, int], str] = {}
    for member, assignment in assigned.items():
        for topic, numbers in assignment.items():
            assert numbers, "no topic of an assignment is without partitions"
            for number in numbers:
                assert (topic, number) not in found
                found[topic, number] = member
    return found


def load(assignment: Assignment) -> int:
    """Return the number of partitions."""
    return sum(map(len, assignment.values()))


def check_valid(
    assigned: Mapping[str, Assignment],
    wanted: Mapping[str, frozenset[uuid.UUID]],
    counts: Mapping[uuid.UUID, int],
) -> None:
    """Check that exactly the partitions of subscribed topics are assigned, each to a subscriber."""
    assert set(assigned) == set(wanted)
    owners = flat(assigned)
    expected = {
        (topic, number)
        for topic, count in counts.items()
        if any(topic in topics for topics in wanted.values())
        for number in range(count)
    }
    assert set(owners) == expected
    assert all(topic in wanted[member] for (topic, _), member in owners.items())


def most_even(assigned: Mapping[str, Assignment], wanted: Mapping[str, frozenset[uuid.UUID]]) -> bool:
    """Return True if no chain of members leads to one with at least two partitions fewer."""
    for giver in assigned:
        reached, todo = {giver}, [giver]
        while todo:
            topics = set(assigned[todo.pop()])
            new = [member for member in wanted if member not in reached and wanted[member] & topics]
            reached.update(new)
            todo += new
        if any(load(assigned[giver]) - load(assigned[member]) >= 2 for member in reached):
            return False
    return True


class EveryAssignorTests(SynchronousTestCase):
    @given(mixed, partitions)
    @settings(deadline=None, max_examples=100)
    def test_valid(self, wanted: dict[str, frozenset[uuid.UUID]], counts: dict[uuid.UUID, int]) -> None:
        """Every partition is assigned once, to a subscriber of its topic."""
        for assign in ASSIGNORS.values():
            check_valid(assign(subscribers(wanted), counts), wanted, counts)

    @given(mixed, partitions, mixed, partitions)
    @settings(deadline=None, max_examples=100)
    def test_again(
        self,
        before: dict[str, frozenset[uuid.UUID]],
        counts_before: dict[uuid.UUID, int],
        wanted: dict[str, frozenset[uuid.UUID]],
        counts: dict[uuid.UUID, int],
    ) -> None:
        """Any previous assignment gives a valid one, and an unchanged group an unchanged one."""
        for assign in ASSIGNORS.values():
            previous = assign(subscribers(before), counts_before)
            assigned = assign(subscribers(wanted, previous), counts)
            check_valid(assigned, wanted, counts)
            self.assertEqual(assign(subscribers(wanted, assigned), counts), assigned)

    def test_nobody(self) -> None:
        """A group without members has an empty assignment."""
        for assign in ASSIGNORS.values():
            self.assertEqual(assign({}, {TOPICS[0]: 3}), {})


class UniformTests(SynchronousTestCase):
    @given(alike(), partitions)
    @settings(deadline=None, max_examples=100)
    def test_even(self, wanted: dict[str, frozenset[uuid.UUID]], counts: dict[uuid.UUID, int]) -> None:
        """Members with the same subscription differ by at most one partition."""
        loads = [load(assignment) for assignment in uniform(subscribers(wanted), counts).values()]
        self.assertLessEqual(max(loads) - min(loads), 1)

    @given(mixed, partitions, mixed)
    @settings(deadline=None, max_examples=200)
    def test_most_even(
        self,
        before: dict[str, frozenset[uuid.UUID]],
        counts: dict[uuid.UUID, int],
        wanted: dict[str, frozenset[uuid.UUID]],
    ) -> None:
        """Members with different subscriptions are as even as passing on partitions can make them."""
        previous = uniform(subscribers(before), counts)
        self.assertTrue(most_even(uniform(subscribers(wanted, previous), counts), wanted))

    @given(alike(), partitions, names)
    @settings(deadline=None, max_examples=100)
    def test_one_joins(
        self, wanted: dict[str, frozenset[uuid.UUID]], counts: dict[uuid.UUID, int], name: str
    ) -> None:
        """A new member causes no moves other than the partitions that it gets."""
        wanted.pop(name, None)
        if not wanted:
            return
        topics = next(iter(wanted.values()))
        before = uniform(subscribers(wanted), counts)
        after = uniform(subscribers({**wanted, name: topics}, before), counts)
        owners = flat(before)
        moved = {one for one, owner in flat(after).items() if owners[one] != owner}
        self.assertEqual(len(moved), load(after[name]))

    @given(alike(), partitions, names)
    @settings(deadline=None, max_examples=100)
    def test_one_leaves(
        self, wanted: dict[str, frozenset[uuid.UUID]], counts: dict[uuid.UUID, int], name: str
    ) -> None:
        """A leaving member causes no moves other than the partitions that it had."""
        before = uniform(subscribers(wanted), counts)
        wanted.pop(name, None)
        if not wanted:
            return
        after = flat(uniform(subscribers(wanted, before), counts))
        moved = {one for one, owner in flat(before).items() if after[one] != owner}
        self.assertEqual(len(moved), load(before.get(name, {})))

    def test_chain(self) -> None:
        """Partitions move between two members that only a third one connects."""
        a, b = TOPICS[:2]
        wanted = {"x": frozenset({a}), "y": frozenset({a, b}), "z": frozenset({b})}
        previous = {"x": {a: frozenset({0, 1, 2})}, "y": {b: frozenset({0, 1})}, "z": {}}
        assigned = uniform(subscribers(wanted, previous), {a: 3, b: 2})
        self.assertEqual(sorted(map(load, assigned.values())), [1, 2, 2])
        self.assertEqual(load(assigned["x"]), 2)

    def test_large(self) -> None:
        """A new member gets its share of ten thousand partitions in few steps."""
        counts = {uuid.UUID(int=number): 100 for number in range(1, 101)}
        topics = frozenset(counts)
        members = {f"m{number:03}": topics for number in range(99)}
        before = uniform(subscribers(members), counts)
        after = uniform(subscribers({**members, "new": topics}, before), counts)
        self.assertEqual({load(assignment) for assignment in after.values()}, {100})

    def test_out_of_steps(self) -> None:
        """A group that is too large to be balanced in time gets a valid assignment."""
        self.patch(balance, "MOST_STEPS", 3)
        wanted = dict.fromkeys(("a", "b", "c"), frozenset(TOPICS))
        counts = dict.fromkeys(TOPICS, 10)
        previous = {"a": {topic: frozenset(range(10)) for topic in TOPICS}}
        assigned = uniform(subscribers(wanted, previous), counts)
        check_valid(assigned, wanted, counts)
        self.assertGreater(max(map(load, assigned.values())), 20)


class RangeTests(SynchronousTestCase):
    def test_ranges(self) -> None:
        """Each member gets a range of each topic; the first ones get one partition more."""
        a, b = TOPICS[:2]
        wanted = dict.fromkeys(("m1", "m0", "m2"), frozenset({a, b}))
        assigned = ranges(subscribers(wanted), {a: 7, b: 2})
        self.assertEqual(
            assigned,
            {
                "m0": {a: frozenset({0, 1, 2}), b: frozenset({0})},
                "m1": {a: frozenset({3, 4}), b: frozenset({1})},
                "m2": {a: frozenset({5, 6})},
            },
        )

    @given(alike(), st.integers(0, 12))
    @settings(deadline=None, max_examples=50)
    def test_partitioned_alike(self, wanted: dict[str, frozenset[uuid.UUID]], count: int) -> None:
        """Partitions of one number go to one member if the topics have as many partitions."""
        assigned = ranges(subscribers(wanted), dict.fromkeys(TOPICS, count))
        for assignment in assigned.values():
            self.assertLessEqual(len(set(assignment.values())), 1)

    def test_instances_first(self) -> None:
        """Static members come first, by instance id, so that they keep their ranges when they come back."""
        topic = TOPICS[0]
        wanted = frozenset({topic})
        members = {
            "a": Subscriber(None, wanted),
            "z": Subscriber("i0", wanted),
            "b": Subscriber("i1", wanted),
        }
        assigned = ranges(members, {topic: 3})
        self.assertEqual([assigned[one][topic] for one in ("z", "b", "a")], [{0}, {1}, {2}])
