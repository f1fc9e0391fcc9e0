"""Files that need no reference: Protobuf's own, and those of Confluent and Google for common types. Pure."""

from __future__ import annotations

import importlib
from typing import Final

from google.protobuf import descriptor_pb2 as pb

from kafkatx.schemas.protobuf.parser import parse_file

_OF_THE_LIBRARY: Final = (
    *("any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct", "timestamp"),
    *("type", "wrappers"),
)

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
    "google/type/date.proto": """
        syntax = "proto3";
        package google.type;
        message Date { int32 year = 1; int32 month = 2; int32 day = 3; }
    """,
    "google/type/timeofday.proto": """
        syntax = "proto3";
        package google.type;
        message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }
    """,
    "google/type/money.proto": """
        syntax = "proto3";
        package google.type;
        message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }
    """,
}


def well_known_file(path: str) -> pb.FileDescriptorProto | None:
    """Return the file that is imported by *path*; None if it is none of these."""
    if path in _TEXTS:
        return parse_file(_TEXTS[path], path)
    name = path.removeprefix("google/protobuf/").removesuffix(".proto")
    if name not in _OF_THE_LIBRARY or path != f"google/protobuf/{name}.proto":
        return None
    module = importlib.import_module(f"google.protobuf.{name}_pb2")
    found = pb.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(found)
    return found
