"""Plans for programs that read all messages of a topic as one schema: a version of a subject."""

from __future__ import annotations

import attrs

from kafkatx.clientcore.registry import requests
from kafkatx.clientcore.registry.plans import Plan, ask, with_dependencies
from kafkatx.clientcore.registry.replies import RegisteredSchema
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import InvalidSchema, SchemaType


@attrs.frozen
class ReadVersion:
    """A version of a subject, and what messages are read as."""

    registered: RegisteredSchema
    reader: ReaderSchema


def read_version(subject: str, version: int = requests.LATEST, message: str = "") -> Plan[ReadVersion]:
    """Return a version of a subject to read messages as.

    :param message: the full name of a Protobuf message; empty: the first message of the subject's oldest
        version that this version has, too. The order of messages may change from version to version.
    :raises InvalidSchema: the schema has no such message, or is of another language than Protobuf.
    """
    found = yield from ask(requests.schema_version(subject, version))
    found = yield from with_dependencies(found)
    if found.schema.type is SchemaType.PROTOBUF:
        message = yield from _message(subject, found, message)
    elif message:
        raise InvalidSchema(f"a message is named, and the schema is of type {found.schema.type.value}")
    return ReadVersion(found, ReaderSchema(found.schema, dict(found.dependencies), message))


def _message(subject: str, found: RegisteredSchema, message: str) -> Plan[str]:
    from kafkatx.schemas.messages.protobuf.message_classes import MessageClasses

    messages = MessageClasses(found.schema, found.dependencies)
    if message:
        if not messages.has(message):
            raise InvalidSchema(f"the schema has no message {message}")
        return message
    for number in sorted((yield from ask(requests.versions(subject)))):
        older = yield from ask(requests.schema_version(subject, number))
        if older.schema == found.schema:
            break
        older = yield from with_dependencies(older)
        first = MessageClasses(older.schema, older.dependencies).first_name
        if messages.has(first):
            return first
    return messages.first_name
