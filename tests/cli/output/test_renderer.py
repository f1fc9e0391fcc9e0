"""Tests of kafkatx.cli.output.renderer."""

from __future__ import annotations

import base64
import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Columns
from kafkatx.cli.output.renderer import BadFormat, FormatRenderer, JsonRenderer, ValueRenderer, unescape

ROWS = Columns(
    [5, 6],
    [1700, -1],
    [1, -1],
    [b"key", None],
    [b"value\xff", None],
    [[("a", b"1"), ("b", None)], []],
)


def formatted(text: str, columns: Columns = ROWS) -> bytes:
    return FormatRenderer(text, "topic").render(3, columns)


class FormatTests(SynchronousTestCase):
    def test_letters(self) -> None:
        """Each of kcat's letters gives its field; a null is nothing, and its length -1."""
        for letter, expected in (
            ("%t", b"topictopic"),
            ("%p", b"33"),
            ("%o", b"56"),
            ("%k|", b"key||"),
            ("%K|", b"3|-1|"),
            ("%s|", b"value\xff||"),
            ("%S|", b"6|-1|"),
            ("%R", b"\0\0\0\6\xff\xff\xff\xff"),
            ("%T|", b"1700|-1|"),
            ("%h|", b"a=1,b=NULL||"),
            ("%%", b"%%"),
        ):
            self.assertEqual(formatted(letter), expected, letter)

    def test_text_and_escapes(self) -> None:
        """Text stands as it is, escapes for their bytes; an escape never makes a letter."""
        one = Columns(*(column[:1] for column in ROWS))  # type: ignore[arg-type]  # a list of lists
        self.assertEqual(formatted(r"é %o\t\x00\\n\x25o\n", one), b"\xc3\xa9 5\t\0\\n%o\n")

    def test_unknown_letter(self) -> None:
        """A letter that stands for nothing is refused, and so is a lonely per cent sign."""
        for text in ("%z", "100%"):
            self.assertRaises(BadFormat, FormatRenderer, text, "t")

    def test_empty(self) -> None:
        """An empty format prints nothing, and no rows print nothing."""
        self.assertEqual(formatted(""), b"")
        self.assertEqual(formatted("%o", Columns.empty()), b"")


class ValueTests(SynchronousTestCase):
    def test_values(self) -> None:
        """Each value has its delimiter; a null is an empty line."""
        self.assertEqual(ValueRenderer(b"\n").render(0, ROWS), b"value\xff\n\n")
        self.assertEqual(ValueRenderer(b"\n").render(0, Columns.empty()), b"")


class JsonTests(SynchronousTestCase):
    def test_envelope(self) -> None:
        """The names are kcat's; bytes that are not UTF-8 are base64; missing fields are left out or null."""
        first, second = JsonRenderer("topic", {3: 9}).render(3, ROWS).splitlines()
        self.assertEqual(
            first,
            b'{"topic":"topic","partition":3,"offset":5,"tstype":"logappend","ts":1700,"broker":9,'
            b'"headers":["a","1","b",null],"key":"key","payload_base64":"dmFsdWX/"}',
        )
        self.assertEqual(
            json.loads(second),
            {"topic": "topic", "partition": 3, "offset": 6, "broker": 9, "key": None, "payload": None},
        )

    @settings(deadline=None, max_examples=100)
    @given(st.binary())
    def test_any_bytes(self, payload: bytes) -> None:
        """Each row is one line of valid UTF-8 without lone surrogates, the bytes as text or base64."""
        columns = Columns([0], [0], [0], [None], [payload], [[]])
        line = JsonRenderer("t", {}).render(0, columns)
        self.assertEqual(line.count(b"\n"), 1)
        row = json.loads(line.decode("utf-8"))
        json.dumps(row, ensure_ascii=False).encode("utf-8")
        found = row["payload"].encode() if "payload" in row else base64.b64decode(row["payload_base64"])
        self.assertEqual(found, payload)

    def test_header(self) -> None:
        """The value of a header that is not UTF-8 is an object with base64."""
        columns = Columns([0], [0], [0], [b"\xfe"], [None], [[("h", b"\xff")]])
        row = json.loads(JsonRenderer("t", {}).render(0, columns))
        self.assertEqual(row["headers"], ["h", {"base64": "/w=="}])
        self.assertEqual((row["key_base64"], row["payload"]), ("/g==", None))
        self.assertNotIn("key", row)


class UnescapeTests(SynchronousTestCase):
    def test_escapes(self) -> None:
        """Known escapes become their bytes; an unknown one is the character itself."""
        self.assertEqual(unescape(r"\n\r\t\\\x41\x9\q"), b"\n\r\t\\A\tq")
