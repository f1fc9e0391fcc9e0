"""Tests of kafkatx.cli.output.terminal."""

from __future__ import annotations

import os
import sys

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.output import terminal
from tests.cli.command_case import Terminal


class TerminalCase(SynchronousTestCase):
    def setUp(self) -> None:
        """stdout and stderr in memory, no terminals."""
        self.use_streams()

    def use_streams(self, tty: bool = False) -> None:
        """Make stdout and stderr new, as terminals or not."""
        self.out, self.err = Terminal(tty), Terminal(tty)
        self.patch(sys, "stdout", self.out)
        self.patch(sys, "stderr", self.err)


class HintTests(TerminalCase):
    def test_only_at_a_terminal(self) -> None:
        """A hint is for a person: a program gets none."""
        terminal.hint("there are no topics")
        self.assertEqual(self.err.text(), "")
        self.use_streams(tty=True)
        terminal.hint("there are no topics")
        self.assertEqual(self.err.text(), "there are no topics\n")


class ConfirmTests(TerminalCase):
    def test_yes(self) -> None:
        """--yes answers the question."""
        terminal.confirm("Delete?", yes=True)

    def test_nobody_there(self) -> None:
        """Without a terminal --yes is needed."""
        self.patch(sys, "stdin", Terminal())
        self.assertRaises(click.UsageError, terminal.confirm, "Delete?", yes=False)


class PasswordTests(TerminalCase):
    def test_asked(self) -> None:
        """A terminal is asked on stderr, and nothing else is."""
        self.patch(sys, "stdin", Terminal())
        self.assertIsNone(terminal.ask_password("Password"))
        self.patch(sys, "stdin", Terminal(tty=True))
        self.patch(click.termui, "hidden_prompt_func", lambda prompt: "secret")
        self.assertEqual(terminal.ask_password("Password"), "secret")
        self.assertEqual((self.out.text(), "secret" in self.err.text()), ("", False))


class RowsTests(TerminalCase):
    def test_header(self) -> None:
        """Column names are printed only on request, without their endings and spaces."""
        terminal.print_rows([("t", 1)])
        terminal.print_rows([("t", 1)], ["topic", "leader epoch#"])
        self.assertEqual(self.out.text(), "t\t1\ntopic\tleader_epoch\nt\t1\n")

    def test_table_at_widths(self) -> None:
        """A table is as wide as COLUMNS says, and its numbers are whole."""
        for width in ("50", "80", "140"):
            self.patch(os, "environ", {**os.environ, "COLUMNS": width})
            self.use_streams()
            terminal.print_table(["topic", "offset#"], [["t" * 200, 2**62]])
            lines = self.out.text().splitlines()
            self.assertLessEqual(max(map(len, lines)), int(width))
            self.assertIn(str(2**62), self.out.text())


class JsonTests(TerminalCase):
    def test_bytes(self) -> None:
        """Text is text, other bytes are base64 under another name, null is null."""
        self.assertEqual(terminal.json_bytes("key", "ö".encode()), {"key": "ö"})
        self.assertEqual(terminal.json_bytes("key", b"\xff"), {"key_base64": "/w=="})
        self.assertEqual(terminal.json_bytes("key", None), {"key": None})
