"""The parser of .proto files: text to a FileDescriptorProto, with names of types as they are written. Pure.

proto2, proto3 and editions are read. The order of the parts, map entries, groups and the oneofs of optional
fields are those of ``protoc``.
"""

from __future__ import annotations

from typing import Final

from google.protobuf import descriptor_pb2 as pb

from kafkatx.schemas.protobuf.fields import add_synthetic_oneofs, read_extend, read_field, read_oneof
from kafkatx.schemas.protobuf.lexer import invalid
from kafkatx.schemas.protobuf.options import read_option, read_option_list
from kafkatx.schemas.protobuf.reader import Reader

_MOST_FIELDS: Final = 2**29 - 1
_MOST_INT32: Final = 2**31 - 1

_SYNTAXES: Final = ("proto2", "proto3")


def parse_file(text: str, name: str) -> pb.FileDescriptorProto:
    """Parse a file.

    :param name: the path by which others import it.
    :raises InvalidSchema: it breaks the grammar, or is nested too deep.
    """
    reader = Reader(text)
    file = pb.FileDescriptorProto(name=name)
    if reader.token.text in ("syntax", "edition"):
        _read_syntax(reader, file)
    while reader.token.kind != "end":
        _read_part(reader, file)
    return file


def _read_syntax(reader: Reader, file: pb.FileDescriptorProto) -> None:
    keyword, line = reader.take().text, reader.token.line
    reader.expect("=")
    version = reader.unicode()
    reader.expect(";")
    if keyword == "syntax":
        if version not in _SYNTAXES:
            raise invalid(line, f"the syntax is proto2 or proto3, not {version[:40]!r}")
        if version != "proto2":
            file.syntax = version
        return
    if not version.isdecimal() or f"EDITION_{version}" not in dict(pb.Edition.items()):
        raise invalid(line, f"the edition {version[:40]!r} is not known")
    file.syntax = "editions"
    file.edition = pb.Edition.Value(f"EDITION_{version}")


def _read_part(reader: Reader, file: pb.FileDescriptorProto) -> None:
    word = reader.token.text
    if word == "message":
        _read_message(reader, file.message_type.add(), file.syntax)
    elif word == "enum":
        _read_enum(reader, file.enum_type.add())
    elif word == "extend":
        read_extend(reader, file.extension, file.message_type, file.syntax, _read_body)
    elif word == "service":
        _read_service(reader, file.service.add())
    elif word == "import":
        _read_import(reader, file)
    elif word == "package" and not file.package:
        reader.take()
        file.package = reader.full_name().lstrip(".")
        reader.expect(";")
    elif word == "option":
        _read_option_line(reader, file.options)
    else:
        reader.expect(";")


def _read_import(reader: Reader, file: pb.FileDescriptorProto) -> None:
    reader.take()
    if reader.accept("public"):
        file.public_dependency.append(len(file.dependency))
    elif reader.accept("weak"):
        file.weak_dependency.append(len(file.dependency))
    path, line = reader.unicode(), reader.token.line
    if path in file.dependency:
        raise invalid(line, f"{path[:80]!r} is imported twice")
    file.dependency.append(path)
    reader.expect(";")


def _read_option_line(
    reader: Reader,
    options: pb.FileOptions | pb.MessageOptions | pb.EnumOptions | pb.ServiceOptions | pb.MethodOptions,
) -> None:
    reader.expect("option")
    read_option(reader, options)
    reader.expect(";")


def _read_message(reader: Reader, message: pb.DescriptorProto, syntax: str) -> None:
    reader.expect("message")
    message.name = reader.name()
    _read_body(reader, message, syntax)


def _read_body(reader: Reader, message: pb.DescriptorProto, syntax: str) -> None:
    """Read the parts of a message or group in braces."""
    reader.enter()
    reader.expect("{")
    while not reader.accept("}"):
        _read_member(reader, message, syntax)
    reader.leave()
    add_synthetic_oneofs(message)


