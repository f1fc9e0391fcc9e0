"""Members of consumer groups: their states, memory, and the end of a rebalance."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.group.consumer.member import Classic, Current, MemberState, Metadata


class MemberStateTests(SynchronousTestCase):
    def test_known(self) -> None:
        """The numbers of records are those of the states."""
        for state in MemberState:
            self.assertIs(MemberState.of(state.value), state)

    def test_unknown(self) -> None:
        """A number of a later version is UNKNOWN."""
        self.assertIs(MemberState.of(5), MemberState.UNKNOWN)


class MetadataTests(SynchronousTestCase):
    def test_held_bytes(self) -> None:
        """Everything that a member sends counts: names, its expression, and protocols of a classic one."""
        empty = Metadata().held_bytes
        self.assertGreaterEqual(Metadata(topic_names=frozenset({"t" * 500})).held_bytes - empty, 500)
        self.assertGreaterEqual(Metadata(topic_regex="t" * 500).held_bytes - empty, 500)
        classic = Classic(10_000, (("range", b"m" * 500),))
        self.assertGreaterEqual(Metadata(classic=classic).held_bytes - empty, 500)


class CurrentTests(SynchronousTestCase):
    def test_has_reached(self) -> None:
        """A target is reached in its epoch only, and only if no partition is missing or to be revoked."""
        self.assertTrue(Current(3).has_reached(3))
        self.assertFalse(Current(3).has_reached(4))
        for state in (MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS):
            self.assertFalse(Current(3, state=state).has_reached(3))
