"""Java's .properties format."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.properties import format_property, parse_properties, read_properties
from kafkatx.errors import SettingError

READ: tuple[tuple[str, dict[str, str]], ...] = (
    ("", {}),
    ("a=b", {"a": "b"}),
    ("a=b\n", {"a": "b"}),
    ("a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
    ("  a  =  b", {"a": "b"}),
    ("a:b", {"a": "b"}),
    ("a b", {"a": "b"}),
    ("a\tb", {"a": "b"}),
    ("a = b c ", {"a": "b c "}),
    ("a==b", {"a": "=b"}),
    ("a : = b", {"a": "= b"}),
    ("a=b=c:d", {"a": "b=c:d"}),
    ("a", {"a": ""}),
    ("a=", {"a": ""}),
    ("# a=b\n ! c=d\n\n \t\n", {}),
    ("a=b # no comment", {"a": "b # no comment"}),
    ("a=1\na=2", {"a": "2"}),
    ("a=b,\\\n   c,\\\n\td", {"a": "b,c,d"}),
    ("a=b\\\r\n  c", {"a": "bc"}),
    ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
    ("a=b\\\n# c", {"a": "b# c"}),
    ("# a \\\nb=c", {"b": "c"}),
    ("a=b\\", {"a": "b"}),
    ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
    ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
    ("\\#a=b", {"#a": "b"}),
    ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
    ("a=C:\\\\kafka\\\\logs", {"a": "C:\\kafka\\logs"}),
    ("a=\\u00e4\\u20AC", {"a": "ä€"}),
    ("a=\\uD83D\\uDE00", {"a": "😀"}),
    ("a=\\ b", {"a": " b"}),
    ("a=ä😀", {"a": "ä😀"}),
)

BROKEN = (
    ("=b", 1, "has no name"),
    ("a=b\n\n# c\n : d", 4, "has no name"),
    ("a=1\nb=2,\\\n  \\u12\nc=3", 2, "four hexadecimal digits"),
    ("a\\u12g4=b", 1, "four hexadecimal digits"),
    ("a=\\uD83D", 1, "half of a surrogate pair"),
)


class PropertiesTests(SynchronousTestCase):
    """Texts and files."""

    def test_read(self) -> None:
        """Separators, comments, continuations and escapes are read as Java reads them."""
        for text, values in READ:
            self.assertEqual(parse_properties(text, "x"), values, repr(text))

    def test_broken(self) -> None:
        """A broken line is refused with the file and the line on which it begins."""
        for text, line, what in BROKEN:
            message = str(self.assertRaises(SettingError, parse_properties, text, "etc/x"))
            self.assertTrue(message.startswith(f"etc/x:{line}: "), message)
            self.assertIn(what, message)

    @settings(deadline=None, max_examples=200)
    @given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
    def test_round_trip(self, values: dict[str, str]) -> None:
        """A line of format_property() is read back unchanged, for any characters."""
        text = "\n".join(format_property(name, value) for name, value in values.items())
        self.assertEqual(parse_properties(text, "x"), values)

    @settings(deadline=None, max_examples=200)
    @given(st.text("ab=: \\\n\r#!u0\t"))
    def test_any_text(self, text: str) -> None:
        """Any text is read or refused, never anything else; no name is empty."""
        try:
            values = parse_properties(text, "x")
        except SettingError as error:
            self.assertTrue(str(error).startswith("x:"))
        else:
            self.assertNotIn("", values)

    def file(self, data: bytes) -> str:
        """A file with these bytes."""
        path: str = self.mktemp()
        with open(path, "wb") as file:
            file.write(data)
        return path

    def test_encodings(self) -> None:
        """UTF-8, with and without its mark, and ISO-8859-1 are read."""
        for data in ("a=ä".encode(), "\ufeffa=ä".encode(), "a=ä".encode("latin-1")):
            self.assertEqual(read_properties(self.file(data)), {"a": "ä"})

    def test_missing_file(self) -> None:
        """A file that cannot be read is named, with the reason."""
        path = self.mktemp()
        message = str(self.assertRaises(SettingError, read_properties, path))
        self.assertEqual(message, f"{path}: the settings cannot be read: No such file or directory")
