"""Protobuf schemas for tests, and protoc as the oracle."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import grpc_tools
from google.protobuf import descriptor_pb2 as pb
from grpc_tools import protoc

from kafkatx.schemas.protobuf.protobuf_engine import ProtobufEngine, ProtobufSchema
from kafkatx.schemas.types import Schema, SchemaType

ENGINE = ProtobufEngine()
INCLUDED = Path(str(grpc_tools.__file__)).parent / "_proto"
"""The files of Protobuf itself, as protoc has them."""


def parsed(text: str, dependencies: Mapping[str, str] | None = None) -> ProtobufSchema:
    """Parse a schema, with those that it imports by path."""
    needed = {path: Schema(one, SchemaType.PROTOBUF) for path, one in (dependencies or {}).items()}
    return ENGINE.parse(Schema(text, SchemaType.PROTOBUF), needed)


def message(body: str, name: str = "Order", syntax: str = "proto3") -> str:
    """Return a file with one message."""
    return f'syntax = "{syntax}"; message {name} {{ {body} }}'


def reasons(old: str, new: str) -> Sequence[str]:
    """Return why data of *old* cannot be read with *new*."""
    return ENGINE.incompatibilities(parsed(new), parsed(old))


def compiled(text: str) -> pb.FileDescriptorProto | None:
    """Return what protoc makes of a file; None if it refuses it."""
    with tempfile.TemporaryDirectory(prefix="kafkatx-protoc-") as folder:
        Path(folder, "schema.proto").write_text(text, encoding="utf-8")
        target = Path(folder, "out")
        arguments = [f"-I{folder}", f"-I{INCLUDED}", f"--descriptor_set_out={target}", "schema.proto"]
        if protoc.main(["protoc", *arguments]):
            return None
        return pb.FileDescriptorSet.FromString(target.read_bytes()).file[0]


def comparable(file: pb.FileDescriptorProto) -> pb.FileDescriptorProto:
    """Return a copy without names that protoc fills in, and without options that have messages as values."""
    copy = pb.FileDescriptorProto.FromString(file.SerializeToString())
    copy.ClearField("source_code_info")
    copy.name = "schema.proto"
    messages = list(copy.message_type)
    while messages:
        one = messages.pop()
        messages.extend(one.nested_type)
        for enum in one.enum_type:
            for value in enum.value:
                value.ClearField("options")
        for extension_range in one.extension_range:
            extension_range.ClearField("options")
        _strip(one.field)
        _strip(one.extension)
    _strip(copy.extension)
    return copy


def _strip(fields: Sequence[pb.FieldDescriptorProto]) -> None:
    for field in fields:
        field.ClearField("json_name")
        for name in ("uninterpreted_option", "edition_defaults", "feature_support"):
            field.options.ClearField(name)
        if not field.options.ByteSize():
            field.ClearField("options")
