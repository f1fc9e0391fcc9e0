"""The messages and enums of files by full name, and the names of types in fields made full. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
from google.protobuf import descriptor_pb2 as pb

from kafkatx.schemas.limits import MAX_DEPTH
from kafkatx.schemas.types import InvalidSchema


@attrs.frozen(eq=False)
class NamedType:
    """A message or enum.

    :ivar file: its file.
    """

    descriptor: pb.DescriptorProto | pb.EnumDescriptorProto
    file: pb.FileDescriptorProto

    @property
    def package(self) -> str:
        """The package of its file; its full name begins with it."""
        return self.file.package


def types_of(file: pb.FileDescriptorProto) -> Iterator[tuple[str, NamedType]]:
    """Yield the messages and enums of a file with their full names, without a dot in front.

    :raises InvalidSchema: messages are nested too deep (in a descriptor; the parser sees to texts).
    """
    scope = f"{file.package}." if file.package else ""
    for enum in file.enum_type:
        yield f"{scope}{enum.name}", NamedType(enum, file)
    level = [(scope, message) for message in file.message_type]
    for _ in range(MAX_DEPTH + 1):
        inner: list[tuple[str, pb.DescriptorProto]] = []
        for prefix, message in level:
            full = f"{prefix}{message.name}"
            yield full, NamedType(message, file)
            inner.extend((f"{full}.", one) for one in message.nested_type)
            for enum in message.enum_type:
                yield f"{full}.{enum.name}", NamedType(enum, file)
        if not inner:
            return
        level = inner
    raise InvalidSchema(f"the messages are nested too deep: at most {MAX_DEPTH}")


def resolve_names(file: pb.FileDescriptorProto, types: Mapping[str, NamedType]) -> None:
    """Write full names, with a dot in front, into the fields and methods of a file, and the kinds of types.

    :param types: those of the file and of all that it imports.
    :raises InvalidSchema: there is no type of a name.
    """
    resolver = _Resolver(types)
    resolver.resolve_fields(file.extension, file.package)
    for name, one in types_of(file):
        if isinstance(one.descriptor, pb.DescriptorProto):
            resolver.resolve_fields(one.descriptor.field, name)
            resolver.resolve_fields(one.descriptor.extension, name)
    for service in file.service:
        for method in service.method:
            method.input_type = resolver.message(method.input_type, file.package, method.name)
            method.output_type = resolver.message(method.output_type, file.package, method.name)


class _Resolver:
    """The look-up of types from a place: in the messages and packages around it, the nearest first."""

    def __init__(self, types: Mapping[str, NamedType]) -> None:
        self._types = types

    def resolve_fields(self, fields: Sequence[pb.FieldDescriptorProto], scope: str) -> None:
        for field in fields:
            if field.extendee:
                field.extendee = self.message(field.extendee, scope, field.name)
            if not field.type_name:
                continue
            found = self._find(field.type_name, scope, field.name)
            field.type_name = f".{found}"
            if isinstance(self._types[found].descriptor, pb.EnumDescriptorProto):
                field.type = pb.FieldDescriptorProto.TYPE_ENUM
            elif field.type != pb.FieldDescriptorProto.TYPE_GROUP:
                field.type = pb.FieldDescriptorProto.TYPE_MESSAGE

    def message(self, name: str, scope: str, user: str) -> str:
        """Return the full name of a message, with a dot in front.

        :raises InvalidSchema: there is none of this name.
        """
        return f".{self._find(name, scope, user)}"

    def _find(self, name: str, scope: str, user: str) -> str:
        if name.startswith("."):
            if name[1:] in self._types:
                return name[1:]
        else:
            while True:
                candidate = f"{scope}.{name}" if scope else name
                if candidate in self._types:
                    return candidate
                if not scope:
                    break
                scope = scope.rpartition(".")[0]
        raise InvalidSchema(
            f"the Protobuf schema is not valid: there is no type {name[:80]!r}, which {user[:80]} has; is an "
            "import missing, or a reference to it?"
        )