def _read_member(reader: Reader, message: pb.DescriptorProto, syntax: str) -> None:
    word, begins_name = reader.token.text, reader.peek().kind == "name"
    if word == "message" and begins_name:
        _read_message(reader, message.nested_type.add(), syntax)
    elif word == "enum" and begins_name:
        _read_enum(reader, message.enum_type.add())
    elif word == "oneof" and begins_name:
        read_oneof(reader, message, syntax, _read_body)
    elif word == "extend" and reader.peek().text not in ("=", "<"):
        read_extend(reader, message.extension, message.nested_type, syntax, _read_body)
    elif word == "option" and (begins_name or reader.peek().text == "("):
        _read_option_line(reader, message.options)
    elif word == "extensions" and reader.peek().kind == "number":
        _read_extension_ranges(reader, message)
    elif word == "reserved" and (reader.peek().kind != "name" or reader.peek().text != "="):
        _read_reserved(reader, message)
    elif not reader.accept(";"):
        read_field(reader, message, syntax, _read_body)


def _read_extension_ranges(reader: Reader, message: pb.DescriptorProto) -> None:
    reader.take()
    first = len(message.extension_range)
    while True:
        start, end = _read_range(reader, _MOST_FIELDS)
        message.extension_range.add(start=start, end=end + 1)
        if not reader.accept(","):
            break
    options = pb.ExtensionRangeOptions()
    read_option_list(reader, options)
    if options.ByteSize():
        for one in message.extension_range[first:]:
            one.options.CopyFrom(options)
    reader.expect(";")


def _read_range(reader: Reader, most: int) -> tuple[int, int]:
    """Read a number, or two with ``to`` between them; both are included."""
    start = reader.whole(most)
    if not reader.accept("to"):
        return start, start
    return start, most if reader.accept("max") else reader.whole(most)


def _read_reserved(reader: Reader, part: pb.DescriptorProto | pb.EnumDescriptorProto) -> None:
    """Read reserved numbers or names; editions write names without quotation marks."""
    reader.take()
    while True:
        if reader.token.kind == "text":
            part.reserved_name.append(reader.unicode())
        elif reader.token.kind == "name":
            part.reserved_name.append(reader.name())
        elif isinstance(part, pb.EnumDescriptorProto):
            start, end = _read_range(reader, _MOST_INT32)
            part.reserved_range.add(start=start, end=end)
        else:
            start, end = _read_range(reader, _MOST_FIELDS)
            part.reserved_range.add(start=start, end=end + 1)
        if not reader.accept(","):
            break
    reader.expect(";")


def _read_enum(reader: Reader, enum: pb.EnumDescriptorProto) -> None:
    reader.expect("enum")
    enum.name = reader.name()
    reader.expect("{")
    while not reader.accept("}"):
        word = reader.token.text
        if word == "option" and reader.peek().text != "=":
            _read_option_line(reader, enum.options)
        elif word == "reserved" and reader.peek().text != "=":
            _read_reserved(reader, enum)
        elif not reader.accept(";"):
            value = enum.value.add(name=reader.name())
            reader.expect("=")
            value.number = reader.whole(_MOST_INT32)
            options = pb.EnumValueOptions()
            read_option_list(reader, options)
            if options.ByteSize():
                value.options.CopyFrom(options)
            reader.expect(";")


def _read_service(reader: Reader, service: pb.ServiceDescriptorProto) -> None:
    reader.take()
    service.name = reader.name()
    reader.expect("{")
    while not reader.accept("}"):
        if reader.token.text == "option":
            _read_option_line(reader, service.options)
        elif not reader.accept(";"):
            _read_method(reader, service.method.add())


def _read_method(reader: Reader, method: pb.MethodDescriptorProto) -> None:
    reader.expect("rpc")
    method.name = reader.name()
    reader.expect("(")
    if reader.token.text == "stream" and reader.peek().text != ")":
        reader.take()
        method.client_streaming = True
    method.input_type = reader.full_name()
    reader.expect(")")
    reader.expect("returns")
    reader.expect("(")
    if reader.token.text == "stream" and reader.peek().text != ")":
        reader.take()
        method.server_streaming = True
    method.output_type = reader.full_name()
    reader.expect(")")
    if not reader.accept("{"):
        reader.expect(";")
        return
    method.options.SetInParent()
    while not reader.accept("}"):
        if not reader.accept(";"):
            _read_option_line(reader, method.options)
