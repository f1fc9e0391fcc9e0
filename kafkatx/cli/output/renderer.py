"""The forms in which ``kafkatx consume`` prints messages: values, kcat's format letters, kcat's JSON.

====  =========================================================================
%t    topic
%p    partition
%o    offset
%k    key (nothing if null)
%K    key's length, -1 if null
%s    value (nothing if null)
%S    value's length, -1 if null
%R    value's length, -1 if null, as a big-endian binary i32
%T    timestamp in ms since the epoch, -1 if none
%h    headers: ``name=value,name=value``, NULL for a null value
%%    a per cent sign
\\n    newline; also \\r \\t \\\\ and \\xNN, a byte in hexadecimal
====  =========================================================================
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kafkatx.cli.output.terminal import json_bytes, json_escaped

if TYPE_CHECKING:
    from kafkatx.blocking import Columns
    from kafkatx.records.batch import Headers

TIMESTAMP_TYPES = {-1: "unknown", 0: "create", 1: "logappend"}

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_TOKEN = re.compile(rb"%(.?)|" + _ESCAPE.pattern, re.DOTALL)


Clean = Callable[[bytes], bytes]
"""A filter for the bytes of records, which a terminal could take for commands."""

_Column = Callable[[int, "Columns"], list[bytes]]
"""Returns a field of each record, given the partition and the records."""


def as_is(data: bytes) -> bytes:
    """Return the same bytes, for a file or another program."""
    return data


class BadFormat(ValueError):
    """A format string has an unknown letter."""


class Renderer(Protocol):
    """Turns the records of one partition into the bytes that are printed."""

    wants_headers: bool

    def render(self, partition: int, columns: Columns) -> bytes:
        """Return all rows of *columns*, in order."""


def unescape(text: str) -> bytes:
    r"""Return the bytes of an argument, with kcat's ``\n``, ``\r``, ``\t``, ``\xNN`` and ``\\`` replaced."""
    return _ESCAPE.sub(lambda match: _escaped(match[1]), os.fsencode(text))


def _escaped(what: bytes) -> bytes:
    """Return the bytes that a backslash and *what* stand for."""
    if what[:1] == b"x" and len(what) > 1:
        return bytes([int(what[1:], 16)])
    return _ESCAPED.get(what, what)


class ValueRenderer:
    """Each value and a delimiter: the default, and the fastest."""

    wants_headers = False

    def __init__(self, delimiter: bytes, clean: Clean = as_is) -> None:
        self._delimiter = delimiter
        self._clean = clean

    def render(self, partition: int, columns: Columns) -> bytes:
        """Return all values; a null is empty."""
        values = [value or b"" for value in columns.values]
        if self._clean is not as_is:
            values = list(map(self._clean, values))
        values.append(b"")
        return self._delimiter.join(values)


class FormatRenderer:
    """A format string with kcat's letters."""

    def __init__(self, text: str, topic: str, clean: Clean = as_is) -> None:
        """Compile the format.

        :param clean: applied to everything but the format's own text.
        :raises BadFormat: a letter after ``%`` is not in the table above.
        """
        self._clean = clean
        self._topic = clean(topic.encode("utf-8", "surrogateescape"))
        self._parts = self._compile(text)
        self.wants_headers = _COLUMNS[b"h"] in self._parts

    def _compile(self, text: str) -> list[bytes | _Column]:
        parts: list[bytes | _Column] = []
        raw = os.fsencode(text)
        at = 0
        for match in _TOKEN.finditer(raw):
            parts.append(raw[at : match.start()])
            at = match.end()
            if match[1] is None:
                parts.append(_escaped(match[2]))
            elif match[1] == b"%":
                parts.append(b"%")
            elif match[1] in _COLUMNS:
                parts.append(_COLUMNS[match[1]])
            elif match[1] == b"t":
                parts.append(self._topic)
            else:
                letter = os.fsdecode(match[0])
                raise BadFormat(f"{letter!r} is unknown: there are %t %p %o %k %s %S %R %K %T %h %%")
        parts.append(raw[at:])
        return [part for part in parts if part]

    def render(self, partition: int, columns: Columns) -> bytes:
        """Return all rows."""
        rows = len(columns.offsets)
        pieces: list[bytes] = [b""] * (rows * len(self._parts))
        for index, part in enumerate(self._parts):
            found = [part] * rows if isinstance(part, bytes) else part(partition, columns)
            if self._clean is not as_is and not isinstance(part, bytes):
                found = list(map(self._clean, found))
            pieces[index :: len(self._parts)] = found
        return b"".join(pieces)


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _headers(headers: Headers) -> bytes:
    return b",".join(
        name.encode("utf-8", "surrogateescape") + b"=" + (b"NULL" if value is None else value)
        for name, value in headers
    )


_COLUMNS: dict[bytes, _Column] = {
    b"p": lambda partition, columns: [b"%d" % partition] * len(columns.offsets),
    b"o": lambda partition, columns: [b"%d" % offset for offset in columns.offsets],
    b"k": lambda partition, columns: [key or b"" for key in columns.keys],
    b"K": lambda partition, columns: [b"%d" % _length(key) for key in columns.keys],
    b"s": lambda partition, columns: [value or b"" for value in columns.values],
    b"S": lambda partition, columns: [b"%d" % _length(value) for value in columns.values],
    b"R": lambda partition, columns: [_length(v).to_bytes(4, "big", signed=True) for v in columns.values],
    b"T": lambda partition, columns: [b"%d" % timestamp for timestamp in columns.timestamps],
    b"h": lambda partition, columns: [_headers(headers) for headers in columns.headers],
}


class JsonRenderer:
    """A JSON object a line, with kcat's names.

    If a key or value is not UTF-8, ``key_base64`` or ``payload_base64`` replaces ``key`` or ``payload``.
    ``headers`` is a list of names and values in turn; a value that is not UTF-8 is ``{"base64": "..."}``.

    :param leaders: the broker that each partition was read from.
    """

    wants_headers = True

    def __init__(self, topic: str, leaders: dict[int, int]) -> None:
        self._topic = topic
        self._leaders = leaders

    def render(self, partition: int, columns: Columns) -> bytes:
        """Return all rows."""
        lines = [self._row(partition, *row) for row in zip(*columns, strict=True)]
        return json_escaped("".join(lines)).encode()

    def _row(
        self,
        partition: int,
        offset: int,
        timestamp: int,
        timestamp_type: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> str:
        row: dict[str, object] = {"topic": self._topic, "partition": partition, "offset": offset}
        if timestamp >= 0:
            row |= {"tstype": TIMESTAMP_TYPES[timestamp_type], "ts": timestamp}
        row["broker"] = self._leaders.get(partition, -1)
        if headers:
            row["headers"] = [text for name, data in headers for text in (name, _header(data))]
        row |= json_bytes("key", key) | json_bytes("payload", value)
        return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _header(data: bytes | None) -> object:
    """Return a header's value for JSON: text, null, or an object with ``base64``."""
    found = json_bytes("", data)
    return found[""] if "" in found else {"base64": found["_base64"]}
