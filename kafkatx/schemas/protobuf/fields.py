"""Fields of messages: labels, types, maps, groups, oneofs, extensions, defaults. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from google.protobuf import descriptor_pb2 as pb

from kafkatx.schemas.protobuf.lexer import invalid, unquote
from kafkatx.schemas.protobuf.options import read_float, read_option
from kafkatx.schemas.protobuf.reader import Reader, parse_whole

_MOST_FIELDS: Final = 2**29 - 1
_LABELS: Final = {
    "optional": pb.FieldDescriptorProto.LABEL_OPTIONAL,
    "required": pb.FieldDescriptorProto.LABEL_REQUIRED,
    "repeated": pb.FieldDescriptorProto.LABEL_REPEATED,
}
SCALARS: Final = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in pb.FieldDescriptorProto.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
"""The types that are no messages and enums, by name."""

_WHOLE: Final = frozenset(SCALARS[name] for name in SCALARS if "int" in name or "fixed" in name)

ReadBody: TypeAlias = Callable[[Reader, pb.DescriptorProto, str], None]
"""The reader of what a group has in its braces; it is given the syntax of the file."""


class Messages(Protocol):
    """The messages of a file or message."""

    def add(self) -> pb.DescriptorProto:
        """Add one."""


class Fields(Protocol):
    """The fields or extensions of a file or message."""

    def add(self) -> pb.FieldDescriptorProto:
        """Add one."""


def read_field(reader: Reader, message: pb.DescriptorProto, syntax: str, read_body: ReadBody) -> None:
    """Read a field of a message: with a label or without, a map, or a group."""
    if reader.token.text == "map" and reader.peek().text == "<":
        _read_map(reader, message)
        return
    _read_labelled(reader, message.field, message.nested_type, syntax, read_body)


def read_oneof(reader: Reader, message: pb.DescriptorProto, syntax: str, read_body: ReadBody) -> None:
    """Read a oneof, whose fields are fields of the message."""
    reader.take()
    index = len(message.oneof_decl)
    oneof = message.oneof_decl.add(name=reader.name())
    reader.expect("{")
    while not reader.accept("}"):
        if reader.token.text == "option" and reader.peek().text != "=":
            reader.take()
            read_option(reader, oneof.options)
            reader.expect(";")
        elif not reader.accept(";"):
            field = message.field.add(oneof_index=index, label=pb.FieldDescriptorProto.LABEL_OPTIONAL)
            _read_rest(reader, field, message.nested_type, syntax, read_body)


def read_extend(
    reader: Reader, extensions: Fields, messages: Messages, syntax: str, read_body: ReadBody
) -> None:
    """Read fields that extend another message."""
    reader.take()
    extendee = reader.full_name()
    reader.expect("{")
    while not reader.accept("}"):
        if not reader.accept(";"):
            field = _read_labelled(reader, extensions, messages, syntax, read_body)
            field.extendee = extendee


def add_synthetic_oneofs(message: pb.DescriptorProto) -> None:
    """Give each optional field of proto3 the oneof that tells if it is set, after the other oneofs."""
    taken = {field.name for field in message.field} | {one.name for one in message.oneof_decl}
    for field in message.field:
        if field.proto3_optional:
            name = field.name if field.name.startswith("_") else f"_{field.name}"
            while name in taken:
                name = f"X{name}"
            taken.add(name)
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=name)


def _read_labelled(
    reader: Reader, fields: Fields, messages: Messages, syntax: str, read_body: ReadBody
) -> pb.FieldDescriptorProto:
    field = fields.add()
    field.label = pb.FieldDescriptorProto.LABEL_OPTIONAL
    word, line = reader.token.text, reader.token.line
    if word in _LABELS and reader.peek().text != "=":
        reader.take()
        field.label = _LABELS[word]
        if syntax == "proto3" and word == "optional":
            field.proto3_optional = True
        if word == "required" and syntax == "proto3":
            raise invalid(line, "proto3 has no required fields")
    elif not syntax and reader.token.kind == "name":
        raise invalid(line, f"a field of proto2 begins with a label, not with {word[:40]!r}")
    _read_rest(reader, field, messages, syntax, read_body)
    return field


def _read_rest(
    reader: Reader, field: pb.FieldDescriptorProto, messages: Messages, syntax: str, read_body: ReadBody
) -> None:
    """Read a field from its type on."""
    if reader.token.text == "group" and reader.peek().kind == "name":
        _read_group(reader, field, messages, syntax, read_body)
        return
    _read_type(reader, field)
    field.name = reader.name()
    reader.expect("=")
    field.number = reader.whole(_MOST_FIELDS)
    _read_field_options(reader, field)
    reader.expect(";")


def _read_type(reader: Reader, field: pb.FieldDescriptorProto) -> None:
    """Read a type; a message or enum is told apart when all names are known."""
    name = reader.full_name()
    if name in SCALARS:
        field.type = SCALARS[name]
    else:
        field.type_name = name


def _read_group(
    reader: Reader, field: pb.FieldDescriptorProto, messages: Messages, syntax: str, read_body: ReadBody
) -> None:
    reader.take()
    name = reader.name()
    field.name, field.type, field.type_name = name.lower(), pb.FieldDescriptorProto.TYPE_GROUP, name
    reader.expect("=")
    field.number = reader.whole(_MOST_FIELDS)
    _read_field_options(reader, field)
    group = messages.add()
    group.name = name
    read_body(reader, group, syntax)


def _read_map(reader: Reader, message: pb.DescriptorProto) -> None:
    """Read a map: a repeated field of entries, whose message is made here."""
    reader.take()
    reader.expect("<")
    entry = message.nested_type.add()
    entry.options.map_entry = True
    for number, name in ((1, "key"), (2, "value")):
        part = entry.field.add(name=name, number=number, label=pb.FieldDescriptorProto.LABEL_OPTIONAL)
        _read_type(reader, part)
        reader.expect("," if number == 1 else ">")
    field = message.field.add(name=reader.name(), label=pb.FieldDescriptorProto.LABEL_REPEATED)
    entry.name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
    field.type, field.type_name = pb.FieldDescriptorProto.TYPE_MESSAGE, entry.name
    reader.expect("=")
    field.number = reader.whole(_MOST_FIELDS)
    _read_field_options(reader, field)
    reader.expect(";")


def _read_field_options(reader: Reader, field: pb.FieldDescriptorProto) -> None:
    """Read the options of a field; its default and its name in JSON are no options in descriptors."""
    if not reader.accept("["):
        return
    options = pb.FieldOptions()
    while True:
        if reader.token.text == "default" and reader.peek().text == "=":
            reader.take()
            reader.take()
            field.default_value = _read_default(reader, field)
        elif reader.token.text == "json_name" and reader.peek().text == "=":
            reader.take()
            reader.take()
            field.json_name = reader.unicode()
        else:
            read_option(reader, options)
        if not reader.accept(","):
            break
    reader.expect("]")
    if options.ByteSize():
        field.options.CopyFrom(options)


def _read_default(reader: Reader, field: pb.FieldDescriptorProto) -> str:
    """Return a default as descriptors write it."""
    if field.type == pb.FieldDescriptorProto.TYPE_STRING and not field.type_name:
        return reader.unicode()
    if field.type == pb.FieldDescriptorProto.TYPE_BYTES:
        return _escaped(reader.text())
    sign = "-" if reader.accept("-") else ""
    token = reader.take()
    if token.kind == "text":
        raise invalid(token.line, f"the default {unquote(token)[:40]!r} is of another type")
    whole = parse_whole(token.text)
    if whole is not None and not field.type_name and field.type in _WHOLE:
        return f"{sign}{whole}"
    if token.kind == "number":
        number = float(f"{sign}{read_float(token)}")
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return f"{sign}{token.text}"


def _escaped(data: bytes) -> str:
    """Return bytes as descriptors write the default of a field of bytes."""
    short = {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\"}
    return "".join(short.get(one) or (chr(one) if 0x20 <= one < 0x7F else f"\\{one:03o}") for one in data)
