"""Tests of kafkatx.cli.messages.produce: lines, and how they become messages."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Writer
from kafkatx.cli.messages import produce
from kafkatx.errors import KafkaTXError
from kafkatx.records.conversion import iter_any
from tests.blocking.fakes import FakeCluster, Log


def lines_of(pieces: list[bytes]) -> list[bytes]:
    """The lines of what arrives in these pieces."""
    rest = [piece for piece in pieces if piece]
    blocks = produce.line_blocks(lambda: rest.pop(0) if rest else b"", lambda amount: None)
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
        self.patch(produce, "LONGEST_LINE_BYTES", 100)
        self.assertRaises(KafkaTXError, lines_of, [b"x" * 60] * 3)

    def test_progress(self) -> None:
        """Every byte read is reported."""
        amounts: list[float] = []
        rest = [b"ab\n", b"c"]
        list(produce.line_blocks(lambda: rest.pop(0) if rest else b"", amounts.append))
        self.assertEqual(amounts, [3, 1])


class SendTests(SynchronousTestCase):
    def sent(self, lines: list[bytes], separator: bytes | None, headers: bool) -> list[object]:
        """(key, value, headers) of what arrives in the log."""
        fake = FakeCluster({"t": [Log()]})
        with Writer(fake.client(), "t") as writer:
            produce.send(writer, lines, separator, None, [("h", b"1")] if headers else [])
        data = b"".join(fake.topics["t"][0].batches)
        return [(record.key, record.value, record.headers) for record in iter_any(data)]

    def test_values(self) -> None:
        """Without a separator a line is the value, whatever is in it."""
        self.assertEqual(self.sent([b"a:b", b""], None, False), [(None, b"a:b", []), (None, b"", [])])

    def test_keys(self) -> None:
        """The first separator ends the key; a line without one has no key; both may be empty."""
        got = self.sent([b"k:v:w", b"novalue:", b":nokey", b"plain"], b":", False)
        self.assertEqual(
            got, [(b"k", b"v:w", []), (b"novalue", b"", []), (b"", b"nokey", []), (None, b"plain", [])]
        )

    def test_headers(self) -> None:
        """Each message has the headers."""
        self.assertEqual(self.sent([b"v"], None, True), [(None, b"v", [("h", b"1")])])
