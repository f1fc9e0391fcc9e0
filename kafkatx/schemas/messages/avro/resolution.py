"""A writer's Avro schema and a reader's: two schemas with which fastavro gives what the reader's means. Pure.

fastavro takes logical types from the writer's schema alone, gives defaults as they stand in JSON, and finds
the branches of a union by names without their namespaces. So each type of the writer is paired here with the
type that reads it, and fastavro gets two schemas in which the types of a pair have one name of their own: the
writer's has the logical types of the reader's, and its records have the values of the reader's defaults.

Branches are found as Apache Avro for Java finds them: by the full name, by the name without its namespace,
then by promotion. A record is never read as one of another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from kafkatx.schemas.avro.avro_types import Array, AvroType, Enum, Field, Fixed, Map, Primitive, Record, Union
from kafkatx.schemas.messages.avro.default_values import NoValue, default_value
from kafkatx.schemas.messages.avro.fastavro_schemas import MOST_INLINE, Definitions, ParsedAvro
from kafkatx.schemas.messages.avro.logical_types import (
    AS_IT_IS,
    CONSTANTS,
    COPIES,
    DEFAULTS,
    prepare_readers,
    reading_annotation,
)
from kafkatx.schemas.messages.avro.shape import ParsedSchema

Pair: TypeAlias = tuple[ParsedSchema, ParsedSchema]
"""The writer's schema and the reader's."""

_SAME_BYTES = {("int", "long"), ("string", "bytes"), ("bytes", "string")}
_REAL = {("int", "float"), ("int", "double"), ("long", "float"), ("long", "double"), ("float", "double")}
_PROMOTED = _SAME_BYTES | _REAL


def resolved(writer: AvroType, reader: AvroType) -> tuple[ParsedAvro, ParsedAvro]:
    """Return the schemas with which fastavro reads data of a writer as a reader's."""
    prepare_readers()
    resolution = _Resolution()
    written, read = resolution.part(writer, reader)
    resolution.finish()
    return ParsedAvro(written, resolution.written), ParsedAvro(read, resolution.read)


class _Resolution:
    """The pairs of two schemas.

    :ivar written: the named types of the writer's schema, by their new names.
    :ivar read: those of the reader's.
    """

    def __init__(self) -> None:
        self.written: dict[str, Any] = {}
        self.read: dict[str, Any] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._waiting: list[tuple[str, Record, Record]] = []
        self._depth = 0
        self._count = 0
        self._unread = Definitions(lambda type_: {}, self._new_name, named=self.written)
        self._unwritten = Definitions(lambda type_: {}, self._new_name, named=self.read)

    def part(self, writer: AvroType, reader: AvroType) -> Pair:
        """Return the schemas of a part; with those of types that do not match fastavro refuses the data."""
        return self._pair(writer, reader) or (self._unread.schema(writer), self._unwritten.schema(reader))

    def finish(self) -> None:
        """Define the types that have been left out because they are nested deeply."""
        while self._waiting:
            self._fill(*self._waiting.pop())
        self._unread.finish()
        self._unwritten.finish()

    def _new_name(self, type_: Record | Enum | Fixed) -> str:
        self._count += 1
        return f"{re.sub('[^A-Za-z0-9_]', '_', type_.simple_name)}_{self._count}"

    def _pair(self, writer: AvroType, reader: AvroType) -> Pair | None:
        if isinstance(writer, Union):
            return self._written_union(writer, reader)
        if isinstance(reader, Union):
            branch = _branch(writer, reader)
            return None if branch is None else self._pair(writer, branch)
        if isinstance(writer, Primitive) and isinstance(reader, Primitive):
            return _primitives(writer, reader)
        if isinstance(writer, Array) and isinstance(reader, Array):
            written, read = self.part(writer.items, reader.items)
            return {"type": "array", "items": written}, {"type": "array", "items": read}
        if isinstance(writer, Map) and isinstance(reader, Map):
            written, read = self.part(writer.values, reader.values)
            return {"type": "map", "values": written}, {"type": "map", "values": read}
        if isinstance(writer, (Record, Enum, Fixed)) and isinstance(reader, (Record, Enum, Fixed)):
            return self._named(writer, reader)
        return None

    def _written_union(self, writer: Union, reader: AvroType) -> Pair | None:
        pairs = [self._pair(branch, reader) for branch in writer.branches]
        read = [pair[1] for pair in pairs if pair is not None]
        if not read:
            return None
        written = [
            self._unread.schema(branch) if pair is None else _kept(pair, read)
            for branch, pair in zip(writer.branches, pairs, strict=True)
        ]
        return written, read

    def _named(self, writer: Record | Enum | Fixed, reader: Record | Enum | Fixed) -> Pair | None:
        if writer.kind != reader.kind or not _same_name(writer, reader):
            return None
        if isinstance(writer, Fixed) and isinstance(reader, Fixed) and writer.size != reader.size:
            return None
        key = id(writer), id(reader)
        if key in self._names:
            return self._names[key], self._names[key]
        name = self._names[key] = self._new_name(reader)
        written: dict[str, Any] = {"type": writer.kind, "name": name}
        read: dict[str, Any] = dict(written)
        self.written[name], self.read[name] = written, read
        if isinstance(writer, Record) and isinstance(reader, Record):
            written["fields"], read["fields"] = [], []
            if self._depth >= MOST_INLINE:
                self._waiting.append((name, writer, reader))
                return name, name
            self._fill(name, writer, reader)
        elif isinstance(writer, Fixed):
            written.update(size=writer.size, **reading_annotation(reader))
            read.update(size=writer.size)
        elif isinstance(writer, Enum) and isinstance(reader, Enum):
            written.update(symbols=list(writer.symbols))
            read.update(symbols=list(reader.symbols), default=reader.default)
        return written, read

    def _fill(self, name: str, writer: Record, reader: Record) -> None:
        """Write the fields of a pair of records."""
        self._depth += 1
        written, read = self.written[name], self.read[name]
        targets = dict(_fields(writer, reader))
        for field in writer.fields:
            target = targets.get(field.name)
            if target is None:
                written["fields"].append({"name": field.name, "type": self._unread.schema(field.type)})
                continue
            types = self.part(field.type, target.type)
            written["fields"].append({"name": target.name, "type": types[0]})
            read["fields"].append({"name": target.name, "type": types[1]})
        matched = {target.name for target in targets.values()}
        self._fill_defaults(written, read, [field for field in reader.fields if field.name not in matched])
        self._depth -= 1

    def _fill_defaults(self, written: Any, read: Any, fields: list[Field]) -> None:
        constants, copies = {}, []
        for field in fields:
            try:
                value = default_value(field)
            except NoValue:
                read["fields"].append(
                    {"name": field.name, "type": "null"}
                )  # fastavro says that it is missing
                continue
            if isinstance(value, (dict, list)):
                copies.append((field.name, value))
            else:
                constants[field.name] = value
        if constants or copies:
            written.update({"logicalType": DEFAULTS, CONSTANTS: constants, COPIES: copies})


