"""The state is what the records say: read again, also compacted, they give the same."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry.errors import RegistryError
from kafkatx.registry.records import ClearSubjectRecord, DeleteSubjectRecord, OtherRecord
from kafkatx.schemas.types import Reference, Schema
from tests.registry.machine import Machine, compacted, facts, replayed

SUBJECTS = st.sampled_from(["s", "t", ":.c:s"])
TEXTS = st.sampled_from(['{"a": true}', '{ "a": true}', '{"b": false}', '{"c": 1, "a": true}', "{}"])
VERSIONS = st.integers(1, 4)
STEPS = st.one_of(
    st.tuples(st.just("register"), SUBJECTS, TEXTS),
    st.tuples(st.just("refer"), SUBJECTS, SUBJECTS, VERSIONS),
    st.tuples(st.just("delete"), SUBJECTS, st.none() | VERSIONS, st.booleans()),
    st.tuples(st.just("configure"), SUBJECTS | st.just(""), st.sampled_from(["NONE", "FULL", None])),
    st.tuples(st.just("mode"), SUBJECTS | st.just(""), st.sampled_from(["IMPORT", "READWRITE", "READONLY"])),
    st.tuples(st.just("import"), SUBJECTS, TEXTS, st.integers(1, 6), VERSIONS),
)


def take(machine: Machine, step: tuple[object, ...]) -> None:
    """Make one step; the registry may refuse it."""
    kind, subject, *rest = step
    assert isinstance(subject, str)
    if kind == "register":
        machine.register(subject, str(rest[0]))
    elif kind == "refer":
        reference = Reference("n", str(rest[0]), int(str(rest[1])))
        machine.register(subject, Schema('{"r": false}', references=(reference,)))
    elif kind == "delete":
        version = rest[0]
        assert version is None or isinstance(version, int)
        machine.delete(subject, version, bool(rest[1]))
    elif kind == "configure":
        machine.configure(subject, compatibility=rest[0])
    elif kind == "mode":
        machine.set_mode(subject, str(rest[0]))
    else:
        machine.register(subject, str(rest[0]), id=rest[1], version=rest[2])


class ReplayTests(SynchronousTestCase):
    @settings(max_examples=150, deadline=None)
    @given(st.lists(STEPS, max_size=30))
    def test_any_history(self, steps: list[tuple[object, ...]]) -> None:
        """The records give the same state again; so do those that compaction leaves."""
        machine = Machine()
        for step in steps:
            with contextlib.suppress(RegistryError):
                take(machine, step)
        expected = facts(machine.state)
        self.assertEqual(facts(replayed(machine.log)), expected)
        for tombstones in (True, False):
            self.assertEqual(facts(replayed(compacted(machine.log, tombstones))), expected)

    @settings(max_examples=50, deadline=None)
    @given(st.lists(STEPS, max_size=30), st.integers(0, 30))
    def test_compacted_in_the_middle(self, steps: list[tuple[object, ...]], where: int) -> None:
        """A log whose first part was compacted leads to the same state."""
        machine = Machine()
        for step in steps:
            with contextlib.suppress(RegistryError):
                take(machine, step)
        log = compacted(machine.log[:where], tombstones=True) + machine.log[where:]
        self.assertEqual(facts(replayed(log)), facts(machine.state))


class StateTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a registry with two versions of a subject."""
        self.machine = Machine()
        for text in ('{"a": 1}', '{"b": 1}'):
            self.machine.register("s", text)

    def test_deleted_up_to(self) -> None:
        """A deletion of a subject deletes the versions up to its number, not later ones."""
        self.machine.state.apply(DeleteSubjectRecord("s", 1))
        self.assertEqual([one.version for one in self.machine.state.versions("s")], [2])

    def test_cleared(self) -> None:
        """Clearing removes what is deleted, and nothing else."""
        self.machine.delete("s", 1)
        self.machine.state.apply(ClearSubjectRecord("s"))
        self.assertEqual([one.version for one in self.machine.state.versions("s", True)], [2])

    def test_others(self) -> None:
        """Records of other types, and deletions of what is not there, change nothing."""
        expected = facts(self.machine.state)
        for record in (OtherRecord("CONTEXT"), DeleteSubjectRecord("x", 4), ClearSubjectRecord("x")):
            self.machine.state.apply(record)
        self.assertEqual(facts(self.machine.state), expected)

    def test_replaced(self) -> None:
        """A version that is written again with another schema loses the old one everywhere."""
        other = Machine()
        other.register("s", '{"z": 1}')
        self.machine.append(other.log)
        self.assertEqual(self.machine.state.users(1), [("s", 1)])
        content = self.machine.state.content(1)
        assert content is not None
        self.assertEqual(content.schema.text, '{"z": 1}')

    def test_referrers(self) -> None:
        """Referrers are found by version; one that refers to the latest is found at the latest."""
        self.machine.register("t", Schema("{}", references=(Reference("n", "s", -1),)))
        state = self.machine.state
        self.assertEqual([one.subject for one in state.referrers("s", 2)], ["t"])
        self.assertEqual(list(state.referrers("s", 1)), [])
        self.machine.delete("t")
        self.assertEqual(list(state.referrers("s", 2)), [])
        self.assertEqual(len(list(state.referrers("s", 2, deleted=True))), 1)
