"""One text for equal Avro schemas. Pure.

Confluent's registry takes two schemas for the same if they are equal with their documentation, defaults,
aliases and other attributes; Avro's Parsing Canonical Form, which leaves these out, would take too many for
the same. So this form keeps them all, and only

*   writes full names in place of a name and a namespace,
*   writes a primitive type without attributes as its name, and a type by name after its first time,
*   leaves out the attributes that say nothing (the order ``ascending``, empty lists of aliases),
*   sorts keys, but for those of Avro, which have an order of their own, and has no blanks.

The same text is what ``normalize=true`` stores: each schema means the same as the text that it was made of.
"""

from __future__ import annotations

from kafkatx.schemas.avro.avro_types import (
    NO_DEFAULT,
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
from kafkatx.schemas.json_text import JSON, Object, dump, dump_sorted, load


def canonical_text(root: AvroType, known: frozenset[str]) -> str:
    """Return the text of a schema.

    :param known: the full names that references define.
    """
    return dump(_Writer(set(known)).write(root))


class _Writer:
    """Makes JSON of types; knows the names that are defined already."""

    def __init__(self, known: set[str]) -> None:
        self._known = known

    def write(self, one: AvroType, namespace: str = "") -> JSON:
        """Return the JSON of a type that stands in a record of *namespace*."""
        if isinstance(one, Union):
            return [self.write(branch, namespace) for branch in one.branches]
        if isinstance(one, Primitive):
            return {"type": one.kind, **_sorted(one.attributes)} if one.attributes else one.kind
        if isinstance(one, Array):
            return {"type": "array", "items": self.write(one.items, namespace), **_sorted(one.attributes)}
        if isinstance(one, Map):
            return {"type": "map", "values": self.write(one.values, namespace), **_sorted(one.attributes)}
        if one.name in self._known:
            return one.name
        self._known.add(one.name)
        return self._named(one, namespace)

    def _named(self, one: Fixed | Enum | Record, namespace: str) -> Object:
        written: Object = {
            "type": one.written_kind if isinstance(one, Record) else one.kind,
            "name": one.name,
        }
        if namespace and not one.namespace:
            written["namespace"] = ""
        if isinstance(one, Fixed):
            written["size"] = one.size
        elif isinstance(one, Enum):
            written["symbols"] = [*one.symbols]
            if one.default is not None:
                written["default"] = one.default
        else:
            written["fields"] = [self._field(field, one.namespace) for field in one.fields]
        if one.aliases:
            written["aliases"] = [*sorted(one.aliases)]
        return {**written, **_sorted(one.attributes)}

    def _field(self, field: Field, namespace: str) -> Object:
        written: Object = {"name": field.name, "type": self.write(field.type, namespace)}
        if field.default is not NO_DEFAULT:
            written["default"] = _sorted_deep(field.default)
        if field.aliases:
            written["aliases"] = [*sorted(field.aliases)]
        attributes = dict(field.attributes)
        if str(attributes.get("order", "")).lower() == "ascending":
            del attributes["order"]
        return {**written, **_sorted(attributes)}


def _sorted(attributes: Object) -> Object:
    return {key: _sorted_deep(attributes[key]) for key in sorted(attributes)}


def _sorted_deep(value: JSON) -> JSON:
    """Return a value of JSON with the keys of all its objects in order."""
    return load(dump_sorted(value)) if isinstance(value, (dict, list)) else value
