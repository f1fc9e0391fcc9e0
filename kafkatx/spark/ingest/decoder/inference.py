"""The types of values without a declared schema, such as the fields of a JSON object.

=========================================  =====================================================
values                                     type
=========================================  =====================================================
true and false                             boolean
whole numbers of 64 bits                   bigint
numbers, also whole ones among them        double
text                                       string
bytes; a datetime; a date                  binary; timestamp; date
objects                                    struct, with each field that one of them has; string if
                                           there are too many, or names that cannot be columns
lists                                      array of the type that all their elements have together
anything else, larger whole numbers        string
values of different ones of these          string: what is no text is written as its JSON
null, ``{}``, ``[]`` and lists of these    none yet: a field needs a value to become a column
=========================================  =====================================================

Which types several values have together does not depend on their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from kafkatx.schemas.json_numbers import LongNumber

MAX_DEPTH = 16
"""Objects and lists further down are written as JSON: readers of Parquet recurse over a type's depth."""
MAX_NAME = 255
MAX_FIELDS = 1000
"""A table that has so many gets no more: else one producer could make every file unreadably wide."""

ELEMENT = object()
"""In a path: the elements of a list, where otherwise a field's name stands."""

_TEXT, _STRUCT, _ARRAY = "string", "struct", "array"
_WORDS: dict[type, str] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    LongNumber: "double",
    str: _TEXT,
    bytes: "binary",
    datetime: "timestamp",
    date: "date",
    dict: _STRUCT,
    list: _ARRAY,
    tuple: _ARRAY,
}
_TYPES = {
    "boolean": pa.bool_(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    _TEXT: pa.string(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
}
_NUMBERS = frozenset(("bigint", "double"))


class Seen:
    """The type of all values that were added, so far.

    :param room: the most fields that the whole tree may have.
    """

    __slots__ = ("_fields", "_left", "_lower", "_word")

    def __init__(self, room: int = MAX_FIELDS, left: list[int] | None = None) -> None:
        self._word: str | None = None
        self._fields: dict[Any, Seen] = {}
        self._lower: set[str] = set()
        self._left = [room] if left is None else left  # how many more fields the whole tree may get

    def add(self, value: Any, depth: int = 0) -> None:
        """Take a value into account."""
        if value is None:
            return
        word = word_of(value)
        if word in (_STRUCT, _ARRAY) and depth >= MAX_DEPTH:
            word = _TEXT
        if word != self._word and (word not in (_STRUCT, _ARRAY) or not is_void(value)):
            self._become(word)
        if self._word == word == _STRUCT:
            self._add_fields(value, depth)
        elif self._word == word == _ARRAY:
            element = self.child(ELEMENT)
            for item in value:
                element.add(item, depth + 1)

    def _add_fields(self, value: Mapping[object, object], depth: int) -> None:
        for name, item in value.items():
            if is_void(item):
                continue
            child = self.field(name)
            if child is None:
                self._become(_TEXT)
                return
            child.add(item, depth + 1)

    def _become(self, word: str) -> None:
        if self._word is None:
            self._word = word
        elif {self._word, word} == _NUMBERS:
            self._word = "double"
        elif word != self._word:
            self._left[0] += self._size()
            self._word, self._fields, self._lower = _TEXT, {}, set()

    def _size(self) -> int:
        """Return the number of fields below."""
        return sum((step is not ELEMENT) + child._size() for step, child in self._fields.items())

    def field(self, name: object) -> Seen | None:
        """Return the types seen in a field; None if it cannot be a field beside the others, or there are too
        many.
        """
        if name in self._fields:
            return self._fields[name]
        if not self._takes(name) or self._left[0] <= 0:
            return None
        self._left[0] -= 1
        return self.child(name)

    def _takes(self, name: Any) -> bool:
        """Return True if a new field may have this name beside the others."""
        return bad_name(name) is None and name.lower() not in self._lower

    def child(self, step: Any) -> Seen:
        """Return the types seen in a field or, with :data:`ELEMENT`, in the elements, wherever it came from.

        A field that is made here does not count: it is for those that the table has already.
        """
        if step not in self._fields:
            self._become(_ARRAY if step is ELEMENT else _STRUCT)
            self._fields[step] = Seen(left=self._left)
            if step is not ELEMENT:
                self._lower.add(step.lower())
        return self._fields[step]

    def add_type(self, found: pa.DataType) -> None:
        """Add a ``pyarrow.DataType`` that another decoding has seen."""
        if pa.types.is_struct(found):
            for field in found:
                child = self.field(field.name)
                if child is None:
                    self._become(_TEXT)
                    return
                child.add_type(field.type)
        elif pa.types.is_list(found):
            self.child(ELEMENT).add_type(found.value_type)
        else:
            self._become(next(word for word, known in _TYPES.items() if known == found))

    def admit(self, paths: Sequence[Sequence[object]]) -> list[Seen] | None:
        """Make the fields at the ends of paths whose other steps are known: all of them, or none.

        :return: what is seen in each; None if one of them cannot be a field, or there are too many.
        """
        new: dict[tuple[Any, ...], Any] = {}
        for *above, name in paths:
            seen = self._below(above)
            if seen is not None and name in seen._fields:
                continue
            key = (*above, name.lower() if isinstance(name, str) else name)
            taken = bad_name(name) is not None if seen is None else not seen._takes(name)
            if taken or new.setdefault(key, name) != name:
                return None
        if len(new) > self._left[0]:
            return None
        found = []
        for *above, name in paths:
            seen = self
            for step in above:
                seen = seen.child(step)
            field = seen.field(name)
            if field is not None:
                found.append(field)
        return found

    def _below(self, path: Iterable[object]) -> Seen | None:
        """Return the types seen at the end of a path; None if there are none."""
        seen: Seen | None = self
        for step in path:
            seen = None if seen is None else seen._fields.get(step)
        return seen

    def fields(self) -> dict[str, pa.DataType]:
        """Return the fields that have a type, and their types."""
        found = {name: seen.type() for name, seen in self._fields.items()}
        return {name: kind for name, kind in found.items() if kind is not None}

    def type(self) -> pa.DataType | None:
        """Return the ``pyarrow.DataType``; None if no value had one."""
        if self._word == _ARRAY:
            element = self._fields[ELEMENT].type() if ELEMENT in self._fields else None
            return None if element is None else pa.list_(element)
        if self._word == _STRUCT:
            fields = self.fields()
            return pa.struct(list(fields.items())) if fields else None
        return None if self._word is None else _TYPES[self._word]


def word_of(value: Any) -> str:
    """Return the type of one value that is not None; ``struct`` and ``array`` without their contents."""
    word = _WORDS.get(type(value))
    if word == "bigint" and not -(1 << 63) <= value < 1 << 63:
        return _TEXT
    if word is None:
        return _STRUCT if isinstance(value, Mapping) else _TEXT
    return word


def is_void(value: Any, depth: int = 0) -> bool:
    """Return True if a value contains nothing that has a type."""
    if value is None:
        return True
    if depth >= MAX_DEPTH:
        return False
    word = word_of(value)
    if word == _STRUCT:
        return all(is_void(item, depth + 1) for item in value.values())
    return word == _ARRAY and all(is_void(item, depth + 1) for item in value)


def bad_name(name: object) -> str | None:
    """Return the reason why a field's name keeps it from becoming a column; None if it does not."""
    if not isinstance(name, str) or not name:
        return "its name is no text" if name != "" else "its name is empty"
    if len(name) > MAX_NAME:
        return f"its name has more than {MAX_NAME} characters"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is no Unicode"
    return None
