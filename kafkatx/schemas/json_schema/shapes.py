"""Shapes of JSON schemas: the keywords of a schema, grouped by the kind of value that they speak of. Pure.

A schema speaks of one kind of value, or combines others. The groups are those that Confluent's registry
compares: keywords for texts, numbers, arrays and objects each make a shape, also without ``type``; several
groups in one schema, and a group beside ``enum``, ``not`` or ``anyOf``, are all to be met; a list of types is
a choice between shapes.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence
from typing import Final

import attrs

from kafkatx.schemas.json_schema.document import Document
from kafkatx.schemas.json_text import JSON, Object, dump_sorted


class Kind(enum.Enum):
    """The kind of a shape."""

    ANY = "any value"
    NEVER = "no value"
    STRING = "string"
    NUMBER = "number"
    OBJECT = "object"
    ARRAY = "array"
    BOOLEAN = "boolean"
    NULL = "null"
    CONST = "const"
    ENUM = "enum"
    NOT = "not"
    CONDITION = "if"
    COMBINED = "a combination"


class Criterion(enum.Enum):
    """The number of members of a combination that a value must fit: all, any, or exactly one."""

    ALL = "allOf"
    ANY = "anyOf"
    ONE = "oneOf"


_KINDS: Final = {
    "string": Kind.STRING,
    "number": Kind.NUMBER,
    "integer": Kind.NUMBER,
    "object": Kind.OBJECT,
    "array": Kind.ARRAY,
    "boolean": Kind.BOOLEAN,
    "null": Kind.NULL,
}

_GROUPS: Final = {
    Kind.STRING: {"maxLength", "minLength", "pattern"},
    Kind.NUMBER: {"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"},
    Kind.ARRAY: {
        *("additionalItems", "contains", "items", "maxContains", "maxItems", "minContains", "minItems"),
        *("prefixItems", "unevaluatedItems", "uniqueItems"),
    },
    Kind.OBJECT: {
        *("additionalProperties", "dependencies", "dependentRequired", "dependentSchemas", "maxProperties"),
        *("minProperties", "patternProperties", "properties", "propertyNames", "required"),
        "unevaluatedProperties",
    },
}


@attrs.frozen(eq=False)
class Shape:
    """A part of a schema that speaks of one kind of value.

    :ivar source: the object that has the keywords; empty for ``true`` and ``false``.
    :ivar document: the document that it is part of, which knows its references.
    :ivar integer: True for a number that must be whole.
    :ivar members: the schemas of a combination, or the one of ``not``.
    """

    kind: Kind
    source: Object
    document: Shapes
    integer: bool = False
    criterion: Criterion = Criterion.ALL
    members: tuple[Shape | JSON, ...] = ()

    def part(self, schema: JSON) -> Shape:
        """Return the shape of a schema within this one."""
        return self.document.shape(schema)

    def schemas(self, keyword: str) -> Object:
        """Return the value of a keyword that is an object of schemas; empty if there is none."""
        found = self.source.get(keyword)
        return found if isinstance(found, dict) else {}

    def distinct_members(self) -> list[Shape]:
        """Return the members of a combination, equal ones once."""
        found: dict[tuple[Kind, bool, bytes], Shape] = {}
        for member in self.members:
            shape = member if isinstance(member, Shape) else self.part(member)
            found.setdefault(shape.identity(), shape)
        return list(found.values())

    def identity(self) -> tuple[Kind, bool, bytes]:
        """Return a value that is equal for equal members of one combination."""
        return self.kind, self.integer, self.document.digest(self.source)


class Shapes:
    """The shapes of a document, each made once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[int, Shape] = {}
        self._any, self._never = Shape(Kind.ANY, {}, self), Shape(Kind.NEVER, {}, self)
        self._digests: dict[int, bytes] = {}
        self._lists: dict[int, frozenset[str]] = {}

    @property
    def root(self) -> Shape:
        """The shape of the whole document."""
        return self.shape(self._document.root)

    def shape(self, schema: JSON) -> Shape:
        """Return the shape of a schema of the document; of a reference, the one that it leads to."""
        if not isinstance(schema, dict):
            return self._never if schema is False else self._any
        if id(schema) not in self._known:
            self._known[id(schema)] = self._make(schema)
        return self._known[id(schema)]

    def digest(self, source: Object) -> bytes:
        """Return a digest that is equal for equal objects, computed once for each object of the document."""
        if not source:
            return b""
        if id(source) not in self._digests:
            text = dump_sorted(source).encode()
            self._digests[id(source)] = hashlib.sha256(text).digest()
        return self._digests[id(source)]

    def texts(self, values: JSON | None) -> frozenset[str]:
        """Return the texts of the values of a list, computed once for each list of the document."""
        if not isinstance(values, list):
            return frozenset()
        if id(values) not in self._lists:
            self._lists[id(values)] = frozenset(dump_sorted(one) for one in values)
        return self._lists[id(values)]

    def _make(self, schema: Object) -> Shape:
        """Make the shape of a schema; the document has checked that its references soon lead somewhere."""
        own = self._own_shapes(schema)
        target = self._document.target(schema)
        if target is None:
            return self._together(schema, own)
        if own and self._document.siblings:
            return self._together(schema, [*own, target])
        return self.shape(target)

    def _together(self, schema: Object, members: Sequence[Shape | JSON]) -> Shape:
        """Return the shape of values that fit all members."""
        if not members:
            return Shape(Kind.ANY, schema, self)
        if len(members) == 1 and isinstance(members[0], Shape):
            return members[0]
        return Shape(Kind.COMBINED, schema, self, criterion=Criterion.ALL, members=tuple(members))

    def _own_shapes(self, schema: Object) -> list[Shape]:
        """Return the shapes of a schema's keywords, without its reference."""
        found = self._type_shapes(schema)
        for keyword, kind in (("const", Kind.CONST), ("enum", Kind.ENUM), ("if", Kind.CONDITION)):
            if keyword in schema:
                found.append(Shape(kind, schema, self))
        if "not" in schema:
            found.append(Shape(Kind.NOT, schema, self, members=(schema["not"],)))
        for criterion in Criterion:
            members = schema.get(criterion.value)
            if isinstance(members, list):
                combined = Shape(Kind.COMBINED, schema, self, criterion=criterion, members=tuple(members))
                found.append(combined)
        return found

    def _type_shapes(self, schema: Object) -> list[Shape]:
        types = schema.get("type")
        if isinstance(types, str):
            return [self._typed(schema, types)]
        if isinstance(types, list):
            members = tuple(self._typed(schema, str(one)) for one in types)
            return [Shape(Kind.COMBINED, schema, self, criterion=Criterion.ANY, members=members)]
        return [Shape(kind, schema, self) for kind, group in _GROUPS.items() if not group.isdisjoint(schema)]

    def _typed(self, schema: Object, name: str) -> Shape:
        return Shape(_KINDS[name], schema, self, integer=name == "integer")
