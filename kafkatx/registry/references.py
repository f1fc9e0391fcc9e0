"""The schemas that another one refers to, directly and indirectly. Pure."""

from __future__ import annotations

from kafkatx.registry.contents import Version
from kafkatx.registry.errors import RegistryError, invalid_schema
from kafkatx.registry.inspection import Source
from kafkatx.registry.state import RegistryState
from kafkatx.schemas.types import Reference, Schema

MOST_REFERENCES = 100
"""The most schemas that one may need, also indirectly."""


def source(state: RegistryState, schema: Schema, label: str = "", deleted: bool = False) -> Source:
    """Return a schema with all that it refers to.

    :param deleted: True to follow references to deleted versions, too.
    :raises RegistryError: a version is not there, there are too many, or they go round in a circle.
    """
    found: dict[str, Schema] = {}
    _collect(state, schema, deleted, found, [])
    return Source(schema, tuple(found.items()), label)


def stored_source(state: RegistryState, stored: Version) -> Source:
    """Return a stored version with what it refers to, as far as that is there."""
    try:
        return source(state, stored.content.schema, f"version {stored.version}", deleted=True)
    except RegistryError:  # the engine says what is missing
        return Source(stored.content.schema, (), f"version {stored.version}")


def _collect(
    state: RegistryState,
    schema: Schema,
    deleted: bool,
    found: dict[str, Schema],
    path: list[tuple[str, int]],
) -> None:
    for reference in schema.references:
        stored = _resolve(state, reference, deleted)
        key = (stored.subject, stored.version)
        if key in path:
            raise invalid_schema(
                f"Invalid schema: the references go round in a circle: {reference.subject} version"
                f" {stored.version} refers to itself"
            )
        if found.get(reference.name) == stored.content.schema:
            continue
        if len(path) < MOST_REFERENCES:
            _collect(state, stored.content.schema, deleted, found, [*path, key])
        if len(found) >= MOST_REFERENCES or len(path) >= MOST_REFERENCES:
            raise invalid_schema(f"Invalid schema: it needs more than {MOST_REFERENCES} other schemas")
        found[reference.name] = stored.content.schema


def _resolve(state: RegistryState, reference: Reference, deleted: bool) -> Version:
    if reference.version == -1:
        stored = state.latest(reference.subject)
    else:
        stored = state.find(reference.subject, reference.version)
    if stored is None or (stored.deleted and not deleted):
        raise invalid_schema(
            f'Invalid schema: No schema reference found for subject "{reference.subject}" and version'
            f" {reference.version}"
        )
    return stored
