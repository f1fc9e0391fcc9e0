"""Replies of a schema registry: values, and the checks of the JSON that they are read from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.schemas.types import Dependencies, Reference, Schema, SchemaType

T = TypeVar("T")


@attrs.frozen
class RegisteredSchema:
    """A schema with its places in the registry.

    :ivar id: -1 if the reply does not tell it; *guid* and *subject* then are empty, *version* 0.
    :ivar dependencies: the schemas that it refers to, also indirectly; see :data:`Dependencies`.
    """

    schema: Schema
    id: int = -1
    guid: str = ""
    subject: str = ""
    version: int = 0
    dependencies: Dependencies = attrs.field(factory=dict, repr=False)


def read_body(status: int, body: bytes) -> Any:
    """Return the JSON of a reply.

    :raises RegistryError: it is an error of the registry.
    :raises RegistryUnavailable: it is no reply of a registry.
    """
    try:
        found = json.loads(body) if body.strip() else None
    except (ValueError, RecursionError):
        found = None
        if status < 300:
            raise RegistryUnavailable(f"the reply is not JSON: {body[:60]!r}") from None
    if status < 300:
        return found
    if isinstance(found, dict) and isinstance(found.get("error_code"), int):
        raise RegistryError(status, found["error_code"], str(found.get("message", "no message")))
    if status in (401, 403):
        raise RegistryError(status, status, "access refused: set basic.auth.user.info or bearer.auth.token")
    raise RegistryError(status, status, f"HTTP status {status}: {body[:60]!r}")


def field(found: object, name: str, kind: type[T], default: T | None = None) -> T:
    """Return a field of a JSON object.

    :raises RegistryUnavailable: it is missing (and there is no default) or of another type.
    """
    if isinstance(found, dict):
        value = found.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
    raise RegistryUnavailable(f"the reply lacks {name!r}: is it a schema registry?")


def read_schema(found: object) -> Schema:
    """Return the schema in a reply.

    :raises RegistryUnavailable: it is malformed, or of a type that is not known here.
    """
    kind = field(found, "schemaType", str, "AVRO")
    if kind not in SchemaType.__members__:
        raise RegistryUnavailable(f"the schema is of type {kind}, which this client does not know")
    references = tuple(
        Reference(field(each, "name", str), field(each, "subject", str), field(each, "version", int))
        for each in field(found, "references", list, [])
    )
    return Schema(field(found, "schema", str), SchemaType[kind], references)


def read_registered(found: object) -> RegisteredSchema:
    """Return a schema with its places, without its dependencies.

    :raises RegistryUnavailable: the reply is malformed.
    """
    return RegisteredSchema(
        read_schema(found),
        field(found, "id", int, -1),
        field(found, "guid", str, ""),
        field(found, "subject", str, ""),
        field(found, "version", int, 0),
    )


def read_names(found: object) -> list[str]:
    """Return a list of names.

    :raises RegistryUnavailable: the reply is malformed.
    """
    if isinstance(found, list) and all(isinstance(each, str) for each in found):
        return found
    raise RegistryUnavailable("the reply is no list of names: is it a schema registry?")


def read_numbers(found: object) -> list[int]:
    """Return a list of versions.

    :raises RegistryUnavailable: the reply is malformed.
    """
    if isinstance(found, int):
        return [found]
    if isinstance(found, list) and all(isinstance(each, int) for each in found):
        return found
    raise RegistryUnavailable("the reply is no list of versions: is it a schema registry?")


def schema_body(schema: Schema) -> dict[str, object]:
    """Return the fields of a request that carries a schema."""
    body: dict[str, object] = {"schema": schema.text}
    if schema.type is not SchemaType.AVRO:
        body["schemaType"] = schema.type.value
    if schema.references:
        body["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version}
            for each in schema.references
        ]
    return body


def as_mapping(found: object) -> Mapping[str, Any]:
    """Return a JSON object.

    :raises RegistryUnavailable: the reply is something else.
    """
    if isinstance(found, dict):
        return found
    raise RegistryUnavailable("the reply is no JSON object: is it a schema registry?")
