"""Classes of messages from the text of a Protobuf schema and of those that it imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from kafkatx.schemas.engines import MissingLibrary, engine
from kafkatx.schemas.types import Dependencies, InvalidSchema, Schema, SchemaType

if TYPE_CHECKING:
    from kafkatx.schemas.protobuf.protobuf_engine import ProtobufSchema


class MessageClasses:
    """The messages of one schema: their names, and their classes, made when they are asked for.

    :ivar first_name: full name of the first message; empty if there is none.
    """

    def __init__(self, schema: Schema, dependencies: Dependencies) -> None:
        """Parse the schema.

        :raises InvalidSchema: it is not valid, or protobuf is not installed.
        """
        try:
            parsed = cast("ProtobufSchema", engine(SchemaType.PROTOBUF).parse(schema, dependencies))
        except MissingLibrary as error:
            raise InvalidSchema(str(error)) from error
        from google.protobuf.descriptor_pool import DescriptorPool

        self._pool: Any = DescriptorPool()
        for file in parsed.files:
            self._pool.Add(file)
        self._parsed = parsed
        self.first_name = parsed.name

    def has(self, name: str) -> bool:
        """Return True if there is a message of a full name, in this file or an imported one."""
        from google.protobuf.descriptor_pb2 import DescriptorProto

        found = self._parsed.types.get(name)
        return found is not None and isinstance(found.descriptor, DescriptorProto)

    def at(self, indexes: Sequence[int]) -> Any:
        """Return the class of the message that indexes name; raises as :meth:`name_at`."""
        return self.named(self.name_at(indexes))

    def named(self, name: str) -> Any:
        """Return the class of a message.

        :param name: its full name.
        :raises InvalidSchema: the schema has no such message.
        """
        from google.protobuf.message_factory import GetMessageClass

        if not self.has(name):
            raise InvalidSchema(f"the schema has no message {name}")
        return GetMessageClass(self._pool.FindMessageTypeByName(name))

    def differences(self, written: MessageClasses, name: str) -> Sequence[str]:
        """Return why data of another schema's message of a name cannot be read as the one here.

        Both schemas have it.
        """
        from kafkatx.schemas.protobuf.comparison import message_incompatibilities

        if self._parsed.files == written._parsed.files:
            return ()
        return message_incompatibilities(self._parsed.types, written._parsed.types, name)

    def name_at(self, indexes: Sequence[int]) -> str:
        """Return the full name of the message that indexes name.

        :raises InvalidSchema: the schema has no such message.
        """
        from kafkatx.schemas.protobuf.messages import UnknownMessage, message_name

        try:
            return message_name(self._parsed, indexes)
        except UnknownMessage as error:
            raise InvalidSchema(str(error)) from error


def message_indexes(descriptor: Any) -> tuple[int, ...]:
    """Return the indexes of a message in its file."""
    path = []
    while descriptor.containing_type is not None:
        path.append([each.name for each in descriptor.containing_type.nested_types].index(descriptor.name))
        descriptor = descriptor.containing_type
    path.append(list(descriptor.file.message_types_by_name).index(descriptor.name))
    return tuple(reversed(path))
