"""A file descriptor as a .proto file: one text for equal ones, which the parser reads as the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor import FieldDescriptor

from kafkatx.schemas.protobuf.fields import SCALARS
from kafkatx.schemas.protobuf.lexer import Token, unquote
from kafkatx.schemas.protobuf.options import Options

Field = pb.FieldDescriptorProto

_SCALAR_NAMES: Final = {number: name for name, number in SCALARS.items()}
_LABELS: Final = {Field.LABEL_REQUIRED: "required ", Field.LABEL_REPEATED: "repeated "}
_MAX_FIELD: Final = 2**29
_MAX_INT32: Final = 2**31 - 1
_INDENT: Final = "  "


def print_file(file: pb.FileDescriptorProto) -> str:
    """Return the text of a file."""
    return "\n".join(_file_lines(file)) + "\n"


def _file_lines(file: pb.FileDescriptorProto) -> Iterator[str]:
    if file.syntax == "editions":
        yield f'edition = "{pb.Edition.Name(file.edition).removeprefix("EDITION_")}";'
    else:
        yield f'syntax = "{file.syntax or "proto2"}";'
    if file.package:
        yield f"package {file.package};"
    for index, path in enumerate(file.dependency):
        kind = "public " if index in file.public_dependency else ""
        kind = "weak " if index in file.weak_dependency else kind
        yield f"import {kind}{quoted(path.encode())};"
    yield from _option_lines(file.options)
    printer = _Printer(file.syntax)
    for message in _without_groups(file.message_type, file.extension):
        yield from printer.message(message)
    for enum in file.enum_type:
        yield from _enum_lines(enum)
    yield from printer.extensions(file.extension, file.message_type)
    for service in file.service:
        yield from _service_lines(service)


class _Printer:
    """The printer of a file's messages, in one syntax."""

    def __init__(self, syntax: str) -> None:
        self._syntax = syntax

    def message(self, message: pb.DescriptorProto) -> Iterator[str]:
        yield f"message {message.name} {{"
        yield from _indented(self._body(message))
        yield "}"

    def extensions(self, fields: Sequence[Field], messages: Sequence[pb.DescriptorProto]) -> Iterator[str]:
        for field in fields:
            yield f"extend {field.extendee} {{"
            yield from _indented(self._field(field, messages))
            yield "}"

    def _body(self, message: pb.DescriptorProto) -> Iterator[str]:
        yield from _option_lines(message.options)
        yield from _reserved_lines(message.reserved_range, message.reserved_name, _MAX_FIELD, 1, self._syntax)
        for one in message.extension_range:
            options = _bracketed(_options(one.options))
            yield f"extensions {_range(one.start, one.end - 1, _MAX_FIELD - 1)}{options};"
        open_oneof = -1
        for field in message.field:
            index = field.oneof_index if field.HasField("oneof_index") and not field.proto3_optional else -1
            if index != open_oneof:
                if open_oneof >= 0:
                    yield "}"
                if index >= 0:
                    yield f"oneof {message.oneof_decl[index].name} {{"
                    yield from _indented(_option_lines(message.oneof_decl[index].options))
                open_oneof = index
            lines = self._field(field, message.nested_type, in_oneof=index >= 0)
            yield from _indented(lines) if index >= 0 else lines
        if open_oneof >= 0:
            yield "}"
        for nested in _without_groups(message.nested_type, (*message.field, *message.extension)):
            if not nested.options.map_entry:
                yield from self.message(nested)
        for enum in message.enum_type:
            yield from _enum_lines(enum)
        yield from self.extensions(message.extension, message.nested_type)

    def _field(
        self, field: Field, messages: Sequence[pb.DescriptorProto], in_oneof: bool = False
    ) -> Iterator[str]:
        inner = _inner_message(field, messages)
        number = f"{field.number}{_bracketed(_field_options(field))}"
        if inner is not None and inner.options.map_entry:
            key, value = (_type_name(part) for part in inner.field)
            yield f"map<{key}, {value}> {field.name} = {number};"
        elif field.type == Field.TYPE_GROUP and inner is not None:
            yield f"{self._label(field, in_oneof)}group {inner.name} = {number} {{"
            yield from _indented(self._body(inner))
            yield "}"
        else:
            yield f"{self._label(field, in_oneof)}{_type_name(field)} {field.name} = {number};"

    def _label(self, field: Field, in_oneof: bool) -> str:
        if field.label in _LABELS:
            return _LABELS[field.label]
        return "optional " if field.proto3_optional or (not self._syntax and not in_oneof) else ""


def _inner_message(field: Field, messages: Sequence[pb.DescriptorProto]) -> pb.DescriptorProto | None:
    """Return the map entry or group of a field, which stands beside it."""
    name = field.type_name.rpartition(".")[2]
    for message in messages:
        if message.name == name and (message.options.map_entry or field.type == Field.TYPE_GROUP):
            return message
    return None


