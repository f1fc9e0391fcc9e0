"""Protobuf messages: of classes that the application has, or that are made from the schema."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from typing import Any

from kafkatx.schemas import framing
from kafkatx.schemas.messages.errors import BadPayload, BadValue
from kafkatx.schemas.messages.format import Read, Write
from kafkatx.schemas.messages.imports import Import
from kafkatx.schemas.messages.plain import plain
from kafkatx.schemas.messages.protobuf.message_classes import MessageClasses, message_indexes
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import Dependencies, InvalidSchema, Schema, SchemaType

Indexes = tuple[int, ...]
_FULL_NAME = re.compile(r"\s*[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\s*\Z", re.ASCII)


class ProtobufFormat:
    """The format of Protobuf messages.

    Values to write are messages, dicts or objects with the fields; values that are read are messages.

    Readers and writers take a class of messages, or make one from the schema. The schema of a class is the
    descriptor of its file, in base64, as Confluent's client for Python registers it.
    """

    type = SchemaType.PROTOBUF
    checked = True

    def schema_of(self, given: Any) -> tuple[Schema, str] | None:
        """Return the schema that an application gave; a class of messages is one."""
        if isinstance(given, Schema):
            return given, self.name(given, {})
        if isinstance(given, str):
            schema = Schema(given, SchemaType.PROTOBUF)
            return schema, self.name(schema, {})
        descriptor = _descriptor(given)
        if descriptor is None:
            return None
        return _file_schema(descriptor.file), str(descriptor.full_name)

    def imports(self, given: Any) -> Sequence[Import]:
        """Return the files that the file of a class imports, without Google's own."""
        descriptor = _descriptor(given)
        return () if descriptor is None else _imports(descriptor.file)

    def name(self, schema: Schema, dependencies: Dependencies) -> str:
        """Return the full name of the first message."""
        return MessageClasses(schema, dependencies).first_name

    def writer(
        self, schema: Schema, dependencies: Dependencies, prefix: bytes, given: Any
    ) -> tuple[bytes, Write]:
        """Return the message indexes, and a function that writes a message."""
        descriptor = _descriptor(given)
        if descriptor is None:
            indexes: Indexes = framing.FIRST_MESSAGE
            kind = MessageClasses(schema, dependencies).at(indexes)
        else:
            indexes, kind = message_indexes(descriptor), given
        encoded = framing.encode_indexes(indexes)
        start = prefix + encoded if prefix else b""

        def write(value: Any) -> bytes:
            if value.__class__ is not kind:
                value = _message(kind, value)
            try:
                return start + bytes(value.SerializeToString())
            except Exception as error:  # google.protobuf.message.EncodeError
                raise BadValue(f"the message cannot be written: {error}") from error

        return encoded, write

    def reader(
        self, schema: Schema, dependencies: Dependencies, target: Any, indexes: bytes | None = None
    ) -> Read:
        """Return a function that reads a payload.

        :param target: also a class of messages, whose messages alone are read, or the full name of a message.
        """
        kinds = _Kinds(MessageClasses(schema, dependencies), target)
        known, find = kinds.known, kinds.find

        if indexes is not None:
            only = find(_given_path(indexes))
            return lambda data, start: _parsed(only, data, start)

        def read(data: bytes, start: int) -> Any:
            if data[start : start + 1] == b"\0":
                path, at = framing.FIRST_MESSAGE, start + 1
            else:
                try:
                    path, at = framing.decode_indexes(data, start)
                except framing.BadFrame as error:
                    raise BadPayload(str(error)) from error
            return _parsed(known.get(path) or find(path), data, at)

        return read


def _descriptor(given: Any) -> Any:
    descriptor = getattr(given, "DESCRIPTOR", None)
    return descriptor if hasattr(descriptor, "full_name") and hasattr(descriptor, "file") else None


def _file_schema(file: Any) -> Schema:
    return Schema(base64.b64encode(file.serialized_pb).decode(), SchemaType.PROTOBUF)


def _imports(file: Any) -> tuple[Import, ...]:
    return tuple(
        Import(other.name, _file_schema(other), _imports(other))
        for other in file.dependencies
        if not other.name.startswith("google/protobuf/")
    )


