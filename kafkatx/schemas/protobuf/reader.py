"""The words of a .proto file one by one, with the checks that all parts of the parser need. Pure."""

from __future__ import annotations

from typing import Final

from kafkatx.schemas.limits import MAX_DEPTH, MAX_NAME_LENGTH
from kafkatx.schemas.protobuf.lexer import Token, invalid, tokens, unquote
from kafkatx.schemas.types import InvalidSchema

_MOST_DIGITS: Final = 25


class Reader:
    """The reader of a text's words, from the front.

    :ivar depth: messages, groups and values of options that are open.
    """

    def __init__(self, text: str) -> None:
        self.depth = 0
        self._tokens = tokens(text)
        self._next = next(self._tokens)
        self._after: Token | None = None

    @property
    def token(self) -> Token:
        """The word that comes next."""
        return self._next

    def peek(self) -> Token:
        """Return the word after the next."""
        if self._after is None:
            self._after = next(self._tokens, self._next)
        return self._after

    def take(self) -> Token:
        """Take the next word; the end is never passed."""
        token = self._next
        if token.kind != "end":
            self._next = self._after or next(self._tokens)
            self._after = None
        return token

    def accept(self, text: str) -> bool:
        """Take the next word if it is this one."""
        if self._next.text != text or self._next.kind == "text":
            return False
        self.take()
        return True

    def expect(self, text: str) -> None:
        """Take this word.

        :raises InvalidSchema: the next word is another.
        """
        if not self.accept(text):
            raise self.unexpected(repr(text))

    def name(self) -> str:
        """Take a name without dots."""
        if self._next.kind != "name":
            raise self.unexpected("a name")
        if len(self._next.text) > MAX_NAME_LENGTH:
            raise invalid(self._next.line, f"a name has at most {MAX_NAME_LENGTH} letters")
        return self.take().text

    def full_name(self) -> str:
        """Take a name with dots, which may begin with one."""
        parts = ["." if self.accept(".") else "", self.name()]
        length = len(parts[1])
        while self.accept("."):
            parts.append(f".{self.name()}")
            length += len(parts[-1])
            if length > MAX_NAME_LENGTH:
                raise invalid(self._next.line, f"a full name has at most {MAX_NAME_LENGTH} letters")
        return "".join(parts)

    def text(self) -> bytes:
        """Take one or several texts in quotation marks."""
        if self._next.kind != "text":
            raise self.unexpected("a text in quotation marks")
        found = [unquote(self.take())]
        while self._next.kind == "text":
            found.append(unquote(self.take()))
        return b"".join(found)

    def unicode(self) -> str:
        """Take a text that is Unicode."""
        line = self._next.line
        try:
            return self.text().decode()
        except UnicodeDecodeError:
            raise invalid(line, "the text is no UTF-8") from None

    def whole(self, most: int) -> int:
        """Take a whole number, which may be negative, up to *most*."""
        sign = -1 if self.accept("-") else 1
        token = self._next
        value = parse_whole(self.take().text) if token.kind == "number" else None
        if value is None or value > most + (sign < 0):
            raise invalid(token.line, f"expected a whole number up to {most}, found {token.text[:40]!r}")
        return sign * value

    def enter(self) -> None:
        """Count one more level.

        :raises InvalidSchema: there are too many.
        """
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise invalid(self._next.line, f"it is nested too deep: at most {MAX_DEPTH}")

    def leave(self) -> None:
        """Count one level less."""
        self.depth -= 1

    def unexpected(self, expected: str) -> InvalidSchema:
        """Return the error that another word was expected."""
        return invalid(self._next.line, f"expected {expected}, found {self._next.text[:40]!r}")


def parse_whole(text: str) -> int | None:
    """Return a whole number that is written in decimal, octal or hexadecimal digits; None if it is none."""
    if len(text) > _MOST_DIGITS:
        return None
    try:
        if text[:2] in ("0x", "0X"):
            return int(text[2:], 16)
        return int(text, 8 if text.startswith("0") and text != "0" else 10) if text.isdecimal() else None
    except ValueError:
        return None
