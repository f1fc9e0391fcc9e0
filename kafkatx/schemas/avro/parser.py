"""The parser of Avro schemas: JSON to types, with the rules of the specification. Pure.

Names are checked as Apache Avro's strict validator does for new schemas; a namespace may have other
characters. A type must be defined before a reference to it; a record may refer to itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kafkatx.schemas.avro.avro_types import (
    NO_DEFAULT,
    PRIMITIVES,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
)
from kafkatx.schemas.json_text import JSON, Object, quote
from kafkatx.schemas.limits import MAX_DEPTH, MAX_NAME_LENGTH
from kafkatx.schemas.types import InvalidSchema

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ORDERS: Final = frozenset({"ascending", "descending", "ignore"})
_MAX_FIXED_SIZE: Final = 2**31 - 1

_NAMED_KEYS: Final = frozenset({"type", "name", "namespace", "aliases"})
_FIELD_KEYS: Final = frozenset({"type", "name", "default", "aliases"})


class Parser:
    """Parses texts in turn; each may use the names of those before it.

    :ivar names: the named types so far, by full name.
    :ivar records: the records of the texts, for checks after the parse.
    :ivar strict: refuse also names that only Avro's strict validator refuses.
    """

    def __init__(self, strict: bool) -> None:
        self.names: dict[str, AvroType] = {}
        self.records: list[Record] = []
        self.strict = strict

    def parse(self, value: JSON, where: str = "", namespace: str = "", depth: int = 0) -> AvroType:
        """Parse one type.

        :param where: its place in the schema, as a JSON pointer.
        :param namespace: the namespace of names that have none.
        :raises InvalidSchema: it breaks a rule of Avro, or is nested too deep.
        """
        if depth > MAX_DEPTH:
            raise InvalidSchema(f"the types are nested too deep at {where[:80]}…: at most {MAX_DEPTH}")
        if isinstance(value, str):
            return self._by_name(value, where, namespace)
        if isinstance(value, list):
            return self._union(value, where, namespace, depth)
        if isinstance(value, dict):
            return self._object(value, where, namespace, depth)
        raise _invalid(where, f"a type is a name, an object or a list, not {quote(value)}")

    def _by_name(self, name: str, where: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return Primitive(name, {})
        for full in _candidates(name, namespace):
            if full in self.names:
                return self.names[full]
        raise _invalid(
            where, f"the type {quote(name)} is not defined before it is used; is a reference to it missing?"
        )

    def _union(self, branches: list[JSON], where: str, namespace: str, depth: int) -> AvroType:
        types: list[AvroType] = []
        seen: set[str] = set()
        for index, branch in enumerate(branches):
            place = f"{where}/{index}"
            one = self.parse(branch, place, namespace, depth + 1)
            if isinstance(one, Union):
                raise _invalid(place, "a union may not directly contain a union")
            label = one.name if isinstance(one, (Fixed, Enum, Record)) else one.kind
            if label in seen:
                raise _invalid(place, f"the union has {quote(label)} twice")
            seen.add(label)
            types.append(one)
        return Union(tuple(types))

    def _object(self, value: Object, where: str, namespace: str, depth: int) -> AvroType:
        kind = value.get("type")
        if not isinstance(kind, str):
            raise _invalid(where, f'an object of a type needs "type" with a name, not {quote(kind)}')
        if kind in ("record", "error"):
            return self._record(value, where, namespace, depth)
        if kind == "enum":
            return self._enum(value, where, namespace)
        if kind == "fixed":
            return self._fixed(value, where, namespace)
        if kind == "array":
            items = self._part(value, "items", where, namespace, depth)
            return Array(items, _rest(value, {"type", "items"}))
        if kind == "map":
            values = self._part(value, "values", where, namespace, depth)
            return Map(values, _rest(value, {"type", "values"}))
        if kind in PRIMITIVES:
            return Primitive(kind, _rest(value, {"type"}))
        return self._by_name(kind, f"{where}/type", namespace)

    def _part(self, value: Object, key: str, where: str, namespace: str, depth: int) -> AvroType:
        if key not in value:
            raise _invalid(where, f'{quote(value.get("type"))} needs "{key}"')
        return self.parse(value[key], f"{where}/{key}", namespace, depth + 1)

    def _record(self, value: Object, where: str, namespace: str, depth: int) -> AvroType:
        name, aliases = self._names(value, where, namespace)
        written = value.get("fields")
        if not isinstance(written, list):
            raise _invalid(where, f'the record {name} needs "fields" with a list')
        record = Record(name, aliases, _rest(value, _NAMED_KEYS | {"fields"}), str(value["type"]))
        self._define(record, where)
        self.records.append(record)
        for index, one in enumerate(written):
            place = f"{where}/fields/{index}"
            field = self._field(one, place, record.namespace, depth)
            if field.name in record.by_name:
                raise _invalid(place, f"the record {name} has two fields {quote(field.name)}")
            record.fields.append(field)
            record.by_name[field.name] = field
        return record

    def _field(self, value: JSON, where: str, namespace: str, depth: int) -> Field:
        if not isinstance(value, dict):
            raise _invalid(where, f"a field is an object, not {quote(value)}")
        name = value.get("name")
        if not isinstance(name, str):
            raise _invalid(where, 'a field needs "name" with a text')
        self._check_name(name, where)
        if "type" not in value:
            raise _invalid(where, f'the field {quote(name)} needs "type"')
        order = value.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise _invalid(where, f"order is ascending, descending or ignore, not {quote(order)}")
        return Field(
            name,
            self.parse(value["type"], f"{where}/type", namespace, depth + 1),
            value.get("default", NO_DEFAULT),
            frozenset(_texts(value, "aliases", where)),
            _rest(value, _FIELD_KEYS),
        )

    def _enum(self, value: Object, where: str, namespace: str) -> AvroType:
        name, aliases = self._names(value, where, namespace)
        if not isinstance(value.get("symbols"), list):
            raise _invalid(where, f'the enum {name} needs "symbols" with a list')
        symbols = tuple(_texts(value, "symbols", where))
        symbol_set = frozenset(symbols)
        if len(symbol_set) < len(symbols):
            raise _invalid(where, f"the enum {name} has a symbol twice")
        for symbol in symbols:
            self._check_name(symbol, f"{where}/symbols")
        default = value.get("default")
        if default is not None and (not isinstance(default, str) or default not in symbol_set):
            raise _invalid(where, f"the default {quote(default)} of the enum {name} is none of its symbols")
        rest = _rest(value, _NAMED_KEYS | {"symbols", "default"})
        return self._define(Enum(name, aliases, rest, symbols, symbol_set, default), where)

    def _fixed(self, value: Object, where: str, namespace: str) -> AvroType:
        name, aliases = self._names(value, where, namespace)
        size = value.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_FIXED_SIZE:
            raise _invalid(where, f"the size of the fixed {name} is a number of bytes, not {quote(size)}")
        rest = _rest(value, _NAMED_KEYS | {"size"})
        return self._define(Fixed(name, aliases, rest, size), where)

    def _names(self, value: Object, where: str, namespace: str) -> tuple[str, frozenset[str]]:
        """Return the full name and the full aliases of a named type."""
        name = value.get("name")
        if not isinstance(name, str):
            raise _invalid(where, f'{quote(value["type"])} needs "name" with a text')
        own = value.get("namespace")
        space = own if isinstance(own, str) else namespace
        if len(name) + len(space) > MAX_NAME_LENGTH:
            raise _invalid(where, f"a full name has at most {MAX_NAME_LENGTH} letters")
        full = _full_name(name, space)
        self._check_name(full.rpartition(".")[2], where)
        space = full.rpartition(".")[0]
        return full, frozenset(_full_name(alias, space) for alias in _texts(value, "aliases", where))

    def _check_name(self, name: str, where: str) -> None:
        if self.strict and not _NAME.match(name):
            raise _invalid(
                where, f"{quote(name)} is no name of Avro: letters, digits and _, and no digit in front"
            )

    def _define(self, one: Fixed | Enum | Record, where: str) -> AvroType:
        if one.name in PRIMITIVES:
            raise _invalid(where, f"{quote(one.name)} is the name of a primitive type")
        if one.name in self.names:
            raise _invalid(where, f"the type {quote(one.name)} is defined twice")
        self.names[one.name] = one
        return one


def _full_name(name: str, namespace: str) -> str:
    """Return the full name; one with a dot is full already."""
    return name.lstrip(".") if "." in name or not namespace else f"{namespace}.{name}"


def _candidates(name: str, namespace: str) -> Iterator[str]:
    """Yield the full names that a reference may mean: in the namespace around it, then without one."""
    yield _full_name(name, namespace)
    yield name


def _rest(value: Object, keys: frozenset[str] | set[str]) -> Object:
    return {key: one for key, one in value.items() if key not in keys}


def _texts(value: Object, key: str, where: str) -> Iterator[str]:
    """Yield the texts of a list; none if there is no such key."""
    found = value.get(key, [])
    if not isinstance(found, list):
        raise _invalid(where, f'"{key}" is a list, not {quote(found)}')
    for one in found:
        if not isinstance(one, str):
            raise _invalid(where, f'"{key}" has texts, not {quote(one)}')
        yield one


def _invalid(where: str, reason: str) -> InvalidSchema:
    return InvalidSchema(f"the Avro schema is not valid at {where or '/'}: {reason}")
