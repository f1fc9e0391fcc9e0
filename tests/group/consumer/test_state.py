"""The state of a group: derived values, and that a rollback restores everything."""

from __future__ import annotations

import uuid
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.member import Current, MemberState, Metadata
from kafkatx.group.consumer.records import Change, Kind, Resolved, TopicFacts
from kafkatx.group.consumer.state import GroupState

TOPICS = [uuid.UUID(int=1), uuid.UUID(int=2)]

epochs = st.integers(1, 9)


def pieces(name: str) -> st.SearchStrategy[Change]:
    """Draw changes of a member that has its own instance id and its own partitions, as members do."""
    first = 4 * "abc".index(name)
    numbers = st.frozensets(st.integers(first, first + 3), min_size=1)
    assignments = st.dictionaries(st.sampled_from(TOPICS), numbers)
    return st.one_of(
        changes(Kind.MEMBER, name, st.builds(Metadata, instance_id=st.sampled_from([None, name]))),
        changes(Kind.CURRENT, name, st.builds(Current, epoch=epochs, assigned=assignments)),
        changes(Kind.TARGET, name, assignments),
    )


def changes(kind: Kind, name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Change]:
    """Draw changes of a kind, some of which delete."""
    return st.builds(Change, st.just(kind), st.just(name), st.none() | values)


any_change = st.one_of(
    *map(pieces, "abc"),
    changes(Kind.GROUP_EPOCH, "", epochs),
    changes(Kind.TOPICS, "", st.just({"t": TopicFacts(TOPICS[0], 3)})),
    changes(Kind.TARGET_EPOCH, "", epochs),
    changes(Kind.REGEX, "x", st.just(Resolved(frozenset({"x"})))),
)


def shown(state: GroupState) -> Any:
    """Return everything that can be read from the state."""
    return (
        (state.epoch, state.assignment_epoch, state.name, dict(state.topics)),
        [dict(one) for one in (state.members, state.current, state.target, state.regexes, state.static)],
        [(topic, number) for topic in TOPICS for number in range(12) if state.is_free(topic, number)],
    )


class StateTests(SynchronousTestCase):
    @given(st.lists(any_change, max_size=20), st.lists(any_change, max_size=20))
    @settings(deadline=None, max_examples=300)
    def test_take_back(self, kept: list[Change], taken_back: list[Change]) -> None:
        """A rollback restores the state, in whatever order and however often it changed."""
        state = GroupState()
        for change in kept:
            state.put(*change)
        state.commit()
        before = shown(state)
        for change in taken_back:
            state.put(*change)
        self.assertEqual(state.changes, taken_back)
        state.roll_back()
        self.assertEqual((shown(state), state.changes), (before, []))

    def test_owners(self) -> None:
        """A partition is free if no member has it, or has yet to revoke it."""
        state, topic = GroupState(), TOPICS[0]

        def free() -> list[int]:
            return [number for number in range(4) if state.is_free(topic, number)]

        self.assertEqual(free(), [0, 1, 2, 3])
        unrevoked = MemberState.UNREVOKED_PARTITIONS
        some, one = frozenset({0, 1}), frozenset({2})
        state.put(Kind.CURRENT, "a", Current(1, 0, unrevoked, {topic: some}, {topic: one}))
        self.assertEqual(free(), [3])
        self.assertTrue(state.is_free(TOPICS[1], 0))
        state.put(Kind.CURRENT, "a", Current(1, 0, assigned={topic: one}))
        self.assertEqual(free(), [0, 1, 3])
        state.roll_back()
        self.assertEqual(free(), [0, 1, 2, 3])

    def test_static(self) -> None:
        """An instance id belongs to the member that had it last, until that member is removed."""
        state = GroupState()
        state.put(Kind.MEMBER, "a", Metadata(instance_id="i"))
        state.put(Kind.MEMBER, "b", Metadata(instance_id="i"))
        self.assertEqual(state.static, {"i": "b"})
        state.put(Kind.MEMBER, "a", None)
        self.assertEqual(state.static, {"i": "b"})
        state.put(Kind.MEMBER, "b", Metadata(instance_id="j"))
        self.assertEqual(state.static, {"j": "b"})

    def test_sizes(self) -> None:
        """The sizes of members and resolved expressions are counted until they are deleted or rolled back."""
        state = GroupState()
        state.put(Kind.MEMBER, "a", Metadata(topic_names=frozenset({"t"})))
        member = state.held_bytes
        self.assertGreater(member, 0)
        self.assertEqual(state.bytes_of("a"), member)
        self.assertEqual(state.bytes_of("b"), 0)
        state.commit()
        state.put(Kind.MEMBER, "a", Metadata(topic_names=frozenset({"t" * 100})))
        self.assertEqual(state.held_bytes, member + 99)
        state.put(Kind.REGEX, "x", Resolved(frozenset({"t", "u"}), timestamp_ms=1))
        self.assertGreater(state.held_bytes, member + 99 + 100)
        state.roll_back()
        self.assertEqual(state.held_bytes, member)
        state.put(Kind.MEMBER, "a", None)
        self.assertEqual(state.held_bytes, 0)

    def test_name(self) -> None:
        """The state's name follows from the epochs and from the members' progress."""
        state = GroupState()
        self.assertEqual(state.name, "Empty")
        state.put(Kind.GROUP_EPOCH, "", 2)
        state.put(Kind.MEMBER, "a", Metadata())
        self.assertEqual(state.name, "Assigning")
        state.put(Kind.TARGET_EPOCH, "", 2)
        self.assertEqual(state.name, "Reconciling")
        state.put(Kind.CURRENT, "a", Current(2, 1, MemberState.UNRELEASED_PARTITIONS))
        self.assertEqual(state.name, "Reconciling")
        state.put(Kind.CURRENT, "a", Current(2, 1))
        self.assertEqual(state.name, "Stable")
