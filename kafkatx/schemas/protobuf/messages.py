"""Messages of a parsed schema, for encoders and decoders: descriptors, and the places of messages. Pure.

Encoded data name their message by its place: its index among the messages of the file, then the index among
the messages within that one, and so on. The entries of maps count if the schema was sent with them: writers
that send a descriptor (Python, Go) count them, and writers in Java those that their text has as messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf import descriptor_pb2 as pb

from kafkatx.errors import KafkaTXError
from kafkatx.schemas.protobuf.protobuf_engine import ProtobufSchema


class UnknownMessage(KafkaTXError):
    """A schema has no message of a name, or at a place."""


def file_descriptors(schema: ProtobufSchema) -> Sequence[pb.FileDescriptorProto]:
    """Return the files that a pool of descriptors needs, in the order in which it takes them."""
    return schema.files


def message_indexes(schema: ProtobufSchema, name: str) -> tuple[int, ...]:
    """Return the place of a message of the schema's own file.

    :param name: its full name.
    :raises UnknownMessage: there is none.
    """
    package = schema.file.package
    if package and not name.startswith(f"{package}."):
        raise UnknownMessage(f"the schema has no message {name}")
    local = name.removeprefix(f"{package}.") if package else name
    messages: Sequence[pb.DescriptorProto] = schema.file.message_type
    indexes: list[int] = []
    for part in local.split("."):
        names = [message.name for message in messages]
        if part not in names:
            raise UnknownMessage(f"the schema has no message {name}")
        indexes.append(names.index(part))
        messages = _counted(schema, messages[indexes[-1]])
    return tuple(indexes)


def message_name(schema: ProtobufSchema, indexes: Sequence[int]) -> str:
    """Return the full name of the message at a place.

    :raises UnknownMessage: there is none.
    """
    names = [schema.file.package] if schema.file.package else []
    messages: Sequence[pb.DescriptorProto] = schema.file.message_type
    for index in indexes:
        if not 0 <= index < len(messages):
            raise UnknownMessage(f"the schema has no message at {list(indexes)[:20]}")
        names.append(messages[index].name)
        messages = _counted(schema, messages[index])
    if not indexes:
        raise UnknownMessage("the place of a message has at least one index")
    return ".".join(names)


def _counted(schema: ProtobufSchema, message: pb.DescriptorProto) -> Sequence[pb.DescriptorProto]:
    """Return the messages within a message that indexes count."""
    if schema.counts_entries:
        return message.nested_type
    return [one for one in message.nested_type if not one.options.map_entry]
