"""The types of Avro, as parsed from a schema. Pure.

A record may contain itself, so the values are compared by identity, and a record's fields are filled in after
the record is made; nothing changes after the parse.
"""

from __future__ import annotations

import enum
from typing import Final, TypeAlias

import attrs

from kafkatx.schemas.json_text import JSON, Object


class NoDefault(enum.Enum):
    """The default of a field that has none; null is a default."""

    NO_DEFAULT = enum.auto()


NO_DEFAULT: Final = NoDefault.NO_DEFAULT

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


@attrs.define(eq=False)
class Primitive:
    """A type without parts.

    :ivar kind: its name in schemas, such as ``long``.
    :ivar attributes: what else stands in its object, such as ``logicalType``, as with all types.
    """

    kind: str
    attributes: Object


@attrs.define(eq=False)
class Array:
    """A list of values of one type."""

    items: AvroType
    attributes: Object
    kind: Final = "array"


@attrs.define(eq=False)
class Map:
    """A mapping of texts to values of one type."""

    values: AvroType
    attributes: Object
    kind: Final = "map"


@attrs.define(eq=False)
class Union:
    """A choice between types."""

    branches: tuple[AvroType, ...]
    kind: Final = "union"


@attrs.define(eq=False)
class Named:
    """A type that others refer to by name.

    :ivar name: its full name.
    :ivar aliases: other full names of it, for data of writers that used them.
    :ivar attributes: also has ``doc``.
    """

    name: str
    aliases: frozenset[str]
    attributes: Object

    @property
    def namespace(self) -> str:
        """The part of the full name before its last dot; empty if there is none."""
        return self.name.rpartition(".")[0]

    @property
    def simple_name(self) -> str:
        """The part of the full name after its last dot."""
        return self.name.rpartition(".")[2]


@attrs.define(eq=False)
class Fixed(Named):
    """A type of bytes of one size."""

    size: int
    kind: Final = "fixed"


@attrs.define(eq=False)
class Enum(Named):
    """A choice between symbols.

    :ivar default: the symbol for those that the reader does not know.
    """

    symbols: tuple[str, ...]
    symbol_set: frozenset[str]
    default: str | None
    kind: Final = "enum"


@attrs.define(eq=False)
class Field:
    """A field of a record.

    :ivar attributes: also has ``doc`` and ``order``.
    """

    name: str
    type: AvroType
    default: JSON | NoDefault
    aliases: frozenset[str]
    attributes: Object


@attrs.define(eq=False)
class Record(Named):
    """A type with fields.

    :ivar kind: ``error`` for the errors of a protocol, else ``record``.
    """

    written_kind: str
    fields: list[Field] = attrs.field(factory=list)
    by_name: dict[str, Field] = attrs.field(factory=dict)
    kind: Final = "record"


AvroType: TypeAlias = Primitive | Array | Map | Union | Fixed | Enum | Record
