"""The format of each schema language, and their names in settings. Pure."""

from __future__ import annotations

from kafkatx.errors import SettingError
from kafkatx.schemas.messages.avro.avro_format import AvroFormat
from kafkatx.schemas.messages.format import MessageFormat
from kafkatx.schemas.messages.json_schema import JsonSchemaFormat
from kafkatx.schemas.messages.protobuf.protobuf_format import ProtobufFormat
from kafkatx.schemas.types import SchemaType

NAMES = {"avro": SchemaType.AVRO, "json-schema": SchemaType.JSON, "protobuf": SchemaType.PROTOBUF}


def new_format(kind: SchemaType) -> MessageFormat:
    """Return a format of a language."""
    match kind:
        case SchemaType.AVRO:
            return AvroFormat()
        case SchemaType.JSON:
            return JsonSchemaFormat()
        case SchemaType.PROTOBUF:
            return ProtobufFormat()


def schema_type(option: str, name: str) -> SchemaType:
    """Return the language that a setting names.

    :raises SettingError: there is no such language.
    """
    if name not in NAMES:
        raise SettingError(f"{option} {name}: there are {', '.join(NAMES)}")
    return NAMES[name]
