"""Keys and values of what people type. Pure.

``avro``, ``json-schema`` and ``protobuf`` take JSON, and put the id of the schema before the message.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final

from kafkatx.errors import KafkaTXError
from kafkatx.schemas import framing
from kafkatx.schemas.messages.avro.json_values import AvroJson
from kafkatx.schemas.messages.formats import NAMES, new_format
from kafkatx.schemas.types import SchemaType
from kafkatx.views.formats.registered import Described, described_schema
from kafkatx.views.requests import Typed


class BadText(KafkaTXError, ValueError):
    """A text is not what its format takes."""


def _json(text: str) -> bytes:
    _loaded(text)
    return text.encode()


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise BadText("JSON that is nested too deeply") from None
    except ValueError as error:
        raise BadText(f"no JSON: {error}") from None


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise BadText(f"no hexadecimal digits: {error}") from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadText(f"no base64: {error}") from None


def _number(layout: Struct, name: str) -> Callable[[str], bytes]:
    def encode(text: str) -> bytes:
        try:
            return layout.pack(int(text[:40]))
        except Exception:  # struct.error is one of its own
            bits = layout.size * 8 - 1
            raise BadText(f"no {name}: a whole number from -2^{bits} to 2^{bits} - 1") from None

    return encode


_SIMPLE: Final[Mapping[str, Callable[[str], bytes]]] = {
    "text": str.encode,
    "json": _json,
    "hex": _hex,
    "base64": _base64,
    "int": _number(Struct(">i"), "int"),
    "long": _number(Struct(">q"), "long"),
}
FORMATS: Final = (*_SIMPLE, *NAMES)
"""The names of formats that can be typed."""


def encode(typed: Typed, schemas: Mapping[str, Described]) -> bytes | None:
    """Return the bytes of a key or value.

    :param schemas: the descriptions of schemas, by reference.
    :raises BadText: the text is not what the format takes, or does not match the schema.
    """
    if typed.text is None:
        return None
    if typed.format in _SIMPLE:
        try:
            return _SIMPLE[typed.format](typed.text)
        except UnicodeEncodeError as error:
            raise BadText(f"character {error.start + 1} is half of one: it cannot be encoded") from None
    if typed.format not in NAMES:
        raise BadText(f"there is no format {typed.format!r}; there are {', '.join(FORMATS)}")
    return _with_schema(typed.text, typed.format, schemas[typed.schema or ""])


def _with_schema(text: str, name: str, described: Described) -> bytes:
    number = described.get("id")
    if described.get("error") or not isinstance(number, int):
        raise BadText(f"there is no schema: {described.get('error')}")
    value: object = _loaded(text)
    try:
        schema, dependencies = described_schema(described)
        if schema.type is not NAMES[name]:
            raise BadText(f"its schema is of type {schema.type.value}: choose that format")
        if schema.type is SchemaType.AVRO:
            value = AvroJson(schema, dependencies).value(value)
        _, write = new_format(schema.type).writer(schema, dependencies, framing.prefix(number), None)
        return write(value)
    except KafkaTXError as error:
        raise BadText(str(error)) from None
    except RecursionError:
        raise BadText("it is nested too deeply") from None
