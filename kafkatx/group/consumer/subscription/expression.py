"""The parser of regular expressions in subscriptions, which come from clients. Pure.

Apache Kafka uses RE2/J, whose time is linear in the text. Python's ``re`` backtracks: an expression such as
``(a|a)*b`` would block the whole process, also from a worker, because ``re`` holds the interpreter's lock. So
expressions are parsed into a small tree here, and matched by
:mod:`kafkatx.group.consumer.subscription.automaton`.

The syntax is that part of RE2's that matters for topic names, which are matched as a whole, and for
transactional ids, which may have any character:

*   literals, ``.``, classes with ranges, negation and ``[:alpha:]``, ``\\d \\w \\s`` and their opposites,
    ``\\p{L}``-like classes are not;
*   ``|``, groups of any kind (``(?:``, ``(?P<name>``, ``(?<name>``, ``(?i)``);
*   ``* + ? {n} {n,} {n,m}``, lazy or not;
*   ``^ $ \\A \\z \\b \\B``, ``\\Q...\\E``, escapes by ``\\x`` and octal digits.

As in RE2 there are no look-arounds and no backreferences.
"""

from __future__ import annotations

import string
from typing import NamedTuple, TypeAlias

MOST_CHARACTERS = 4096
MOST_REPEATS = 1000
"""RE2's limit of ``{n,m}``."""

MOST_DEPTH = 100
"""Maximum depth of nested groups."""

ALPHABET = frozenset(string.ascii_letters + string.digits + "._-")
"""The characters of topic names."""

OTHER = "\U0010ffff"
"""A character of an alphabet that stands for all that the alphabet does not have."""

WORD = frozenset(string.ascii_letters + string.digits + "_")

Node: TypeAlias = "Chars | Sequence | Either | Repeat | Assert"


class Chars(NamedTuple):
    """A character of a set, without characters that the alphabet does not have."""

    accepted: frozenset[str]


class Sequence(NamedTuple):
    """Parts that match one after another."""

    parts: tuple[Node, ...]


class Either(NamedTuple):
    """Alternatives, one of which matches."""

    parts: tuple[Node, ...]


class Repeat(NamedTuple):
    """A repetition; unlimited if *most* is None."""

    part: Node
    least: int
    most: int | None


class Assert(NamedTuple):
    """An assertion about the position: ``begin``, ``end``, ``word`` (a word boundary), ``inside`` (none)."""

    what: str


class ExpressionError(ValueError):
    """An expression is invalid or not supported; the message is RE2's."""


_CLASSES = {
    "d": frozenset(string.digits),
    "w": WORD,
    "s": frozenset("\t\n\f\r "),
}
_ASCII = "".join(map(chr, range(128)))
_POSIX = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "ascii": _ASCII,
    "blank": "\t ",
    "cntrl": _ASCII[:32] + _ASCII[127],
    "digit": string.digits,
    "graph": _ASCII[33:127],
    "lower": string.ascii_lowercase,
    "print": _ASCII[32:127],
    "punct": string.punctuation,
    "space": "\t\n\v\f\r ",
    "upper": string.ascii_uppercase,
    "word": "".join(WORD),
    "xdigit": string.hexdigits,
}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASSERTIONS = {"A": "begin", "z": "end", "b": "word", "B": "inside"}
_OCTAL = "01234567"
_FLAGS = frozenset("imsU")


def parse(text: str, alphabet: frozenset[str] = ALPHABET) -> Node:
    """Parse an expression.

    :param alphabet: the characters of the names; other characters of the expression match none. With
        :data:`OTHER` in it, ranges must be in ASCII.
    :raises ExpressionError: it is invalid, or too long or deep.
    """
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(f"it has more than {MOST_CHARACTERS} characters")
    parser = _Parser(text, alphabet)
    node = parser.either(0)
    if parser.at < len(text):
        raise ExpressionError("unexpected )")
    return node


