"""Requests to a schema registry, as values. Any transport sends them; :meth:`Request.reply` reads replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import attrs

from kafkatx.clientcore.registry import replies
from kafkatx.clientcore.registry.replies import RegisteredSchema, schema_body
from kafkatx.schemas.types import Schema

T = TypeVar("T")

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
ACCEPT = f"{CONTENT_TYPE}, application/vnd.schemaregistry+json, application/json"

MAX_REPLY_BYTES = 16 << 20
"""Limit of a reply; schemas have a limit of 1 MB, and lists of subjects are longer."""

LATEST = -1


@attrs.frozen
class Request(Generic[T]):
    """One request.

    :ivar path: with the query, percent-encoded.
    :ivar read: converts the JSON of a successful reply.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: bytes | None = None

    def reply(self, status: int, body: bytes) -> T:
        """Return the result in a reply.

        :raises RegistryError: the registry answers with an error.
        :raises RegistryUnavailable: it is no reply of a registry.
        """
        return self.read(replies.read_body(status, body))


def _path(*parts: object, **query: object) -> str:
    path = "/" + "/".join(quote(str(part), safe="") for part in parts)
    given = {name: str(value).lower() for name, value in query.items() if value not in (None, False, "")}
    return f"{path}?{urlencode(given)}" if given else path


def _json(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _version(version: int) -> str:
    return "latest" if version == LATEST else str(version)


# -- schemas


def schema_by_id(schema_id: int) -> Request[RegisteredSchema]:
    """Ask for the schema of an id."""

    def read(found: object) -> RegisteredSchema:
        return attrs.evolve(replies.read_registered(found), id=schema_id)

    return Request("GET", _path("schemas", "ids", schema_id), read)


def schema_by_guid(guid: str) -> Request[RegisteredSchema]:
    """Ask for the schema of a GUID."""

    def read(found: object) -> RegisteredSchema:
        return attrs.evolve(replies.read_registered(found), guid=guid)

    return Request("GET", _path("schemas", "guids", guid), read)


def schema_version(subject: str, version: int = LATEST, deleted: bool = False) -> Request[RegisteredSchema]:
    """Ask for one version of a subject."""
    path = _path("subjects", subject, "versions", _version(version), deleted=deleted)
    return Request("GET", path, replies.read_registered)


def register(subject: str, schema: Schema, normalize: bool = False) -> Request[RegisteredSchema]:
    """Register a schema; it keeps its id if it is registered already."""

    def read(found: object) -> RegisteredSchema:
        place = replies.field
        return RegisteredSchema(
            schema,
            place(found, "id", int),
            place(found, "guid", str, ""),
            subject,
            place(found, "version", int, 0),
        )

    path = _path("subjects", subject, "versions", normalize=normalize)
    return Request("POST", path, read, _json(schema_body(schema)))


def look_up(subject: str, schema: Schema, normalize: bool = False) -> Request[RegisteredSchema]:
    """Ask for the id and version of a schema under a subject."""
    path = _path("subjects", subject, normalize=normalize)
    return Request("POST", path, replies.read_registered, _json(schema_body(schema)))


def schema_types() -> Request[list[str]]:
    """Ask for the languages that the registry knows: the cheapest question."""
    return Request("GET", _path("schemas", "types"), replies.read_names)


# -- subjects


def subjects(prefix: str = "", deleted: bool = False) -> Request[list[str]]:
    """Ask for the names of all subjects."""
    return Request("GET", _path("subjects", subjectPrefix=prefix, deleted=deleted), replies.read_names)


def versions(subject: str, deleted: bool = False) -> Request[list[int]]:
    """Ask for the versions of a subject."""
    return Request("GET", _path("subjects", subject, "versions", deleted=deleted), replies.read_numbers)


def delete_subject(subject: str, permanent: bool = False) -> Request[list[int]]:
    """Delete a subject; *permanent* only after a deletion that is not."""
    return Request("DELETE", _path("subjects", subject, permanent=permanent), replies.read_numbers)


def delete_version(subject: str, version: int, permanent: bool = False) -> Request[list[int]]:
    """Delete one version of a subject."""
    path = _path("subjects", subject, "versions", _version(version), permanent=permanent)
    return Request("DELETE", path, replies.read_numbers)


# -- compatibility


@attrs.frozen
class Verdict:
    """The answer to the question if a schema is compatible, with the reasons if not."""

    compatible: bool
    messages: tuple[str, ...] = ()


def check(subject: str, schema: Schema, version: int | None = LATEST) -> Request[Verdict]:
    """Ask if a schema is compatible with a version; None: with all that the subject's level names."""

    def read(found: object) -> Verdict:
        messages = replies.field(found, "messages", list, [])
        return Verdict(replies.field(found, "is_compatible", bool), tuple(map(str, messages)))

    place = () if version is None else (_version(version),)
    path = _path("compatibility", "subjects", subject, "versions", *place, verbose=True)
    return Request("POST", path, read, _json(schema_body(schema)))


def compatibility(subject: str | None = None, default: bool = True) -> Request[str]:
    """Ask for the compatibility level of a subject, or the global one."""
    path = _path("config") if subject is None else _path("config", subject, defaultToGlobal=default)
    return Request("GET", path, lambda found: replies.field(found, "compatibilityLevel", str))


def set_compatibility(level: str, subject: str | None = None) -> Request[str]:
    """Set the compatibility level of a subject, or the global one."""
    path = _path("config", *(() if subject is None else (subject,)))
    return Request(
        "PUT", path, lambda found: replies.field(found, "compatibility", str), _json({"compatibility": level})
    )


def delete_compatibility(subject: str | None = None) -> Request[Mapping[str, Any]]:
    """Delete the compatibility level of a subject: the global one counts again."""
    path = _path("config", *(() if subject is None else (subject,)))
    return Request("DELETE", path, replies.as_mapping)
