"""Answers from the state of a registry, as JSON has them. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence

import attrs

from kafkatx.registry.contents import Content, Version
from kafkatx.registry.errors import (
    invalid_version,
    no_subject_config,
    no_subject_mode,
    schema_not_found,
    subject_not_found,
    version_not_found,
)
from kafkatx.registry.records import MAX_ID
from kafkatx.registry.scopes import LEVEL, config_of, mode_of
from kafkatx.registry.state import RegistryState
from kafkatx.registry.subjects import DEFAULT_CONTEXT, context_of, has_prefix
from kafkatx.schemas.types import SchemaType

LATEST = -1


def parse_version(text: str) -> int:
    """Read a version as it stands in a path: a number from 1, or ``latest``, which is -1.

    :raises RegistryError: it is none.
    """
    if text in ("latest", "-1"):
        return LATEST
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= MAX_ID):
        raise invalid_version(text[:100])
    return int(text)


def find_version(state: RegistryState, subject: str, version: int, deleted: bool = False) -> Version:
    """Return a version of a subject, -1 the latest.

    :param deleted: True to find deleted versions, too.
    :raises RegistryError: there is no such subject, or no such version.
    """
    if version == LATEST:
        versions = state.versions(subject, deleted)
        found = versions[-1] if versions else None
    else:
        found = state.find(subject, version)
    if found is None or (found.deleted and not deleted):
        if not state.versions(subject, deleted):
            raise subject_not_found(subject)
        raise version_not_found("latest" if version == LATEST else version)
    return found


# --- bodies


def described(content: Content) -> dict[str, object]:
    """Return the members of a schema in an answer, without those that are empty."""
    schema = content.schema
    body: dict[str, object] = {"guid": content.guid}
    if schema.type is not SchemaType.AVRO:
        body["schemaType"] = schema.type.value
    if schema.references:
        body["references"] = [attrs.asdict(reference) for reference in schema.references]
    if content.metadata is not None:
        body["metadata"] = content.metadata
    if content.rule_set is not None:
        body["ruleSet"] = content.rule_set
    body["schema"] = schema.text
    return body


def version_body(stored: Version) -> dict[str, object]:
    """Return a version with its subject."""
    body: dict[str, object] = {
        "subject": stored.subject,
        "version": stored.version,
        "id": stored.content.id,
        **described(stored.content),
    }
    if stored.deleted:
        body["deleted"] = True
    return body


def registered_body(stored: Version) -> dict[str, object]:
    """Return the answer to a registration."""
    return {"id": stored.content.id, "version": stored.version, **described(stored.content)}


# --- subjects


def subjects(state: RegistryState, prefix: str, deleted: bool, deleted_only: bool) -> list[str]:
    """Return the names of subjects that have a version, in order.

    :param deleted: True to count deleted versions, too.
    :param deleted_only: True for subjects all of whose versions are deleted.
    """
    found = []
    for subject in sorted(state.subjects):
        if not has_prefix(subject, prefix):
            continue
        live = state.latest(subject) is not None
        if not live if deleted_only else (live or deleted):
            found.append(subject)
    return found


def versions(state: RegistryState, subject: str, deleted: bool, deleted_only: bool) -> list[int]:
    """Return the numbers of a subject's versions.

    :raises RegistryError: there is no such subject.
    """
    every = state.versions(subject, True)
    chosen = [
        stored.version
        for stored in every
        if (stored.deleted if deleted_only else deleted or not stored.deleted)
    ]
    if not chosen and not (deleted_only and every):
        raise subject_not_found(subject)
    return chosen


def with_metadata(
    state: RegistryState, subject: str, wanted: Sequence[tuple[str, str]], deleted: bool
) -> Version:
    """Return the latest version of a subject whose metadata have some properties.

    :raises RegistryError: there is no such subject, or no such version.
    """
    every = state.versions(subject, deleted)
    if not every:
        raise subject_not_found(subject)
    for stored in reversed(every):
        properties = (stored.content.metadata or {}).get("properties")
        if isinstance(properties, Mapping) and all(properties.get(key) == value for key, value in wanted):
            return stored
    raise schema_not_found()


def referenced_by(state: RegistryState, subject: str, version: int, deleted: bool) -> list[int]:
    """Return the ids of the schemas that refer to a version."""
    found = find_version(state, subject, version, deleted=True)
    return sorted({stored.content.id for stored in state.referrers(subject, found.version, deleted)})


# --- schemas


def by_id(state: RegistryState, schema_id: int) -> Content:
    """Return the schema of an id.

    :raises RegistryError: there is none.
    """
    content = state.content(schema_id)
    if content is None:
        raise schema_not_found(schema_id)
    return content


def _digest_of(guid: str) -> bytes:
    try:
        return uuid.UUID(guid).bytes
    except ValueError:
        raise schema_not_found(guid[:100]) from None


def by_guid(state: RegistryState, guid: str) -> Content:
    """Return the schema of a guid.

    :raises RegistryError: there is none.
    """
    ids = state.ids_of_guid(_digest_of(guid))
    if not ids:
        raise schema_not_found(guid[:100])
    return by_id(state, ids[0])


def ids_of_guid(state: RegistryState, guid: str) -> list[dict[str, object]]:
    """Return the ids of a guid, with their contexts.

    :raises RegistryError: there is none.
    """
    ids = state.ids_of_guid(_digest_of(guid))
    if not ids:
        raise schema_not_found(guid[:100])
    return [
        {"context": context, "id": schema_id}
        for schema_id in ids
        for context in sorted({context_of(subject) for subject, _ in state.users(schema_id, True)})
    ]


def users_of_guid(state: RegistryState, guid: str) -> set[str]:
    """Return the subjects that have the schema of a guid, deleted ones, too.

    :raises RegistryError: there is none.
    """
    ids = state.ids_of_guid(_digest_of(guid))
    if not ids:
        raise schema_not_found(guid[:100])
    return {subject for schema_id in ids for subject, _ in state.users(schema_id, True)}


def users(state: RegistryState, schema_id: int, subject: str, deleted: bool) -> list[tuple[str, int]]:
    """Return the versions that have an id, of one subject or, if that is empty, of all.

    :raises RegistryError: there is no such id.
    """
    by_id(state, schema_id)
    return [one for one in state.users(schema_id, deleted) if subject in ("", one[0])]


def schemas(state: RegistryState, prefix: str, deleted: bool, latest_only: bool) -> Iterator[Version]:
    """Yield versions by subject and number, as long as they are there."""
    for subject in sorted(state.subjects):
        if not has_prefix(subject, prefix):
            continue
        found = state.versions(subject, deleted)
        yield from found[-1:] if latest_only else found


# --- scopes


def config(state: RegistryState, subject: str, default_to_global: bool, default: str) -> Mapping[str, object]:
    """Return a configuration: of a subject, or of all if that is empty.

    :raises RegistryError: a subject has none of its own, and *default_to_global* is False.
    """
    if not subject:
        return {LEVEL: default, **state.configs.get("", {})}
    if default_to_global:
        return config_of(state, subject, default)
    own = state.configs.get(subject)
    if own is None:
        raise no_subject_config(subject)
    return own


def mode(state: RegistryState, subject: str, default_to_global: bool) -> str:
    """Return a mode: of a subject, or of all if that is empty.

    :raises RegistryError: a subject has none of its own, and *default_to_global* is False.
    """
    if not subject or default_to_global:
        return mode_of(state, subject)
    own = state.modes.get(subject)
    if own is None:
        raise no_subject_mode(subject)
    return own


def contexts(state: RegistryState) -> list[str]:
    """Return the contexts that have a subject, the default one first."""
    found = {context_of(subject) for subject in state.subjects}
    return [DEFAULT_CONTEXT, *sorted(found - {DEFAULT_CONTEXT})]
