"""Java's .properties format, as ``java.util.Properties.load`` reads it. Reads the settings file.

A line is a name and a value, separated by ``=``, ``:`` or white space. ``#`` and ``!`` begin a comment, a
backslash at the end joins the next line, ``\\t \\n \\r \\f \\uXXXX`` are escapes, and a backslash before any
other character is dropped. If a name occurs twice its last value counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkatx.errors import SettingError

_BLANK = " \t\f"
# a name: escaped characters, or any but separators
_NAME = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[^u]|u)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SHOWN = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}


def read_properties(path: str) -> dict[str, str]:
    """Read a file: UTF-8, or ISO-8859-1 as Java before version 9 wrote it.

    :raises SettingError: the file cannot be read, or a line of it is broken.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise SettingError(f"{path}: the settings cannot be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return parse_properties(text, path)


def parse_properties(text: str, source: str) -> dict[str, str]:
    """Parse the text of a file into a mapping.

    :param source: the file's name, for error messages.
    :raises SettingError: a line has no name or a broken ``\\u`` escape; the message begins ``source:line:``.
    """
    values = {}
    for number, line in _logical_lines(text):
        match = _NAME.match(line)
        name = match.group() if match else ""
        rest = line[len(name) :].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        if not name:
            raise SettingError(f"{source}:{number}: {line!r} has no name before its value; write name=value")
        values[_unescape(name, source, number)] = _unescape(rest, source, number)
    return values


def format_property(name: str, value: str) -> str:
    """Return a line, without its end, from which :func:`parse_properties` reads the same name and value."""
    return f"{_escape(name, in_name=True)}={_escape(value, in_name=False)}"


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is not blank or a comment, with its number; continuation lines are joined."""
    first = 0
    parts: list[str] = []
    for number, natural in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        stripped = natural.lstrip(_BLANK)
        if not parts:
            if not stripped or stripped[0] in "#!":
                continue
            first = number
        # an odd number of backslashes at the end: the last one is not escaped
        if (len(stripped) - len(stripped.rstrip("\\"))) % 2:
            parts.append(stripped[:-1])
            continue
        parts.append(stripped)
        yield first, "".join(parts)
        parts = []
    if any(parts):
        yield first, "".join(parts)


def _unescape(text: str, source: str, number: int) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape == "u":
            raise SettingError(f"{source}:{number}: \\u must be followed by four hexadecimal digits")
        if escape[0] == "u":
            return chr(int(escape[1:], 16))
        return _ESCAPED.get(escape, escape)

    plain = _ESCAPE.sub(character, text)
    try:
        # Java's characters are UTF-16: one above U+FFFF is written as two escapes
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise SettingError(f"{source}:{number}: \\u escapes with half of a surrogate pair") from None


def _escape(text: str, in_name: bool) -> str:
    shown = "".join(_SHOWN.get(character, character) for character in text)
    if in_name:
        return re.sub(r"([=: #!])", r"\\\1", shown)
    # blanks before a value would be read as part of the separator
    return re.sub(r"^ +", lambda blanks: "\\ " * len(blanks.group()), shown)
