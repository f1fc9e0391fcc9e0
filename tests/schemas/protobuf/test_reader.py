"""The reader of words."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf.reader import Reader, parse_whole
from kafkatx.schemas.types import InvalidSchema


class ReaderTests(SynchronousTestCase):
    def test_peek(self) -> None:
        """The word after the next can be looked at, also at the end."""
        reader = Reader("a b")
        self.assertEqual((reader.token.text, reader.peek().text), ("a", "b"))
        self.assertEqual([reader.take().text for _ in range(4)], ["a", "b", "the end", "the end"])
        self.assertEqual(reader.peek().kind, "end")

    def test_names(self) -> None:
        """A full name may begin with a dot, and ends where no dot follows."""
        reader = Reader(".a.b c.d;")
        self.assertEqual([reader.full_name(), reader.full_name()], [".a.b", "c.d"])
        self.assertRaises(InvalidSchema, reader.full_name)

    def test_long_names(self) -> None:
        """Names are bounded, alone and together."""
        self.assertEqual(len(Reader("n" * 400).name()), 400)
        for text in ("n" * 401, ".".join("n" * 300)):
            self.assertIn(
                "at most 400 letters", str(self.assertRaises(InvalidSchema, Reader(text).full_name))
            )

    def test_texts(self) -> None:
        """Texts beside each other are one; a name in quotation marks is no symbol."""
        reader = Reader("'a' \"b\" ';'")
        self.assertFalse(reader.accept("'a'"))
        self.assertEqual(reader.unicode(), "ab;")
        self.assertRaises(InvalidSchema, Reader(r"'\xff'").unicode)

    def test_numbers(self) -> None:
        """Whole numbers are decimal, octal or hexadecimal; nothing else is."""
        for text, value in (("0", 0), ("10", 10), ("0x1F", 31), ("017", 15)):
            self.assertEqual(parse_whole(text), value)
        for text in ("08", "0x", "1.0", "1e3", "1_0", "9" * 26, "x"):
            self.assertIsNone(parse_whole(text))
        self.assertEqual(Reader("-5").whole(9), -5)
        self.assertRaises(InvalidSchema, Reader("10").whole, 9)
