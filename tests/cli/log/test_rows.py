"""Tests of kafkatx.cli.log.rows."""

from __future__ import annotations

import json
import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli import main
from kafkatx.cli.log import rows as log_rows
from kafkatx.cli.log.rows import bytes_text, print_json, print_lines
from kafkatx.log.inspect.rows import KINDS, RecordRow
from tests.cli.log.test_log import CommandCase
from tests.cli.output.test_terminal import TerminalCase
from tests.log.inspect.shared import FIRST


class TableTests(CommandCase):
    def test_terminal(self) -> None:
        """A person gets a table for each file; a long one is drawn in parts."""
        self.patch(log_rows, "ROWS_AT_ONCE", 3)
        # in the environment itself: rich keeps the mapping that it found when it was imported
        before = os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = "200"
        restore = (os.environ.pop, "COLUMNS") if before is None else (os.environ.update, {"COLUMNS": before})
        self.addCleanup(*restore)
        self.use_streams(tty=True)
        self.assertEqual(main.main(["log", "dump", self.directory]), 0)
        text = self.out.text()
        self.assertEqual(text.count(FIRST), 1)
        self.assertEqual(text.count("newest"), 5)  # 3 + 1, 3 + 1 and 2 batches
        self.assertIn("14-15", text)


class BytesTests(SynchronousTestCase):
    def test_bytes(self) -> None:
        """Text is quoted and stays on its line; other bytes are in hexadecimal; null is neither."""
        self.assertEqual([bytes_text(b'a\n"b"'), bytes_text(b"\xff\0"), bytes_text(b"")], [
            '"a\\n\\"b\\""', "x'ff00'", '""',
        ])  # fmt: skip
        self.assertEqual(bytes_text(None), "null")


class BinaryTests(TerminalCase):
    def row(self) -> RecordRow:
        """Return a record with bytes that are not UTF-8."""
        return RecordRow("f", 0, 1, 1700, b"k", b"\0\xff", [("h", b"\xfe")])

    def test_json(self) -> None:
        """Such bytes are base64 under another name."""
        print_json([self.row()], KINDS)
        found = json.loads(self.out.text())
        self.assertEqual((found["key"], found["value_base64"]), ("k", "AP8="))
        self.assertEqual(found["headers"], [{"name": "h", "value_base64": "/g=="}])
        self.assertNotIn("value", found)

    def test_lines(self) -> None:
        """In lines they are hexadecimal."""
        print_lines([self.row()], KINDS)
        self.assertIn("\tvalue=x'00ff'\t", self.out.text())
