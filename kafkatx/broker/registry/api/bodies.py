"""Bodies of requests. Members that are not known are ignored, never refused. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from kafkatx.registry.contents import Json
from kafkatx.registry.errors import RegistryError, invalid_schema, too_large
from kafkatx.registry.records import MAX_ID, references
from kafkatx.registry.registration import Candidate
from kafkatx.schemas.types import Schema, SchemaType
from kafkatx.web.calls import Call


def read_object(call: Call) -> Mapping[str, object]:
    """Return the body, which must be an object.

    :raises RegistryError: it is something else.
    :raises WebError: it is not JSON.
    """
    body = call.json()
    if not isinstance(body, dict):
        raise RegistryError(422, "the body must be an object of JSON")
    return body


def read_candidate(call: Call, max_bytes: int) -> Candidate:
    """Return the schema of a body.

    :param max_bytes: the size of its text.
    :raises RegistryError: a member is missing, or of another type; or the schema is too large.
    :raises WebError: the body is not JSON.
    """
    body = read_object(call)
    text = body.get("schema")
    if not isinstance(text, str) or not text.strip():
        raise invalid_schema(
            'Invalid schema: the body needs a member "schema" with the schema as text (JSON within a string)'
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise invalid_schema("Invalid schema: it has a half of a surrogate pair") from None
    if size > max_bytes:
        raise too_large(
            f"The schema is too large: {size} bytes, and kafkatx.schemas.max.bytes is {max_bytes}"
        )
    try:
        referred = references(body.get("references"))
    except ValueError as error:
        raise invalid_schema(f"Invalid schema: {error}") from None
    return Candidate(
        Schema(text, _read_type(body.get("schemaType")), referred),
        _read_object(body, "metadata", 42201),
        _read_object(body, "ruleSet", 42210),
        _read_number(body, "id", 0),
        _read_number(body, "version", 1),
    )


def _read_type(value: object) -> SchemaType:
    if value is None or value == "":
        return SchemaType.AVRO
    try:
        return SchemaType(value.upper() if isinstance(value, str) else value)
    except ValueError:
        raise invalid_schema(f"Invalid schema type {str(value)[:40]}") from None


def _read_object(body: Mapping[str, object], name: str, code: int) -> Json:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise RegistryError(code, f"{name} must be an object of JSON")
    return cast(Json, value)


def _read_number(body: Mapping[str, object], name: str, low: int) -> int | None:
    """Return a number; None if it is missing or below *low*, as clients say that the registry may choose."""
    value = body.get(name)
    if value is None:
        return None
    if type(value) is not int or value > MAX_ID:
        raise RegistryError(422, f"{name} must be a number up to {MAX_ID}")
    return value if value >= low else None
