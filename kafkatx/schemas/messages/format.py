"""The interface of a format: from a schema to functions that write and read payloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from kafkatx.schemas.messages.imports import Import
from kafkatx.schemas.types import Dependencies, Schema, SchemaType

Write: TypeAlias = "Callable[[Any], bytes]"
"""From a value to a message: the prefix, then the payload. Raises BadValue."""

Read: TypeAlias = "Callable[[bytes, int], Any]"
"""From a message and the position of its payload to a value. Raises BadPayload."""


class MessageFormat(Protocol):
    """The data of one schema language.

    :ivar checked: check values where the format could also do without (JSON Schema).
    """

    type: SchemaType
    checked: bool

    def schema_of(self, given: Any) -> tuple[Schema, str] | None:
        """Return the schema that an application gave, and the full name of its record or message.

        :param given: a :class:`Schema`, its text, or a class that tells it; anything else has none.
        :raises InvalidSchema: it is not valid.
        """

    def imports(self, given: Any) -> Sequence[Import]:
        """Return what the schema of an application's class refers to, to be registered before it.

        Other schemas name what they refer to by ``Schema.references``.
        """

    def writer(
        self, schema: Schema, dependencies: Dependencies, prefix: bytes, given: Any
    ) -> tuple[bytes, Write]:
        """Return the message indexes (empty in most languages) and a function that writes values.

        :param prefix: what a message begins with, before the indexes; empty if the id is in a header.
        :param given: as for :meth:`schema_of`: it may choose a message of the schema.
        :raises InvalidSchema: the schema is not valid.
        """

    def reader(
        self, schema: Schema, dependencies: Dependencies, target: Any, indexes: bytes | None = None
    ) -> Read:
        """Return a function that reads what was written with a schema.

        :param target: a :class:`~.reader_schema.ReaderSchema`, the text of a schema, or a class; None: it is
            read as it was written. A message is never read as another type than its schema and indexes name.
        :param indexes: the encoded message indexes, if they are not in the message (Protobuf only).
        :raises InvalidSchema: one of them is not valid, or data of one cannot be read with the other.
        """
