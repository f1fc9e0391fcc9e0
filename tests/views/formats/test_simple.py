"""The formats that need nothing but the bytes."""

from __future__ import annotations

import base64
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.filter.operators import UNDECODED
from kafkatx.views.formats.simple import SIMPLE, recognized, unreadable

SLOW = [HealthCheck.too_slow]


class SimpleTests(SynchronousTestCase):
    def test_formats(self) -> None:
        """Each format has a value for filters and a text for people."""
        for name, data, value, text in (
            ("text", "é".encode(), "é", "é"),
            ("text", b"", "", ""),
            ("json", b' {"a": 1.0}', {"a": 1.0}, ' {"a": 1.0}'),
            ("json", b"12345678901234567890", 12345678901234567890, "12345678901234567890"),
            ("hex", b"\x00\xff", "00ff", "00ff"),
            ("base64", b"\x00\xff", "AP8=", "AP8="),
            ("int", b"\xff\xff\xff\xfe", -2, "-2"),
            ("long", b"\0\0\0\1\0\0\0\0", 1 << 32, "4294967296"),
        ):
            found = SIMPLE[name](data)
            self.assertEqual((found.format, found.value, found.text), (name, value, text))
            self.assertEqual((found.size, found.fault), (len(data), ""))

    def test_faults(self) -> None:
        """Bytes that a format cannot read are shown otherwise, and that is said."""
        found = SIMPLE["text"](b"a\xff")
        self.assertEqual((found.text, found.format), ("a\ufffd", "text"))
        self.assertIn("byte 1 is not UTF-8", found.fault)
        found = SIMPLE["json"](b"{a}")
        self.assertEqual((found.text, found.format), ("{a}", "text"))
        self.assertIn("it is no JSON", found.fault)
        found = SIMPLE["long"](b"\1\2")
        self.assertEqual((found.text, found.format), ("0102", "hex"))
        self.assertIn("long has 8 bytes, this has 2", found.fault)
        for hostile in (b"[" * 100_000, b"1" * 5000, b'{"a":' * 50_000):
            self.assertTrue(SIMPLE["json"](hostile).fault)

    def test_recognized(self) -> None:
        """Objects and lists are JSON; numbers and words stay text; what is no text is hexadecimal."""
        for data, name in (
            (b'{"a": 1}', "json"),
            (b" [1]", "json"),
            (b"{a}", "text"),
            (b"17", "text"),
            (b'"a"', "text"),
            (b"null", "text"),
            (b"two\nlines\twith tabs\r\n", "text"),
            (b"a\0b", "hex"),
            (b"\0\0\0\0\0\0\0\1", "hex"),
            (b"\xff", "hex"),
            (b"", "text"),
        ):
            found = recognized(data)
            self.assertEqual((found.format, found.fault), (name, ""), data)

    @settings(deadline=None, suppress_health_check=SLOW)
    @given(st.binary(max_size=50))
    def test_any_bytes(self, data: bytes) -> None:
        """No bytes are an error, and those that are shown as they are can be had back."""
        for decode in (*SIMPLE.values(), recognized):
            found = decode(data)
            text = found.text or ""
            if found.format == "hex":
                self.assertEqual(bytes.fromhex(text), data)
            elif found.format == "base64":
                self.assertEqual(base64.b64decode(text), data)
            elif found.format == "json":
                self.assertEqual(json.loads(data), json.loads(text))
            elif found.format == "text" and not found.fault:
                self.assertEqual(text.encode(), data)

    def test_unreadable(self) -> None:
        """Bytes that a format cannot read are shown, and no filter sees them."""
        found = unreadable(b"abc", "why")
        self.assertEqual((found.text, found.fault), ("abc", "why"))
        self.assertIs(found.value, UNDECODED)
