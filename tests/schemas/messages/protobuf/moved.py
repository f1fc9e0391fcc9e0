"""Two versions of a Protobuf schema, of which the second begins with another message."""

from __future__ import annotations

from kafkatx.schemas.framing import prefix
from kafkatx.schemas.types import Schema, SchemaType

_ORDER = "message O { string id = 1; int64 c = 2; }"
_ADDRESS = "message A { string street = 1; int64 zip = 2; }"

FIRST = Schema(f'syntax = "proto3"; package s; {_ORDER}', SchemaType.PROTOBUF)
SECOND = Schema(f'syntax = "proto3"; package s; {_ADDRESS} {_ORDER}', SchemaType.PROTOBUF)
OTHER_TYPE = Schema(FIRST.text.replace("int64", "sint64"), SchemaType.PROTOBUF)
WITHOUT = Schema(SECOND.text.replace("O {", "P {"), SchemaType.PROTOBUF)

OF_FIRST = bytes.fromhex("00 0a024131 10e307")
OF_SECOND = bytes.fromhex("02 02 0a024132 10e407")
ADDRESS_OF_SECOND = bytes.fromhex("00 0a024133 10e507")

MESSAGES = (prefix(1) + OF_FIRST, prefix(2) + OF_SECOND, prefix(2) + ADDRESS_OF_SECOND)
"""An order of each version, with 1 and 2 as their ids, and an address."""
