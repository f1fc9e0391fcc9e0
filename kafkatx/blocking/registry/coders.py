"""Encoding and decoding with a schema registry in a program that waits: for short commands."""

from __future__ import annotations

from typing import Any

import attrs

from kafkatx.blocking.registry.client import BlockingRegistry
from kafkatx.clientcore.registry import plans
from kafkatx.clientcore.registry.errors import RegistryUnavailable
from kafkatx.clientcore.registry.plans import WriterPolicy
from kafkatx.clientcore.registry.replies import RegisteredSchema
from kafkatx.errors import KafkaTXError
from kafkatx.schemas import framing
from kafkatx.schemas.messages.format import Read
from kafkatx.schemas.messages.formats import new_format
from kafkatx.schemas.types import Schema, SchemaType


class MessageWriter:
    """A writer of messages of one subject, with the schema's id before them.

    :ivar registered: the schema.
    """

    def __init__(
        self, registry: BlockingRegistry, subject: str, schema: Schema | None, policy: WriterPolicy
    ) -> None:
        """Look the schema up, or register it.

        :param schema: None: the subject's latest.
        :raises KafkaTXError: the registry does not answer, or refuses the schema.
        """
        self.registered = registry.run(plans.writer_schema(subject, schema, policy))
        found = self.registered
        made = new_format(found.schema.type)
        prefix = framing.prefix(found.id)
        _, self.write = made.writer(found.schema, found.dependencies, prefix, None)


@attrs.frozen
class Message:
    """A value, and the schema that it was written with."""

    value: Any
    schema: RegisteredSchema


class MessageReader:
    """A reader of messages of one schema language.

    :ivar is_key: they are keys: the header has another name.
    """

    def __init__(self, registry: BlockingRegistry, kind: SchemaType, is_key: bool = False) -> None:
        self._registry = registry
        self._format = new_format(kind)
        self._header = framing.KEY_HEADER if is_key else framing.VALUE_HEADER
        self._known: dict[bytes, tuple[Read, RegisteredSchema] | KafkaTXError] = {}

    def read(self, data: bytes, headers: Any = ()) -> Message:
        """Return the value of a message.

        :param headers: of its record: pairs of a name and bytes.
        :raises KafkaTXError: it cannot be read; RegistryUnavailable: the registry does not answer.
        """
        header = next((value for name, value in headers if name == self._header and value), None)
        frame = data[: framing.PREFIX_SIZE] if header is None else header
        found = self._known.get(frame)
        if found is None:
            found = self._known[frame] = self._look_up(frame, header is not None)
        if isinstance(found, KafkaTXError):
            raise found
        read, schema = found
        return Message(read(data, framing.PREFIX_SIZE if header is None else 0), schema)

    def _look_up(self, frame: bytes, in_header: bool) -> tuple[Read, RegisteredSchema] | KafkaTXError:
        try:
            if in_header:
                found = self._registry.run(plans.schema_of_guid(framing.header_guid(frame)))
            else:
                found = self._registry.run(plans.schema_of_id(framing.prefix_id(frame)))
            if found.schema.type is not self._format.type:
                kinds = found.schema.type.value, self._format.type.value
                return KafkaTXError("its schema is of type {}, not {}".format(*kinds))
            indexes = frame[1 + framing.GUID_SIZE :] if in_header else None
            return self._format.reader(found.schema, found.dependencies, None, indexes), found
        except RegistryUnavailable:
            raise
        except KafkaTXError as error:
            return error
