"""Columns of a table by name and type, in the words of Spark's DDL, and the Arrow types that they stand for.

A type is ``boolean``, ``int``, ``bigint``, ``float``, ``double``, ``string``, ``binary``, ``date``,
``timestamp``, ``array<T>`` or ``struct<name:T,...>``. Names that are no plain words stand in backticks, and a
backtick in them is doubled, as in Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from kafkatx.errors import SettingError

MAX_DEPTH = 50


class Column(NamedTuple):
    """A column; ``type`` is in words as above. Every column may hold null."""

    name: str
    type: str


_SIMPLE = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_WORDS = {value: word for word, value in _SIMPLE.items()}
_OTHER_WORDS = {"integer": "int", "long": "bigint", "real": "float", "bool": "boolean"}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[^\s`<>:,]+|[<>:,])")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def arrow_type(text: str) -> pa.DataType:
    """Return the ``pyarrow.DataType`` of a type in words.

    :raises SettingError: it is none.
    """
    parser = _Parser(text)
    found = parser.type(0)
    parser.end()
    return found


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """Return the ``pyarrow.Schema`` of columns."""
    return pa.schema([(column.name, arrow_type(column.type)) for column in columns])


def ddl_type(data_type: pa.DataType) -> str:
    """Return a ``pyarrow.DataType`` in words; the reverse of :func:`arrow_type`.

    :raises SettingError: it is none of ours.
    """
    if data_type in _WORDS:
        return _WORDS[data_type]
    if pa.types.is_list(data_type):
        return f"array<{ddl_type(data_type.value_type)}>"
    if pa.types.is_struct(data_type):
        fields = (f"{quoted_name(field.name)}:{ddl_type(field.type)}" for field in data_type)
        return f"struct<{','.join(fields)}>"
    raise SettingError(f"columns of Arrow's type {data_type} cannot be stored")


def columns_of(schema: pa.Schema) -> list[Column]:
    """Return the columns of a ``pyarrow.Schema``."""
    return [Column(field.name, ddl_type(field.type)) for field in schema]


def quoted_name(name: str) -> str:
    """Quote a name for DDL: in backticks unless it is a plain word."""
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def parse_ddl(text: str) -> list[Column]:
    """Read ``name TYPE, name TYPE``; types come out in their usual words.

    :raises SettingError: it is something else, or names a column twice.
    """
    parser = _Parser(text)
    columns = parser.columns()
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise SettingError(f"schema {text!r}: a column is named twice")
    return columns


def to_ddl(columns: Iterable[Column]) -> str:
    """Return the columns as Spark reads them: ``name TYPE, name TYPE``."""
    return ", ".join(f"{quoted_name(column.name)} {column.type}" for column in columns)


class _Parser:
    """Reads types by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def columns(self) -> list[Column]:
        found = [self._column()]
        while self._peek() == ",":
            self._next()
            found.append(self._column())
        self.end()
        return found

    def _column(self) -> Column:
        name = self._name()
        if self._peek() == ":":
            self._next()
        return Column(name, ddl_type(self.type(0)))

    def type(self, depth: int) -> pa.DataType:
        word = self._next().lower()
        word = _OTHER_WORDS.get(word, word)
        if word in _SIMPLE:
            return _SIMPLE[word]
        if word not in ("array", "struct") or depth > MAX_DEPTH:
            raise self._error(f"there is no type {word!r}")
        self._expect("<")
        found = self._struct(depth + 1) if word == "struct" else pa.list_(self.type(depth + 1))
        self._expect(">")
        return found

    def _struct(self, depth: int) -> pa.DataType:
        fields: list[pa.Field] = []
        while self._peek() != ">":
            if fields:
                self._expect(",")
            name = self._name()
            self._expect(":")
            fields.append(pa.field(name, self.type(depth)))
        return pa.struct(fields)

    def _name(self) -> str:
        token = self._next()
        if token in ("<", ">", ":", ",", ""):
            raise self._error(f"a name is expected, not {token!r}")
        return token[1:-1].replace("``", "`") if token.startswith("`") else token

    def _expect(self, token: str) -> None:
        found = self._next()
        if found != token:
            raise self._error(f"{token!r} is expected, not {found!r}")

    def end(self) -> None:
        """Check that the text ends here.

        :raises SettingError: something is left.
        """
        if self._peek():
            raise self._error(f"{self._peek()!r} is too much")

    def _peek(self) -> str:
        found = _TOKEN.match(self._text, self._position)
        return found[1] if found else ""

    def _next(self) -> str:
        found = _TOKEN.match(self._text, self._position)
        if found is None:
            raise self._error("it ends too early")
        self._position = found.end()
        return found[1]

    def _error(self, why: str) -> SettingError:
        return SettingError(
            f"schema {self._text!r}: {why}; write e.g. client string, status int, tags array<string>, "
            "at struct<x:double,y:double>"
        )
