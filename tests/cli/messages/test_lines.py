"""Tests of kafkatx.cli.messages.lines: input becomes lines, and lines become keys and values."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.messages import lines
from kafkatx.cli.messages.lines import LineFormat
from kafkatx.errors import KafkaTXError


def lines_of(pieces: list[bytes]) -> list[bytes]:
    """The lines of what arrives in these pieces."""
    rest = [piece for piece in pieces if piece]
    blocks = lines.line_blocks(lambda: rest.pop(0) if rest else b"", lambda amount: None)
    return [line for block in blocks for line in block]


class LineTests(SynchronousTestCase):
    def test_lines(self) -> None:
        """Newlines go, empty lines stay, the last line needs no newline, other bytes are left alone."""
        self.assertEqual(lines_of([b"a\n\nb\r\n\0\xff\nlast"]), [b"a", b"", b"b\r", b"\0\xff", b"last"])
        self.assertEqual(lines_of([b"a\n"]), [b"a"])
        self.assertEqual(lines_of([b"\n"]), [b""])
        self.assertEqual(lines_of([]), [])

    @settings(deadline=None, max_examples=200)
    @given(st.lists(st.text("a\n", max_size=6)))
    def test_any_pieces(self, texts: list[str]) -> None:
        """However the bytes are cut into reads, the lines are the same."""
        pieces = [text.encode() for text in texts]
        whole = b"".join(pieces)
        expected = whole.split(b"\n")
        if not expected[-1]:
            expected.pop()
        self.assertEqual(lines_of(pieces), expected)

    def test_endless_line(self) -> None:
        """A line without end is refused before it has eaten the memory."""
        self.patch(lines, "LONGEST_LINE_BYTES", 100)
        self.assertRaises(KafkaTXError, lines_of, [b"x" * 60] * 3)

    def test_progress(self) -> None:
        """Every byte read is reported."""
        amounts: list[float] = []
        rest = [b"ab\n", b"c"]
        list(lines.line_blocks(lambda: rest.pop(0) if rest else b"", amounts.append))
        self.assertEqual(amounts, [3, 1])


class FormatTests(SynchronousTestCase):
    def test_value(self) -> None:
        """Without a separator a line is a value without a key, whatever is in it."""
        self.assertTrue(LineFormat().plain)
        self.assertEqual(LineFormat().parse(b"a:b"), (None, b"a:b"))

    def test_key(self) -> None:
        """The first separator ends the key; a line without one has no key."""
        found = LineFormat(b":")
        self.assertFalse(found.plain)
        self.assertEqual(found.parse(b"k:v:w"), (b"k", b"v:w"))
        self.assertEqual(found.parse(b"plain"), (None, b"plain"))

    def test_key_required(self) -> None:
        """A line without the separator is an error if keys are required, as with Kafka's tool."""
        found = LineFormat(b"\t", key_required=True)
        self.assertEqual(found.parse(b"k\tv"), (b"k", b"v"))
        self.assertRaises(KafkaTXError, found.parse, b"plain")

    def test_null_marker(self) -> None:
        """A key or a value that equals the marker is null."""
        found = LineFormat(b":", null_marker=b"NULL")
        self.assertEqual(found.parse(b"k:NULL"), (b"k", None))
        self.assertEqual(found.parse(b"NULL:v"), (None, b"v"))
