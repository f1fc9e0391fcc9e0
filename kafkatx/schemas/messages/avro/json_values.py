"""Values of Avro schemas as JSON: both Avro's own JSON encoding and plain JSON in, plain JSON out.

Avro's encoding names the branch of a union, ``{"string": "a"}``, unless it is null, and has bytes as text
with one character for each byte. Plain JSON has the value alone; the first branch that it fits is taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from kafkatx.schemas.messages.avro.avro_format import described, parse
from kafkatx.schemas.messages.avro.fastavro_schemas import written_schema
from kafkatx.schemas.messages.avro.shape import PRIMITIVE, ParsedSchema
from kafkatx.schemas.messages.errors import BadValue
from kafkatx.schemas.types import Dependencies, Schema

_CLASSES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "string": (str,),
    "bytes": (str,),
}
_DEEPEST = 200


class AvroJson:
    """A converter of JSON to values for the writer of a schema."""

    def __init__(self, schema: Schema, dependencies: Dependencies) -> None:
        """Parse the schema.

        :raises InvalidSchema: it is not valid.
        """
        parsed = written_schema(parse(schema, dependencies))
        self._schema, self._named = parsed.schema, parsed.named

    def value(self, found: Any) -> Any:
        """Return a value for the writer.

        :raises BadValue: it does not fit the schema.
        """
        try:
            return self._convert(self._schema, found, 0)
        except (KeyError, TypeError, ValueError) as error:
            raise BadValue(f"the JSON does not match the schema: {described(error)}") from error

    def _convert(self, schema: ParsedSchema, found: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} levels deep")
        depth += 1
        if isinstance(schema, str):
            if schema in PRIMITIVE:
                return found.encode("latin-1") if schema == "bytes" and isinstance(found, str) else found
            return self._convert(self._named[schema], found, depth)
        if isinstance(schema, list):
            return self._union(schema, found, depth)
        kind = schema["type"]
        if kind in ("record", "error") and isinstance(found, Mapping):
            fields = {field["name"]: field["type"] for field in schema["fields"]}
            strange = found.keys() - fields.keys()
            if strange:
                raise ValueError(f"{schema['name']} has no field {min(strange)!r}")
            return {name: self._convert(fields[name], item, depth) for name, item in found.items()}
        if kind == "array" and isinstance(found, list):
            return [self._convert(schema["items"], item, depth) for item in found]
        if kind == "map" and isinstance(found, Mapping):
            return {name: self._convert(schema["values"], item, depth) for name, item in found.items()}
        if kind in ("bytes", "fixed") and isinstance(found, str):
            return found.encode("latin-1")
        if isinstance(kind, (dict, list)):
            return self._convert(kind, found, depth)
        return found

    def _union(self, branches: list[ParsedSchema], found: Any, depth: int) -> Any:
        if isinstance(found, Mapping) and len(found) == 1:
            (name,) = found
            for branch in branches:
                if name == _branch_name(branch) and name != "null":
                    item = self._convert(branch, found[name], depth)
                    return (name, item) if self._is_named(branch) else item
        for branch in branches:
            if self._fits(branch, found):
                return self._convert(branch, found, depth)
        raise ValueError(f"no branch of the union fits {str(found)[:60]!r}")

    def _is_named(self, branch: ParsedSchema) -> bool:
        return _branch_name(branch) not in (*PRIMITIVE, "array", "map")

    def _fits(self, given: ParsedSchema, found: Any) -> bool:
        branch: Any = given
        if isinstance(branch, str) and branch not in PRIMITIVE:
            branch = self._named[branch]
        kind = branch if isinstance(branch, str) else branch["type"]
        if kind in _CLASSES:
            is_bool = isinstance(found, bool)
            return isinstance(found, _CLASSES[kind]) and (kind == "boolean") == is_bool
        if kind in ("record", "error"):
            fields = {field["name"] for field in branch["fields"]}
            return isinstance(found, Mapping) and found.keys() <= fields
        if kind == "enum":
            return found in branch["symbols"]
        return isinstance(found, {"array": list, "map": Mapping}.get(kind, str))


def _branch_name(branch: ParsedSchema) -> str:
    if isinstance(branch, str):
        return branch
    return str(branch.get("name", branch["type"])) if isinstance(branch, dict) else ""


def to_json(value: Any) -> str:
    """Return a value as a line of JSON; bytes have a character for each byte, as in Avro's own encoding."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("latin-1")
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if hasattr(value, "DESCRIPTOR"):
        from kafkatx.schemas.messages.protobuf.message_values import as_dict

        return as_dict(value)
    return str(value)