def _all_imports(imports: Sequence[Import]) -> Iterator[tuple[str, Schema]]:
    for each in imports:
        yield from _all_imports(each.imports)
        yield each.name, each.schema


def _given_path(indexes: bytes) -> Indexes:
    try:
        return framing.decode_indexes(indexes, 0)[0]
    except framing.BadFrame as error:
        raise BadPayload(str(error)) from error


def _reader_schema(target: Any) -> ReaderSchema:
    """Return what a target means.

    :raises InvalidSchema: it is none.
    """
    if target is None:
        return ReaderSchema(None)
    if isinstance(target, ReaderSchema):
        return target
    if isinstance(target, Schema):
        return ReaderSchema(target)
    if isinstance(target, str):
        if _FULL_NAME.match(target):
            return ReaderSchema(None, message=target.strip())
        return ReaderSchema(Schema(target, SchemaType.PROTOBUF))
    descriptor = _descriptor(target)
    if descriptor is None:
        raise InvalidSchema(f"{target!r} is no class of Protobuf messages")
    file = descriptor.file
    return ReaderSchema(_file_schema(file), dict(_all_imports(_imports(file))), str(descriptor.full_name))


class _Kinds:
    """The classes that messages of one schema are read as, by their indexes.

    The writer's schema and the indexes give a full name, and the message of this name is read.

    :ivar known: those that were found so far.
    """

    def __init__(self, written: MessageClasses, target: Any) -> None:
        wanted = _reader_schema(target)
        self.known: dict[Indexes, Any] = {}
        self._refusals: dict[str, str] = {}
        self._written = written
        self._message = wanted.message
        self._own_class = None if _descriptor(target) is None else target
        self._read = written
        if wanted.schema is not None:
            self._read = MessageClasses(wanted.schema, wanted.dependencies)

    def find(self, path: Indexes) -> Any:
        """Return the class of messages with some indexes.

        :raises BadPayload: there is none, or messages with them are not to be read, or cannot be.
        """
        try:
            name = self._written.name_at(path)
        except InvalidSchema as error:
            raise BadPayload(str(error)) from error
        if name not in self._refusals:
            self._refusals[name] = self._refusal(name)
        if self._refusals[name]:
            raise BadPayload(self._refusals[name])
        kind = self.known[path] = self._own_class or self._read.named(name)
        return kind

    def _refusal(self, name: str) -> str:
        """Return why messages of a name are not read; empty if they are."""
        if self._message and name != self._message:
            return f"it is a {name}, and only {self._message} is read"
        if not self._read.has(name):
            return f"it is a {name}, which the reader's schema does not have"
        reasons = self._read.differences(self._written, name)
        return f"it is a {name} that cannot be read as the reader's: {reasons[0]}" if reasons else ""


def _parsed(kind: Any, data: bytes, start: int) -> Any:
    message = kind()
    try:
        message.ParseFromString(bytes(data[start:]))
    except Exception as error:  # google.protobuf.message.DecodeError
        raise BadPayload(f"it is no {kind.DESCRIPTOR.full_name}: {error}") from error
    return message


def _message(kind: Any, value: Any) -> Any:
    """Return a message with the fields of a dict or an object."""
    from google.protobuf.json_format import ParseDict, ParseError

    if hasattr(value, "SerializeToString"):
        if value.DESCRIPTOR.full_name != kind.DESCRIPTOR.full_name:
            raise BadValue(f"a {value.DESCRIPTOR.full_name}, and the schema's is {kind.DESCRIPTOR.full_name}")
        return value
    try:
        fields = plain(value)
        if not isinstance(fields, dict):
            raise BadValue(f"a {type(value).__name__} has no fields")
        try:
            return kind(**fields)
        except (TypeError, ValueError):  # bytes in base64, enums by name in other places: as in JSON
            return ParseDict(fields, kind())
    except (ParseError, ValueError, TypeError) as error:
        raise BadValue(f"the value does not match {kind.DESCRIPTOR.full_name}: {error}") from error
