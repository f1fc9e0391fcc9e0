"""The comparison of a reader's Avro type with a writer's: schema resolution, before there are data. Pure.

The verdicts are those of Apache Avro for Java, which Confluent's registry gives: names are compared without
their namespace, a reader's aliases are names of writers, bytes and strings can read each other, and a logical
type says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kafkatx.schemas.avro.avro_types import (
    NO_DEFAULT,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Record,
    Union,
)
from kafkatx.schemas.limits import MAX_REASONS
from kafkatx.schemas.places import below
from kafkatx.schemas.recursion import TooManySteps, Walk, run

_PROMOTIONS: Final = {
    "long": frozenset({"int"}),
    "float": frozenset({"int", "long"}),
    "double": frozenset({"int", "long", "float"}),
    "bytes": frozenset({"string"}),
    "string": frozenset({"bytes"}),
}
"""The writer's types that a reader's type can read beside itself."""

Reasons = Sequence[str]

MAX_SHOWN: Final = 20
"""Symbols that a reason names."""


def incompatibilities(reader: AvroType, writer: AvroType) -> Reasons:
    """Return why *reader* cannot read data of *writer*, at most ``MAX_REASONS`` times."""
    try:
        return run(_Comparison().compare(reader, writer, ""))
    except TooManySteps:
        return ["the schemas are too large to compare"]


class _Comparison:
    """One comparison: the results of pairs so far, and the names in unions."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Reasons] = {}
        self._branches: dict[int, _Branches] = {}

    def compare(self, reader: AvroType, writer: AvroType, where: str) -> Walk[Reasons]:
        """Return the reasons for one pair; a pair that is being compared further up is compatible.

        :param where: the place in the reader's schema, as a JSON pointer.
        """
        key = (id(reader), id(writer))
        if key not in self._known:
            self._known[key] = ()
            self._known[key] = yield self._compute(reader, writer, where)
        return self._known[key]

    def _compute(self, reader: AvroType, writer: AvroType, where: str) -> Walk[Reasons]:
        if isinstance(writer, Union):
            return (yield self._writer_union(reader, writer, where))
        if isinstance(reader, Union):
            return (yield self._reader_union(reader, writer, where))
        if isinstance(reader, Array) and isinstance(writer, Array):
            return (yield self.compare(reader.items, writer.items, below(where, "items")))
        if isinstance(reader, Map) and isinstance(writer, Map):
            return (yield self.compare(reader.values, writer.values, below(where, "values")))
        if isinstance(reader, Record) and isinstance(writer, Record):
            return (yield self._records(reader, writer, where))
        if isinstance(reader, Enum) and isinstance(writer, Enum):
            return [*_names(reader, writer, where), *_symbols(reader, writer, where)]
        if isinstance(reader, Fixed) and isinstance(writer, Fixed):
            return [*_names(reader, writer, where), *_sizes(reader, writer, where)]
        if reader.kind == writer.kind or writer.kind in _PROMOTIONS.get(reader.kind, ()):
            return ()
        kinds = f"the reader's type {reader.kind} cannot read the writer's type {writer.kind}"
        return (f"TYPE_MISMATCH at {where or '/'}: {kinds}",)

    def _writer_union(self, reader: AvroType, writer: Union, where: str) -> Walk[Reasons]:
        found: list[str] = []
        for index, branch in enumerate(writer.branches):
            place = below(where, index)
            reasons = yield self.compare(reader, branch, place)
            if reasons and isinstance(reader, Union):
                reasons = (_missing_branch(branch, place),)
            found.extend(reasons)
            del found[MAX_REASONS:]
        return found

    def _reader_union(self, reader: Union, writer: AvroType, where: str) -> Walk[Reasons]:
        if id(reader) not in self._branches:
            self._branches[id(reader)] = _Branches(reader)
        for branch in self._branches[id(reader)].candidates(writer):
            if not (yield self.compare(branch, writer, where)):
                return ()
        return (_missing_branch(writer, where),)

    def _records(self, reader: Record, writer: Record, where: str) -> Walk[Reasons]:
        found = [*_names(reader, writer, where)]
        for index, field in enumerate(reader.fields):
            place = below(where, "fields", index)
            matches = _writer_fields(field, writer)
            if len(matches) == 1:
                found.extend((yield self.compare(field.type, matches[0].type, below(place, "type"))))
            elif matches:
                names = ", ".join(match.name for match in matches)
                found.append(
                    f"AMBIGUOUS_ALIASES at {place}: the reader's field {field.name} may be any of the "
                    f"writer's fields {names}"
                )
            elif field.default is NO_DEFAULT:
                found.append(
                    f"READER_FIELD_MISSING_DEFAULT_VALUE at {place}: the reader's field {field.name} has no "
                    "default, and the writer has no such field"
                )
            del found[MAX_REASONS:]
        return found


class _Branches:
    """The branches of a reader's union by name, so that large unions are compared in one pass."""

    def __init__(self, union: Union) -> None:
        self._named: dict[str, list[AvroType]] = {}
        self._unnamed: list[AvroType] = []
        for branch in union.branches:
            if isinstance(branch, (Fixed, Enum, Record)):
                for name in {branch.simple_name, *branch.aliases}:
                    self._named.setdefault(name, []).append(branch)
            else:
                self._unnamed.append(branch)

    def candidates(self, writer: AvroType) -> Iterable[AvroType]:
        """Return the branches that may read the type of a writer."""
        if isinstance(writer, (Fixed, Enum, Record)):
            named = self._named.get(writer.simple_name, [])
            return [*named, *self._named.get(writer.name, [])] if writer.namespace else named
        return self._unnamed


def _writer_fields(field: Field, writer: Record) -> Sequence[Field]:
    """Return the writer's fields that a reader's field matches, by its name and its aliases."""
    names = [name for name in sorted(field.aliases & writer.by_name.keys()) if name != field.name]
    if field.name in writer.by_name:
        names.insert(0, field.name)
    return [writer.by_name[name] for name in names]


def _names(reader: Fixed | Enum | Record, writer: Fixed | Enum | Record, where: str) -> Reasons:
    if reader.simple_name == writer.simple_name or writer.name in reader.aliases:
        return ()
    reason = f"the reader's type has the name {reader.name}, the writer's {writer.name}"
    return (f"NAME_MISMATCH at {where}/name: {reason}",)


def _symbols(reader: Enum, writer: Enum, where: str) -> Reasons:
    missing = sorted(writer.symbol_set - reader.symbol_set)
    if not missing or reader.default is not None:
        return ()
    reason = f"the reader's enum has no default, and not the writer's {', '.join(missing[:MAX_SHOWN])}"
    return (f"MISSING_ENUM_SYMBOLS at {where}/symbols: {reason}",)


def _sizes(reader: Fixed, writer: Fixed, where: str) -> Reasons:
    if reader.size == writer.size:
        return ()
    reason = f"the reader's size is {reader.size}, the writer's {writer.size}"
    return (f"FIXED_SIZE_MISMATCH at {where}/size: {reason}",)


def _missing_branch(writer: AvroType, where: str) -> str:
    kind = writer.name if isinstance(writer, (Fixed, Enum, Record)) else writer.kind
    reason = f"the reader's union has no branch for the writer's type {kind}"
    return f"MISSING_UNION_BRANCH at {where or '/'}: {reason}"
