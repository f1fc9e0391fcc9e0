"""The engine of each schema type, made when it is first asked for. Pure.

An engine may need a library, which the extra ``schemas`` installs.
"""

from __future__ import annotations

import functools
import importlib
from typing import Final, cast

from kafkatx.errors import KafkaTXError
from kafkatx.schemas.types import SchemaEngine, SchemaType

_PLACES: Final = {
    SchemaType.AVRO: ("kafkatx.schemas.avro.avro_engine", "AvroEngine"),
    SchemaType.JSON: ("kafkatx.schemas.json_schema.json_engine", "JsonSchemaEngine"),
    SchemaType.PROTOBUF: ("kafkatx.schemas.protobuf.protobuf_engine", "ProtobufEngine"),
}


class MissingLibrary(KafkaTXError):
    """The library of a schema type is not installed; the message says what to install."""


@functools.cache
def engine(schema_type: SchemaType) -> SchemaEngine:
    """Return the engine of a schema type.

    :raises MissingLibrary: its library is not installed.
    """
    module, name = _PLACES[schema_type]
    try:
        factory = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("kafkatx"):
            raise
        raise MissingLibrary(
            f"schemas of type {schema_type.value} need the library {error.name}, which is not installed: "
            "pip install 'kafkatx[schemas]'"
        ) from error
    return cast(SchemaEngine, factory())
