"""Schemas that are sent as descriptors."""

from __future__ import annotations

import base64
from collections.abc import Callable

from google.protobuf import descriptor_pb2 as pb
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf.descriptor import read_descriptor
from kafkatx.schemas.types import InvalidSchema
from tests.schemas.protobuf.documents import parsed


def descriptor() -> pb.FileDescriptorProto:
    """Return a file with a message of one field."""
    file = pb.FileDescriptorProto(name="mine.proto", package="a", syntax="proto3")
    file.message_type.add(name="B").field.add(name="c", number=1, label=1, type=9)
    return file


def sent(file: pb.FileDescriptorProto) -> str:
    """Return the text in which a descriptor is sent."""
    return base64.b64encode(file.SerializeToString()).decode()


class DescriptorTests(SynchronousTestCase):
    def test_taken(self) -> None:
        """A descriptor is a schema as its text would be, and keeps its path."""
        schema = parsed(sent(descriptor()))
        self.assertEqual((schema.name, schema.file.name), ("a.B", "mine.proto"))
        self.assertEqual(
            schema.canonical, parsed('syntax="proto3"; package a; message B { string c = 1; }').canonical
        )

    def test_imported(self) -> None:
        """A descriptor can be imported by the name of its reference."""
        schema = parsed('import "x"; message D { optional a.B b = 1; }', {"x": sent(descriptor())})
        self.assertEqual(schema.files[0].name, "x")

    def test_other_texts(self) -> None:
        """A .proto file is no descriptor, nor is base64 of other data."""
        for text in ("message A {}", "aGVsbG8=", "", "é"):
            self.assertIsNone(read_descriptor(text))

    def test_custom_options(self) -> None:
        """Custom options that protoc has turned into bytes make a difference."""
        texts = set()
        for value in (1, 2):
            file = descriptor()
            file.options.ParseFromString(bytes([0xC0, 0x44, value]))
            texts.add(parsed(sent(file)).canonical)
        self.assertEqual(len(texts), 2)

    def test_refused(self) -> None:
        """Names that are none, texts that would say something else, and parts that do not fit are refused."""

        def oneof(file: pb.FileDescriptorProto) -> None:
            file.message_type[0].field[0].oneof_index = 7

        def default(file: pb.FileDescriptorProto) -> None:
            file.ClearField("syntax")
            file.message_type[0].field[0].type = pb.FieldDescriptorProto.TYPE_BYTES
            file.message_type[0].field[0].default_value = '", json_name = "x'

        def option(file: pb.FileDescriptorProto) -> None:
            one = file.options.uninterpreted_option.add(aggregate_value="} ; message X { ")
            one.name.add(name_part="a", is_extension=True)

        def entry(file: pb.FileDescriptorProto) -> None:
            file.message_type[0].nested_type.add(name="E").options.map_entry = True
            field = file.message_type[0].field.add(name="e", number=2, label=3, type=11, type_name=".a.B.E")
            self.assertEqual(field.number, 2)

        def name(file: pb.FileDescriptorProto) -> None:
            file.message_type[0].name = "B {} message C"

        def number(file: pb.FileDescriptorProto) -> None:
            file.message_type[0].field[0].number = -1

        changes: list[Callable[[pb.FileDescriptorProto], None]] = [
            oneof,
            default,
            option,
            entry,
            name,
            number,
        ]
        for change in changes:
            file = descriptor()
            change(file)
            self.assertRaises(InvalidSchema, parsed, sent(file))

    def test_not_unicode(self) -> None:
        """A name that is no Unicode is refused."""
        data = descriptor().SerializeToString().replace(b"mine", b"\xff\xfe\xfd\xfc")
        self.assertRaises(InvalidSchema, parsed, base64.b64encode(data).decode())