def _primitives(writer: Primitive, reader: Primitive) -> Pair | None:
    kinds = writer.kind, reader.kind
    if kinds in _REAL:
        return kinds
    if writer.kind != reader.kind and kinds not in _SAME_BYTES:
        return None
    found = reading_annotation(reader)
    return ({"type": reader.kind, **found} if found else reader.kind), reader.kind


def _kept(pair: Pair, branches: list[ParsedSchema]) -> ParsedSchema:
    """Return the writer's schema of a pair, so that no branch before the pair's own changes its value.

    fastavro takes the first branch that a value can be promoted to.
    """
    written, own = pair
    if not isinstance(written, str) or written != own:
        return written
    earlier = branches[: branches.index(own)]
    if any((written, branch) in _PROMOTED for branch in earlier if isinstance(branch, str)):
        return {"type": written, "logicalType": AS_IT_IS}
    return written


def _same_name(writer: Record | Enum | Fixed, reader: Record | Enum | Fixed) -> bool:
    return writer.simple_name == reader.simple_name or writer.name in reader.aliases


def _branch(writer: AvroType, reader: Union) -> AvroType | None:
    """Return the branch of a reader's union that reads a type of a writer; None if there is none."""
    same = [branch for branch in reader.branches if branch.kind == writer.kind]
    if isinstance(writer, (Record, Enum, Fixed)):
        named = [branch for branch in same if isinstance(branch, (Record, Enum, Fixed))]
        exact = (branch for branch in named if branch.name == writer.name)
        return next(exact, None) or next((each for each in named if _same_name(writer, each)), None)
    if same:
        return same[0]
    return next((branch for branch in reader.branches if (writer.kind, branch.kind) in _PROMOTED), None)


def _fields(writer: Record, reader: Record) -> Iterator[tuple[str, Field]]:
    """Yield the writer's fields that the reader has, by name or alias, each with the reader's field."""
    for field in reader.fields:
        if field.name in writer.by_name:
            yield field.name, field
            continue
        taken = (alias for alias in sorted(field.aliases) if alias in writer.by_name)
        alias = next((alias for alias in taken if alias not in reader.by_name), None)
        if alias is not None:
            yield alias, field
