"""The words of a .proto file. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import attrs

from kafkatx.schemas.types import InvalidSchema

_TOKEN: Final = re.compile(
    r"""
      (?P<blank>\s+|//[^\n]*)
    | (?P<comment>/\*)
    | (?P<number>\.?[0-9](?:[eE][+-]|[0-9A-Za-z_.])*)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<symbol>[;,.:=(){}\[\]<>/+-])
    """,
    re.VERBOSE,
)

_ESCAPE: Final = re.compile(
    rb"\\(?:([abfnrtv\\'\"?])|([xX][0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.)|\Z)",
    re.DOTALL,
)
_LETTERS: Final = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))


@attrs.frozen
class Token:
    """A word.

    :ivar kind: ``name``, ``number``, ``text`` or ``symbol``; ``end`` after the last one.
    :ivar text: the word as it is written, with its quotation marks.
    :ivar line: its line, from 1 on.
    """

    kind: str
    text: str
    line: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the words of a text, and the end.

    :raises InvalidSchema: there is a letter that begins no word, or a comment or text that does not end.
    """
    position, line = 0, 1
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise invalid(line, f"{text[position]!r} begins no word of Protobuf")
        kind, word = str(found.lastgroup), found.group()
        if kind == "comment":
            end = text.find("*/", found.end())
            if end < 0:
                raise invalid(line, "the comment has no end")
            word = text[position : end + 2]
        elif kind != "blank":
            yield Token(kind, word, line)
        line += word.count("\n")
        position += len(word)
    yield Token("end", "the end", line)


def unquote(token: Token) -> bytes:
    """Return the bytes of a text in quotation marks.

    :raises InvalidSchema: it has an escape that Protobuf has not.
    """

    def replace(match: re.Match[bytes]) -> bytes:
        letter, hexadecimal, octal, short, long, _ = match.groups()
        if letter:
            return bytes([_LETTERS[letter[0]]])
        if hexadecimal:
            return bytes([int(hexadecimal[1:], 16)])
        if octal:
            return bytes([int(octal, 8) & 0xFF])
        code = int(short or long or b"110000", 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise invalid(token.line, f"{token.text[:40]} has an escape that Protobuf has not")
        return chr(code).encode()

    return _ESCAPE.sub(replace, token.text[1:-1].encode())


def invalid(line: int, reason: str) -> InvalidSchema:
    """Return the error of a place."""
    return InvalidSchema(f"the Protobuf schema is not valid at line {line}: {reason}")