class _Parser:
    """A recursive-descent parser; ``at`` is the position in the text."""

    def __init__(self, text: str, alphabet: frozenset[str]) -> None:
        self._text = text
        self._alphabet = alphabet
        self._line = alphabet - {"\n"}
        self._fold = False  # (?i)
        self._any = False  # (?s): the dot is a line's end, too
        self.at = 0

    def _peek(self, what: str) -> bool:
        return self._text.startswith(what, self.at)

    def _take(self, what: str) -> bool:
        if self._peek(what):
            self.at += len(what)
            return True
        return False

    def _next(self, missing: str) -> str:
        if self.at >= len(self._text):
            raise ExpressionError(missing)
        self.at += 1
        return self._text[self.at - 1]

    def either(self, depth: int) -> Node:
        """Parse alternatives, ``a|b``."""
        if depth > MOST_DEPTH:
            raise ExpressionError("expression nests too deeply")
        parts = [self._sequence(depth)]
        while self._take("|"):
            parts.append(self._sequence(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.at < len(self._text) and not self._peek("|") and not self._peek(")"):
            parts.append(self._repeated(depth))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, depth: int) -> Node:
        node = self._one(depth)
        bounds = self._bounds()
        if bounds is None:
            return node
        if self._bounds() is not None:
            raise ExpressionError("invalid nested repetition operator")
        return Repeat(node, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Parse a quantifier, if there is one; lazy ones mean the same here."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        for sign, bounds in simple.items():
            if self._take(sign):
                self._take("?")
                return bounds
        return self._counted() if self._peek("{") else None

    def _counted(self) -> tuple[int, int | None] | None:
        end = self._text.find("}", self.at)
        least, comma, most = self._text[self.at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not _is_number(least) or (most and not _is_number(most)):
            return None  # literal braces
        self.at = end + 1
        self._take("?")
        low = int(least)
        high = low if not comma else int(most) if most else None
        if low > MOST_REPEATS or (high is not None and not low <= high <= MOST_REPEATS):
            raise ExpressionError(f"invalid repetition size {{{least}{comma}{most}}}")
        return low, high

    def _one(self, depth: int) -> Node:
        character = self._next("")
        if character == "(":
            return self._group(depth)
        if character == "[":
            return Chars(self._class())
        if character == "\\":
            return self._escape()
        if character in "*+?":
            raise ExpressionError(f"missing argument to repetition operator: {character}")
        if character in "^$":
            return Assert("begin" if character == "^" else "end")
        if character == ".":
            return Chars(self._alphabet if self._any else self._line)
        return self._literal(character)

    def _literal(self, character: str) -> Chars:
        return Chars(self._folded(frozenset((character,))) & self._alphabet)

    def _folded(self, accepted: frozenset[str]) -> frozenset[str]:
        if not self._fold:
            return accepted
        return frozenset(one for c in accepted for one in (c, c.lower(), c.upper()))

    def _group(self, depth: int) -> Node:
        outer = self._fold, self._any
        if self._take("?") and not self._take(":") and not self._name() and self._flags():
            return Sequence(())  # (?i) applies to the rest of this group
        inside = self.either(depth + 1)
        if not self._take(")"):
            raise ExpressionError("missing closing )")
        self._fold, self._any = outer
        return inside

    def _name(self) -> bool:
        """Parse ``P<name>`` or ``<name>``; ``<=`` and ``<!`` are not supported."""
        if not (self._take("P<") or self._take("<")):
            return False
        end = self._text.find(">", self.at)
        name = self._text[self.at : end] if end > 0 else ""
        if not name or not set(name) <= WORD:
            raise ExpressionError("invalid named capture")
        self.at = end + 1
        return True

    def _flags(self) -> bool:
        """Parse flags, ``i)`` or ``i:``, ``-`` before those to clear; return True if they end the group."""
        on = True
        while (flag := self._next("missing closing )")) not in "):":
            if flag == "-" and on:
                on = False
            elif flag not in _FLAGS:
                raise ExpressionError("invalid or unsupported Perl syntax: `(?" + flag + "`")
            elif flag == "i":
                self._fold = on
            elif flag == "s":
                self._any = on
        return flag == ")"

    def _escape(self) -> Node:
        letter = self._next("trailing backslash at end of expression")
        if letter in _ASSERTIONS:
            return Assert(_ASSERTIONS[letter])
        if letter == "Q":
            end = self._text.find("\\E", self.at)
            quoted = self._text[self.at : end if end >= 0 else None]
            self.at += len(quoted) + (2 if end >= 0 else 0)
            return Sequence(tuple(self._literal(character) for character in quoted))
        if letter.lower() in _CLASSES:
            return Chars(self._named(_CLASSES[letter.lower()], letter.isupper()))
        return self._literal(self._escaped(letter))

    def _escaped(self, letter: str) -> str:
        """Return the character of an escape."""
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "x":
            return self._hexadecimal()
        if letter == "0" or (letter in _OCTAL and self._text[self.at : self.at + 1] in tuple(_OCTAL)):
            digits = letter
            while len(digits) < 3 and self._text[self.at : self.at + 1] in tuple(_OCTAL):
                digits += self._next("")
            return chr(int(digits, 8))
        if letter.isalnum():
            raise ExpressionError(f"invalid escape sequence: `\\{letter}`")
        return letter

    def _hexadecimal(self) -> str:
        if self._take("{"):
            end = self._text.find("}", self.at)
            digits, after = self._text[self.at : end], end + 1
        else:
            digits, after = self._text[self.at : self.at + 2], self.at + 2
        if (
            not 1 <= len(digits) <= 6
            or not set(digits) <= set(string.hexdigits)
            or int(digits, 16) > 0x10FFFF
        ):
            raise ExpressionError("invalid escape sequence: `\\x`")
        self.at = after
        return chr(int(digits, 16))

    def _class(self) -> frozenset[str]:
        """Parse a class, ``[...]``, after its bracket."""
        negated = self._take("^")
        accepted: set[str] = set()
        first = True
        while first or not self._take("]"):
            first = False
            accepted |= self._class_item()
        found = self._folded(frozenset(accepted)) & self._alphabet
        return self._alphabet - found if negated else found

    def _class_item(self) -> frozenset[str]:
        if self._peek("[:"):
            end = self._text.find(":]", self.at)
            name = self._text[self.at + 2 : end] if end > 0 else ""
            if name.lstrip("^") not in _POSIX:
                raise ExpressionError("invalid character class range")
            self.at = end + 2
            return self._named(frozenset(_POSIX[name.lstrip("^")]), name.startswith("^"))
        low = self._next("missing closing ]")
        if low == "\\":
            letter = self._next("trailing backslash at end of expression")
            if letter.lower() in _CLASSES:
                return self._named(_CLASSES[letter.lower()], letter.isupper())
            low = self._escaped(letter)
        if not self._peek("-") or self._peek("-]"):
            return frozenset((low,))
        self._take("-")
        high = self._next("missing closing ]")
        if high == "\\":
            high = self._escaped(self._next("trailing backslash at end of expression"))
        if high < low:
            raise ExpressionError(f"invalid character class range: `{low}-{high}`")
        if not high.isascii() and OTHER in self._alphabet:
            raise ExpressionError(f"a range beyond ASCII is not supported: `{low}-{high}`")
        return frozenset(character for character in self._alphabet if low <= character <= high)

    def _named(self, accepted: frozenset[str], negated: bool) -> frozenset[str]:
        return self._alphabet - accepted if negated else accepted & self._alphabet


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
