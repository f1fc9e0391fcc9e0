"""Deletions, configurations and modes: what they write, and what they refuse."""

from __future__ import annotations

from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry import changes
from kafkatx.registry.errors import RegistryError
from kafkatx.registry.scopes import mode_of
from kafkatx.schemas.types import Reference, Schema
from tests.registry.machine import Machine, compacted, replayed

A, B, C = '{"a": false}', '{"b": false}', '{"c": false}'


class ChangesCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a registry with one subject of three versions."""
        self.machine = Machine()
        for text in (A, B, C):
            self.machine.register("s", text)

    def refused(self, code: int, subject: str, version: int | None = None, permanent: bool = False) -> None:
        """Check that a deletion fails with a code, and leaves no record."""
        before = len(self.machine.log)
        error = self.assertRaises(RegistryError, self.machine.delete, subject, version, permanent)
        self.assertEqual((error.code, len(self.machine.log)), (code, before))

    def numbers(self, deleted: bool = False) -> list[int]:
        """Return the versions of the subject."""
        return [stored.version for stored in self.machine.state.versions("s", deleted)]


class DeletionTests(ChangesCase):
    def test_subject(self) -> None:
        """A soft deletion is one record; a permanent one removes every version after it."""
        self.refused(40405, "s", permanent=True)
        self.assertEqual(self.machine.delete("s"), [1, 2, 3])
        self.assertEqual((self.numbers(), self.numbers(True)), ([], [1, 2, 3]))
        self.refused(40404, "s")
        self.assertEqual(self.machine.delete("s", permanent=True), [1, 2, 3])
        self.refused(40401, "s")
        self.assertEqual(self.machine.state.subjects, {})

    def test_version(self) -> None:
        """One version is deleted softly, then for good; ``latest`` is the last that is not deleted."""
        self.assertEqual(self.machine.delete("s", -1), 3)
        self.assertEqual(self.numbers(), [1, 2])
        self.refused(40406, "s", 3)
        self.refused(40407, "s", 2, permanent=True)
        self.refused(40402, "s", 9)
        self.refused(40401, "t", 1)
        self.assertEqual(self.machine.delete("s", 3, permanent=True), 3)
        self.assertEqual(self.numbers(True), [1, 2])

    def test_content_goes(self) -> None:
        """A schema is found by its id until its last version is gone for good."""
        self.machine.delete("s", 1)
        self.assertIsNotNone(self.machine.state.content(1))
        self.machine.delete("s", 1, permanent=True)
        self.assertIsNone(self.machine.state.content(1))

    def test_highest_id(self) -> None:
        """The highest id is noted when its schema goes, and only then."""
        self.machine.delete("s", 1)
        self.machine.delete("s", 1, permanent=True)
        self.assertFalse(any(b"NOOP" in key for key, _ in self.machine.log))
        self.machine.delete("s")
        self.machine.delete("s", permanent=True)
        self.assertEqual(replayed(compacted(self.machine.log, tombstones=False)).max_id, 3)

    def test_referenced(self) -> None:
        """A version that others refer to is not deleted; for good also not if the others are deleted."""
        self.machine.register("t", Schema("{}", references=(Reference("n", "s", 2),)))
        self.refused(42206, "s", 2)
        self.refused(42206, "s")
        self.machine.delete("s", 1)
        self.machine.delete("t")
        self.machine.delete("s", 2)
        self.refused(42206, "s", 2, permanent=True)
        self.machine.delete("t", permanent=True)
        self.machine.delete("s", 2, permanent=True)

    def test_scope_goes(self) -> None:
        """Configuration and mode of a subject go with its last version."""
        self.machine.configure("s", compatibility="NONE")
        self.machine.set_mode("s", "READWRITE")
        self.machine.delete("s")
        self.machine.delete("s", permanent=True)
        self.assertEqual((self.machine.state.configs, self.machine.state.modes), ({}, {}))

    def test_read_only(self) -> None:
        """A read-only subject is not deleted."""
        self.machine.set_mode("s", "READONLY")
        self.refused(42205, "s")
        self.refused(42205, "s", 1)


class ConfigTests(ChangesCase):
    def test_merged(self) -> None:
        """A change leaves other members; null removes one; the answer has the request's names."""
        answer = self.machine.configure("s", compatibility="full", alias="t", unknown=1)
        self.assertEqual(answer, {"alias": "t", "compatibility": "FULL"})
        self.machine.configure("s", alias=None, normalize=True)
        expected = {"normalize": True, "compatibilityLevel": "FULL"}
        self.assertEqual(dict(self.machine.state.configs["s"]), expected)

    def test_unknown_level(self) -> None:
        """An unknown level is refused."""
        levels: tuple[object, ...] = ("SIDEWAYS", 5, [])
        for level in levels:
            error = self.assertRaises(RegistryError, self.machine.configure, "s", compatibility=level)
            self.assertEqual(error.code, 42203)

    def test_deleted(self) -> None:
        """A deletion answers what there was; a subject without a configuration has none to delete."""
        command = partial(changes.delete_config, default_level="BACKWARD")
        error = self.assertRaises(RegistryError, self.machine.change, partial(command, subject="s"))
        self.assertEqual(error.code, 40401)
        self.machine.configure("", compatibility="FULL")
        self.assertEqual(self.machine.change(partial(command, subject="")), {"compatibilityLevel": "FULL"})
        self.assertEqual(
            self.machine.change(partial(command, subject="")), {"compatibilityLevel": "BACKWARD"}
        )


class ModeTests(ChangesCase):
    def test_unknown(self) -> None:
        """Modes are those of Confluent's registry but FORWARD."""
        for mode in ("FORWARD", "x", None, 1):
            error = self.assertRaises(RegistryError, self.machine.set_mode, "s", mode)
            self.assertEqual(error.code, 42204)
        self.assertEqual(self.machine.set_mode("s", "readonly"), {"mode": "READONLY"})

    def test_import_of_a_used_subject(self) -> None:
        """An import begins only where nothing is, unless it is forced; deleted versions are forgotten."""
        for scope in ("s", ""):
            error = self.assertRaises(RegistryError, self.machine.set_mode, scope, "IMPORT")
            self.assertEqual(error.code, 42205)
        self.machine.set_mode("s", "IMPORT", force=True)
        self.assertEqual(self.numbers(), [1, 2, 3])
        self.machine.set_mode("s", "READWRITE")
        self.machine.delete("s")
        self.machine.set_mode("s", "IMPORT")
        self.assertEqual(self.machine.state.subjects, {})
        self.assertEqual(self.machine.state.max_id, 3)

    def test_deleted(self) -> None:
        """A deleted mode gives way to the wider one."""
        self.machine.set_mode("", "READONLY")
        self.machine.set_mode("s", "READWRITE")
        answer = self.machine.change(partial(changes.delete_mode, subject="s"))
        self.assertEqual(answer, {"mode": "READWRITE"})
        self.assertEqual(mode_of(self.machine.state, "s"), "READONLY")
        error = self.assertRaises(
            RegistryError, self.machine.change, partial(changes.delete_mode, subject="s")
        )
        self.assertEqual(error.code, 40401)
