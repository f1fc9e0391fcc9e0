"""Classes of messages from the text of a Protobuf schema and of those that it imports."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from kafkatx.schemas.engines import MissingLibrary
from kafkatx.schemas.types import Dependencies, InvalidSchema, Schema

GOOGLE = "google/protobuf/"
_WELL_KNOWN = (
    "any",
    "api",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
)


class MessageClasses:
    """The classes of the messages of one schema, made when they are asked for.

    :ivar first_name: full name of the first message; empty if there is none.
    """

    def __init__(self, schema: Schema, dependencies: Dependencies) -> None:
        """Parse the schema.

        :raises InvalidSchema: it is not valid, or protobuf is not installed.
        """
        try:
            from google.protobuf.descriptor_pool import DescriptorPool
        except ImportError:
            raise InvalidSchema("Protobuf needs protobuf: pip install 'kafkatx[schemas]'") from None
        pool: Any = DescriptorPool()
        added: set[str] = set()
        try:
            files = _files(schema, dependencies)
            for file in files:
                for name in file.dependency:
                    _add_well_known(pool, name, added)
                if file.name not in added:
                    added.add(file.name)
                    pool.Add(file)
            self._file = pool.FindFileByName(files[-1].name)
        except (InvalidSchema, MissingLibrary):
            raise
        except Exception as error:  # protobuf raises many kinds of errors
            raise InvalidSchema(f"no Protobuf schema: {' '.join(str(error).split())}") from error
        messages = list(self._file.message_types_by_name.values())
        self.first_name = str(messages[0].full_name) if messages else ""

    def at(self, indexes: Sequence[int]) -> Any:
        """Return the class of a message.

        :raises InvalidSchema: the schema has no such message.
        """
        from google.protobuf.message_factory import GetMessageClass

        messages = list(self._file.message_types_by_name.values())
        found: Any = None
        for index in indexes:
            if index >= len(messages):
                raise InvalidSchema(f"the schema has no message with the indexes {list(indexes)}")
            found = messages[index]
            messages = list(found.nested_types)
        if found is None:
            raise InvalidSchema("the schema has no messages")
        return GetMessageClass(found)


def message_indexes(descriptor: Any) -> tuple[int, ...]:
    """Return the indexes of a message in its file."""
    path = []
    while descriptor.containing_type is not None:
        path.append([each.name for each in descriptor.containing_type.nested_types].index(descriptor.name))
        descriptor = descriptor.containing_type
    path.append(list(descriptor.file.message_types_by_name).index(descriptor.name))
    return tuple(reversed(path))


def _add_well_known(pool: Any, name: str, added: set[str]) -> None:
    """Add one of Google's own files, and those that it imports."""
    stem = name.removeprefix(GOOGLE).removesuffix(".proto")
    if name in added or not name.startswith(GOOGLE) or stem not in (*_WELL_KNOWN, "descriptor", "wrappers"):
        return
    added.add(name)
    import importlib

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    module: Any = importlib.import_module(f"google.protobuf.{stem}_pb2")
    file = FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    for other in file.dependency:
        _add_well_known(pool, other, added)
    pool.Add(file)


def _files(schema: Schema, dependencies: Dependencies) -> list[Any]:
    """Return the descriptors of the files, the schema's own last."""
    named = [(name, other) for name, other in dependencies.items()]
    return [_file(name, other, dependencies) for name, other in (*named, ("schema.proto", schema))]


def _file(name: str, schema: Schema, dependencies: Dependencies) -> Any:
    """Return the descriptor of one file: decoded from base64, or parsed."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    file = FileDescriptorProto()
    try:
        file.ParseFromString(base64.b64decode(schema.text, validate=True))
    except (ValueError, DecodeError):
        return file
    file.name = name
    return file
