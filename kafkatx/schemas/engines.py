"""The engine of each schema type, made when it is first asked for. Pure.

An engine may need a library, which the extra ``schemas`` installs.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Final, cast

from kafkatx.errors import KafkaTXError
from kafkatx.schemas.types import SchemaEngine, SchemaType

_PLACES: Final = {
    SchemaType.AVRO: ("kafkatx.schemas.avro.avro_engine", "AvroEngine"),
    SchemaType.JSON: ("kafkatx.schemas.json_schema.json_engine", "JsonSchemaEngine"),
    SchemaType.PROTOBUF: ("kafkatx.schemas.protobuf.protobuf_engine", "ProtobufEngine"),
}


_LIBRARIES: Final = {
    SchemaType.AVRO: "fastavro",
    SchemaType.JSON: "jsonschema",
    SchemaType.PROTOBUF: "google.protobuf",
}
"""The library that reads messages of a type."""


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
        raise _missing(schema_type, error.name) from error
    return cast(SchemaEngine, factory())


def check_library(schema_type: SchemaType) -> None:
    """Check that messages with schemas of a type can be read here, before the work begins.

    :raises MissingLibrary: the library is not installed.
    """
    library = _LIBRARIES[schema_type]
    if importlib.util.find_spec(library.partition(".")[0]) is None:
        raise _missing(schema_type, library)


def _missing(schema_type: SchemaType, library: str) -> MissingLibrary:
    return MissingLibrary(
        f"schemas of type {schema_type.value} need the library {library}, which is not installed: "
        "pip install 'kafkatx[schemas]'"
    )
