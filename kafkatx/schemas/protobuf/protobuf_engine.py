"""The engine of Protobuf. Pure; the library's pool of descriptors, one for each schema, checks it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Final

import attrs
from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor_pool import DescriptorPool

from kafkatx.schemas.limits import MAX_SIZE_BYTES, check_sizes
from kafkatx.schemas.protobuf.comparison import incompatibilities
from kafkatx.schemas.protobuf.descriptor import custom_options_line, read_descriptor, text_of
from kafkatx.schemas.protobuf.parser import parse_file
from kafkatx.schemas.protobuf.printer import print_file
from kafkatx.schemas.protobuf.types_index import NamedType, resolve_names, types_of
from kafkatx.schemas.protobuf.well_known import well_known_file
from kafkatx.schemas.types import Dependencies, InvalidSchema, ParsedSchema, Schema, SchemaType

ROOT_FILE: Final = "schema.proto"
"""The path of a schema's own file; a descriptor that was sent has a path of its own."""


_COUNTED_ENTRIES: Final = "// map_entry: message indexes count the messages of maps, as in a descriptor\n"
"""Stands in the text of a descriptor with maps, which does not write their messages."""


@attrs.frozen(eq=False)
class ProtobufSchema:
    """A Protobuf schema.

    :ivar text: the schema as it was sent, or the text of a descriptor that was sent, if it is not too large.
    :ivar file: its file, with the full names of types.
    :ivar files: the files that it imports, also indirectly, each after those that it imports itself; the last
        is its own.
    :ivar types: the messages and enums of all files by full name.
    :ivar counts_entries: True if the entries of maps are messages of the schema as it was sent: those of a
        descriptor are, those of a text only if it writes them, or says that it is of a descriptor.
    """

    schema: Schema
    text: str
    canonical: str
    file: pb.FileDescriptorProto
    files: tuple[pb.FileDescriptorProto, ...]
    types: Mapping[str, NamedType]
    counts_entries: bool

    @property
    def normalized(self) -> str:
        """The canonical text: a .proto file without comments, in which names are full."""
        return self.canonical

    @property
    def name(self) -> str:
        """The full name of the first message; empty if there is none."""
        if not self.file.message_type:
            return ""
        name = self.file.message_type[0].name
        return f"{self.file.package}.{name}" if self.file.package else name


class ProtobufEngine:
    """Parses and compares Protobuf schemas."""

    def parse(self, schema: Schema, dependencies: Dependencies, *, stored: bool = False) -> ProtobufSchema:
        """Parse a schema, and those that it imports: by the names of references, or well-known ones.

        A text is a .proto file, or a serialized FileDescriptorProto in base64, as Confluent's clients for
        Python and Go send it.

        :raises InvalidSchema: one of them is not valid, is missing, or is beyond a limit.
        """
        check_sizes(schema, dependencies)
        if not schema.text.strip():
            raise InvalidSchema("the Protobuf schema is empty")
        loader = _Loader(dependencies)
        file = loader.add(_read_file(schema, ""), ())
        descriptor = read_descriptor(schema.text)
        canonical = print_file(file) + (custom_options_line(descriptor) if descriptor else "")
        text, counts = schema.text, "map_entry" in schema.text
        if descriptor is not None:
            told = canonical + (_COUNTED_ENTRIES if _has_maps(loader.types) else "")
            text, counts = told if len(told.encode()) <= MAX_SIZE_BYTES else text, True
        files = tuple(loader.files.values())
        return ProtobufSchema(schema, text, canonical, file, files, loader.types, counts)

    def serialized(self, schema: Schema, dependencies: Dependencies) -> str:
        """Return a schema as a FileDescriptorProto in base64; raises as :meth:`parse`."""
        file = self.parse(schema, dependencies, stored=True).file
        return base64.b64encode(file.SerializeToString()).decode()

    def incompatibilities(self, reader: ParsedSchema, writer: ParsedSchema) -> Sequence[str]:
        """Return why data of *writer* cannot be read with *reader*."""
        if not isinstance(reader, ProtobufSchema) or not isinstance(writer, ProtobufSchema):
            raise TypeError("both schemas must be of Protobuf")
        return incompatibilities((reader.file, reader.types), (writer.file, writer.types))


def _has_maps(types: Mapping[str, NamedType]) -> bool:
    found = (one.descriptor for one in types.values())
    return any(isinstance(each, pb.DescriptorProto) and each.options.map_entry for each in found)


class _Loader:
    """Adds files to a pool, which checks them, each after those that it imports.

    :ivar files: the files so far, by path.
    :ivar types: their messages and enums.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self.files: dict[str, pb.FileDescriptorProto] = {}
        self.types: dict[str, NamedType] = {}
        self._dependencies = dependencies
        self._pool = DescriptorPool()

    def add(self, file: pb.FileDescriptorProto, importers: tuple[str, ...]) -> pb.FileDescriptorProto:
        """Add a file, after those that it imports.

        :param importers: the paths of files that are being added, to find a circle.
        """
        for path in file.dependency:
            if path not in self.files:
                self._add_import(path, (*importers, file.name))
        self.types.update(types_of(file))
        resolve_names(file, self.types)
        try:
            self._pool.Add(file)
            self._pool.FindFileByName(file.name)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            reason = str(error).rpartition(": ")[2] or str(error)
            raise InvalidSchema(f"the Protobuf schema is not valid: {reason[:400]}") from error
        self.files[file.name] = file
        return file

    def _add_import(self, path: str, importers: tuple[str, ...]) -> None:
        if path in importers:
            raise InvalidSchema(f"the imports go in a circle: {' -> '.join((*importers, path))[-400:]}")
        if path in self._dependencies:
            try:
                self.add(_read_file(self._dependencies[path], path), importers)
            except InvalidSchema as error:
                if str(error).startswith(("the referenced schema", "the imports")):
                    raise
                raise InvalidSchema(f"the referenced schema {path!r}: {error}") from error
            return
        known = well_known_file(path)
        if known is None:
            raise InvalidSchema(f"the import {path[:200]!r} is missing: there is no reference of this name")
        self.add(known, importers)


def _read_file(schema: Schema, path: str) -> pb.FileDescriptorProto:
    """Return the file of a schema, with the names of types as they are written.

    :param path: the path by which it is imported; empty for a schema itself.
    :raises InvalidSchema: it is neither a valid text nor a descriptor.
    """
    if schema.type is not SchemaType.PROTOBUF:
        raise InvalidSchema(f"it is of type {schema.type.value}, not PROTOBUF")
    descriptor = read_descriptor(schema.text)
    if descriptor is None:
        return parse_file(schema.text, path or ROOT_FILE)
    parse_file(text_of(descriptor), path)
    descriptor.ClearField("source_code_info")
    if descriptor.syntax == "proto2":
        descriptor.ClearField("syntax")
    descriptor.name = path or descriptor.name or ROOT_FILE
    return descriptor
