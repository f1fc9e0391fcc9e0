"""Schemas that are sent as descriptors: a serialized FileDescriptorProto in base64. Pure.

Confluent's clients for Python and Go send these. A descriptor may have anything in its fields; only one that
a .proto file can be written for is a schema, and the parser must take that file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from kafkatx.schemas.protobuf.lexer import tokens
from kafkatx.schemas.protobuf.printer import print_file
from kafkatx.schemas.types import InvalidSchema

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_FULL_NAME: Final = rf"\.?{_NAME}(\.{_NAME})*"
_PATTERNS: Final = {
    "name": re.compile(rf"{_NAME}\Z"),
    "identifier_value": re.compile(rf"{_NAME}\Z"),
    **dict.fromkeys(
        ("package", "name_part", "type_name", "extendee", "input_type", "output_type"),
        re.compile(rf"({_FULL_NAME})?\Z"),
    ),
    "default_value": re.compile(r"-?[A-Za-z0-9_.+-]+\Z"),
    "reserved_name": re.compile(rf"{_NAME}\Z"),
}
_TEXT_OF_BYTES: Final = re.compile(r'(?:[^"\\\n]|\\[abfnrtv\\\'"?0-7])*\Z')


def read_descriptor(text: str) -> pb.FileDescriptorProto | None:
    """Return the descriptor that a text has; None if the text is something else."""
    try:
        data = base64.b64decode(text.strip().encode("ascii"), validate=True)
        return pb.FileDescriptorProto.FromString(data) if data else None
    except (UnicodeEncodeError, binascii.Error, DecodeError):
        return None


def text_of(descriptor: pb.FileDescriptorProto) -> str:
    """Return the .proto file of a descriptor.

    :raises InvalidSchema: it has names that are none, or parts that do not fit together.
    """
    for message in _messages(descriptor):
        _check_texts(message)
    try:
        return print_file(descriptor)
    except (LookupError, ValueError) as error:
        raise InvalidSchema(f"the descriptor of the Protobuf schema is not valid: {error}") from error


def custom_options_line(descriptor: pb.FileDescriptorProto) -> str:
    """Return a comment that tells custom options apart; empty if there are none.

    ``protoc`` turns the values of custom options into bytes, of which a .proto file cannot be made.
    """
    known = pb.FileDescriptorProto()
    known.CopyFrom(descriptor)
    known.DiscardUnknownFields()
    data = descriptor.SerializeToString(deterministic=True)
    if known.ByteSize() == len(data):
        return ""
    return f"// custom options: {hashlib.sha256(data).hexdigest()}\n"


def _messages(root: Message) -> Iterator[Message]:
    """Yield a message and those in it."""
    waiting = [root]
    while waiting:
        one = waiting.pop()
        yield one
        for field, value in one.ListFields():
            if field.message_type is not None:
                waiting.extend(value if field.is_repeated else [value])


def _check_texts(message: Message) -> None:
    """Check the texts of one message of a descriptor, so that its .proto file says the same.

    :raises InvalidSchema: one is no Unicode, or is no name where a name belongs.
    """
    for field, value in message.ListFields():
        if field.type != FieldDescriptor.TYPE_STRING:
            continue
        for one in value if field.is_repeated else [value]:
            if not isinstance(one, str) or not _fits(message, field.name, one):
                shown = f"{field.name} has {str(one)[:60]!r}"
                raise InvalidSchema(f"the descriptor of the Protobuf schema is not valid: {shown}")


def _fits(message: Message, name: str, value: str) -> bool:
    if isinstance(message, pb.FileDescriptorProto) and name == "name":
        return True
    if isinstance(message, pb.FieldDescriptorProto) and name == "default_value":
        if message.type == pb.FieldDescriptorProto.TYPE_BYTES:
            return _TEXT_OF_BYTES.match(value) is not None
        if message.type == pb.FieldDescriptorProto.TYPE_STRING:
            return True
    if name == "aggregate_value":
        return _is_balanced(value)
    return name not in _PATTERNS or _PATTERNS[name].match(value) is not None


def _is_balanced(value: str) -> bool:
    """Return True if a text in braces ends where its own closing one would."""
    depth = 0
    for token in tokens(value):
        depth += (token.text == "{") - (token.text == "}")
        if depth < 0:
            return False
    return depth == 0
