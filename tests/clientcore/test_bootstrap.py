"""Tests of kafkatx.clientcore.bootstrap."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.bootstrap import format_address, parse_bootstrap
from kafkatx.errors import SettingError


class BootstrapTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """A port may be missing, IPv6 has brackets, spaces and empty entries do not matter."""
        self.assertEqual(
            parse_bootstrap("a:1, b,[::1]:3,[::2],::3,"),
            [("a", 1), ("b", 9092), ("::1", 3), ("::2", 9092), ("::3", 9092)],
        )
        self.assertEqual(parse_bootstrap(["a:1", "b:2"]), [("a", 1), ("b", 2)])

    def test_bad_forms(self) -> None:
        """An invalid HOST:PORT is refused with a message that quotes it."""
        for text in ("a:b", ":9092", "a:0", "a:65536", "[::1", "[::1]9092", "a:-1", "a:²"):
            error = self.assertRaises(SettingError, parse_bootstrap, text)
            self.assertIn(repr(text), str(error))
        self.assertRaises(SettingError, parse_bootstrap, " , ")

    def test_shown(self) -> None:
        """An address is formatted so that it can be parsed again."""
        for text in ("a:1", "[::1]:3"):
            self.assertEqual([format_address(address) for address in parse_bootstrap(text)], [text])
