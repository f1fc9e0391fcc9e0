"""Classes of messages from the text of a Protobuf schema and of those that it imports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from kafkatx.schemas.engines import MissingLibrary, engine
from kafkatx.schemas.types import Dependencies, InvalidSchema, Schema, SchemaType

if TYPE_CHECKING:
    from kafkatx.schemas.protobuf.protobuf_engine import ProtobufSchema


class MessageClasses:
    """The classes of the messages of one schema, made when they are asked for.

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

    def at(self, indexes: Sequence[int]) -> Any:
        """Return the class of a message.

        :raises InvalidSchema: the schema has no such message.
        """
        from google.protobuf.message_factory import GetMessageClass

        from kafkatx.schemas.protobuf.messages import UnknownMessage, message_name

        try:
            name = message_name(self._parsed, indexes)
        except UnknownMessage as error:
            raise InvalidSchema(str(error)) from error
        return GetMessageClass(self._pool.FindMessageTypeByName(name))


def message_indexes(descriptor: Any) -> tuple[int, ...]:
    """Return the indexes of a message in its file."""
    path = []
    while descriptor.containing_type is not None:
        path.append([each.name for each in descriptor.containing_type.nested_types].index(descriptor.name))
        descriptor = descriptor.containing_type
    path.append(list(descriptor.file.message_types_by_name).index(descriptor.name))
    return tuple(reversed(path))
