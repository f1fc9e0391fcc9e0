"""Configurations and modes by scope."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry.errors import RegistryError
from kafkatx.registry.scopes import check_writable, config_of, level_of, mode_of, parse_level
from kafkatx.schemas.compatibility import CompatibilityLevel
from tests.registry.machine import Machine


class ScopeTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty registry."""
        self.machine = Machine()
        self.state = self.machine.state

    def test_level(self) -> None:
        """The level is the subject's, its context's, that of all, or the default; members are merged."""
        subject = ":.c:s"
        found = [level_of(self.state, subject, "FORWARD")]
        for scope, level in (("", "NONE"), (":.c:", "FULL"), (subject, "BACKWARD")):
            self.machine.configure(scope, compatibility=level)
            found.append(level_of(self.state, subject, "FORWARD"))
        self.assertEqual([one.value for one in found], ["FORWARD", "NONE", "FULL", "BACKWARD"])
        self.machine.configure("", normalize=True)
        self.assertIs(config_of(self.state, subject, "NONE")["normalize"], True)

    def test_parse(self) -> None:
        """A level is read in any case of letters; a number is none."""
        self.assertIs(parse_level("full_transitive"), CompatibilityLevel.FULL_TRANSITIVE)
        values: tuple[object, ...] = ("x", None, 1, {})
        for value in values:
            self.assertRaises(RegistryError, parse_level, value)

    def test_unknown_level(self) -> None:
        """A level that another program has written and this one does not know is an error of the client's."""
        self.state.configs["s"] = {"compatibilityLevel": "SIDEWAYS"}
        self.assertEqual(self.assertRaises(RegistryError, level_of, self.state, "s", "NONE").code, 42203)

    def test_mode(self) -> None:
        """The narrowest mode counts, but for READONLY_OVERRIDE."""
        self.machine.set_mode("", "READONLY")
        self.assertEqual(mode_of(self.state, "s"), "READONLY")
        self.assertRaises(RegistryError, check_writable, self.state, "s")
        self.machine.set_mode("s", "READWRITE")
        check_writable(self.state, "s")
        self.machine.set_mode("", "READONLY_OVERRIDE")
        self.assertEqual(mode_of(self.state, "s"), "READONLY_OVERRIDE")
