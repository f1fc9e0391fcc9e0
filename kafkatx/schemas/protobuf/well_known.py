"""Files that need no reference: Protobuf's own, and those of Confluent and Google for common types. Pure."""

from __future__ import annotations

import importlib
from typing import Final

from google.protobuf import descriptor_pb2 as pb

from kafkatx.schemas.protobuf.parser import parse_file
from kafkatx.schemas.types import InvalidSchema

_OF_LIBRARIES: Final = {
    "google/protobuf": (
        *("any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct"),
        *("timestamp", "type", "wrappers"),
    ),
    "google/type": (
        *("calendar_period", "color", "date", "datetime", "dayofweek", "decimal", "expr", "fraction"),
        *(
            "interval",
            "latlng",
            "money",
            "month",
            "phone_number",
            "postal_address",
            "quaternion",
            "timeofday",
        ),
    ),
}
"""The files of protobuf and of googleapis-common-protos, by folder."""

_TEXTS: Final = {
    "confluent/meta.proto": """
        syntax = "proto3";
        package confluent;
        import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
        extend google.protobuf.FileOptions { Meta file_meta = 1088; }
        extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
        extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
        extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
    """,
    "confluent/type/decimal.proto": """
        syntax = "proto3";
        package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
    """,
}


def well_known_file(path: str) -> pb.FileDescriptorProto | None:
    """Return the file that is imported by *path*; None if it is none of these.

    :raises InvalidSchema: the library that has it is not installed.
    """
    if path in _TEXTS:
        return parse_file(_TEXTS[path], path)
    folder, _, file = path.rpartition("/")
    name = file.removesuffix(".proto")
    if name not in _OF_LIBRARIES.get(folder, ()) or path != f"{folder}/{name}.proto":
        return None
    try:
        module = importlib.import_module(f"{folder.replace('/', '.')}.{name}_pb2")
    except ModuleNotFoundError:
        raise InvalidSchema(
            f"the import {path} needs googleapis-common-protos: pip install 'kafkatx[schemas]'"
        ) from None
    found = pb.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(found)
    return found