def _without_groups(
    messages: Sequence[pb.DescriptorProto], fields: Sequence[Field]
) -> Iterator[pb.DescriptorProto]:
    """Yield the messages that are no groups of these fields."""
    groups = {field.type_name.rpartition(".")[2] for field in fields if field.type == Field.TYPE_GROUP}
    for message in messages:
        if message.name not in groups:
            yield message


def _type_name(field: Field) -> str:
    return field.type_name or _SCALAR_NAMES[field.type]


def _field_options(field: Field) -> Iterator[str]:
    if field.HasField("default_value"):
        text = field.default_value
        if field.type == Field.TYPE_STRING:
            text = quoted(text.encode())
        elif field.type == Field.TYPE_BYTES:
            text = quoted(unquote(Token("text", f'"{text}"', 0)))
        yield f"default = {text}"
    if field.HasField("json_name") and field.json_name != default_json_name(field.name):
        yield f"json_name = {quoted(field.json_name.encode())}"
    yield from _options(field.options)


def default_json_name(name: str) -> str:
    """Return the name of a field in JSON that needs no option: camel case."""
    first, *others = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in others)


def _enum_lines(enum: pb.EnumDescriptorProto) -> Iterator[str]:
    yield f"enum {enum.name} {{"
    yield from _indented(_option_lines(enum.options))
    yield from _indented(_reserved_lines(enum.reserved_range, enum.reserved_name, _MAX_INT32, 0, ""))
    for value in enum.value:
        yield f"{_INDENT}{value.name} = {value.number}{_bracketed(_options(value.options))};"
    yield "}"


def _service_lines(service: pb.ServiceDescriptorProto) -> Iterator[str]:
    yield f"service {service.name} {{"
    yield from _indented(_option_lines(service.options))
    for method in service.method:
        sent, answered = (
            "stream " if one else "" for one in (method.client_streaming, method.server_streaming)
        )
        head = f"rpc {method.name}({sent}{method.input_type}) returns ({answered}{method.output_type})"
        if not method.HasField("options"):
            yield f"{_INDENT}{head};"
            continue
        yield f"{_INDENT}{head} {{"
        yield from _indented(_indented(_option_lines(method.options)))
        yield f"{_INDENT}}}"
    yield "}"


def _reserved_lines(
    ranges: Sequence[pb.DescriptorProto.ReservedRange] | Sequence[pb.EnumDescriptorProto.EnumReservedRange],
    names: Sequence[str],
    most: int,
    beyond: int,
    syntax: str,
) -> Iterator[str]:
    """Yield the reserved numbers and names.

    :param beyond: how far the end of a range is beyond its last number.
    """
    for one in ranges:
        yield f"reserved {_range(one.start, one.end - beyond, most - beyond)};"
    for name in names:
        yield f"reserved {name if syntax == 'editions' else quoted(name.encode())};"


def _range(start: int, end: int, most: int) -> str:
    if start == end:
        return str(start)
    return f"{start} to {'max' if end == most else end}"


def _option_lines(options: Options) -> Iterator[str]:
    for text in _options(options):
        yield f"option {text};"


def _options(options: Options) -> Iterator[str]:
    """Yield the options of a part: Protobuf's own by number, then the others as they stand."""
    for field, value in options.ListFields():
        if field.name == "features":
            for feature, setting in value.ListFields():
                yield f"features.{feature.name} = {_value(feature, setting)}"
        elif field.message_type is None and field.is_repeated:
            for one in value:
                yield f"{field.name} = {_value(field, one)}"
        elif field.message_type is None and field.name != "map_entry":
            yield f"{field.name} = {_value(field, value)}"
    for option in options.uninterpreted_option:
        parts = (f"({one.name_part})" if one.is_extension else one.name_part for one in option.name)
        yield f"{'.'.join(parts)} = {_uninterpreted(option)}"


def _value(field: FieldDescriptor, value: bool | int | str) -> str:
    if field.enum_type is not None and isinstance(value, int):
        return str(field.enum_type.values_by_number[value].name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value.encode()) if isinstance(value, str) else str(value)


def _uninterpreted(option: pb.UninterpretedOption) -> str:
    if option.HasField("aggregate_value"):
        return f"{{ {option.aggregate_value} }}"
    if option.HasField("string_value"):
        return quoted(option.string_value)
    if option.HasField("identifier_value"):
        return option.identifier_value
    if option.HasField("positive_int_value"):
        return str(option.positive_int_value)
    if option.HasField("negative_int_value"):
        return str(option.negative_int_value)
    return repr(option.double_value)


def quoted(data: bytes) -> str:
    """Return bytes in quotation marks; what is no printable letter of ASCII is escaped."""
    short = {0x22: '\\"', 0x5C: "\\\\"}
    letters = (short.get(one) or (chr(one) if 0x20 <= one < 0x7F else f"\\{one:03o}") for one in data)
    return f'"{"".join(letters)}"'


def _bracketed(options: Iterator[str]) -> str:
    text = ", ".join(options)
    return f" [{text}]" if text else ""


def _indented(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield f"{_INDENT}{line}"
