"""Registration and look-up of schemas. Pure.

Both are generators: they yield an :class:`Inspection`, go on with what the engine has found, and return a
:class:`Change` or an answer. Who drives them begins again if the state changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeAlias

import attrs

from kafkatx.registry.contents import Content, Json, Version, digest
from kafkatx.registry.errors import (
    incompatible,
    invalid_schema,
    not_permitted,
    schema_not_found,
    subject_not_found,
    version_not_found,
)
from kafkatx.registry.inspection import Inspected, Inspection
from kafkatx.registry.records import MAX_ID, KeyValue, schema_record, schema_tombstone
from kafkatx.registry.references import source, stored_source
from kafkatx.registry.scopes import IMPORT, READWRITE, check_writable, config_of, level_of, mode_of
from kafkatx.registry.state import RegistryState
from kafkatx.registry.subjects import context_of
from kafkatx.schemas.compatibility import CompatibilityLevel
from kafkatx.schemas.types import Schema

MOST_TWINS = 100
"""The number of a subject's versions that are looked at for one that differs in its layout only."""


@attrs.frozen
class Candidate:
    """A schema that a client has sent.

    :ivar id: the id that it shall have (mode IMPORT); None: the registry gives one.
    :ivar version: the version that it shall have; None: the next one.
    """

    schema: Schema
    metadata: Json = None
    rule_set: Json = None
    id: int | None = None
    version: int | None = None


@attrs.frozen
class Change:
    """The outcome of a command.

    :ivar records: the records to append, all or none of them.
    :ivar answer: the answer once they are committed, as JSON has it.
    """

    records: Sequence[KeyValue]
    answer: object


Inspecting: TypeAlias = Generator[Inspection, Inspected, Version]


def find_as_sent(
    state: RegistryState, subject: str, candidate: Candidate, deleted: bool = False
) -> Version | None:
    """Return the version of a subject that has this very text; None if there is none."""
    schema = candidate.schema
    found = digest(schema.text, schema.references, candidate.metadata, candidate.rule_set)
    return _by_digest(state, subject, schema, found, deleted)


def _by_digest(
    state: RegistryState, subject: str, schema: Schema, found: bytes, deleted: bool
) -> Version | None:
    ids = state.ids_of(schema.type, found)
    if not ids:
        return None
    versions = state.versions(subject, deleted)
    return next((stored for stored in reversed(versions) if stored.content.id in ids), None)


def look_up(
    state: RegistryState,
    subject: str,
    candidate: Candidate,
    normalize: bool,
    deleted: bool,
    default_level: str,
) -> Inspecting:
    """Find the version of a subject that has a schema.

    :raises RegistryError: there is no such subject, or it does not have the schema.
    """
    if not state.versions(subject, True):
        raise subject_not_found(subject)
    normalize = normalize or config_of(state, subject, default_level).get("normalize") is True
    if not normalize and (stored := find_as_sent(state, subject, candidate, deleted)) is not None:
        return stored
    versions = state.versions(subject, deleted)
    twins = _twins(candidate, versions)
    inspected = yield Inspection(
        source(state, candidate.schema, deleted=True),
        normalize,
        twins=tuple(stored_source(state, twin) for twin in twins),
        lenient=True,
    )
    found = _match(state, subject, candidate, inspected, twins, deleted)
    if found is None and candidate.metadata is None and versions:  # as a registration would take them over
        taken = _with_earlier(candidate, versions[-1])
        found = _match(state, subject, taken, inspected, (), deleted)
    if found is None:
        raise schema_not_found()
    return found


def _match(
    state: RegistryState,
    subject: str,
    candidate: Candidate,
    inspected: Inspected,
    twins: Sequence[Version],
    deleted: bool,
) -> Version | None:
    for found in _digests(candidate, inspected):
        stored = _by_digest(state, subject, candidate.schema, found, deleted)
        if stored is not None:
            return stored
    return twins[inspected.twin] if inspected.twin is not None and twins else None


def _digests(candidate: Candidate, inspected: Inspected) -> list[bytes]:
    """Return the digests by which an equal schema may be known, its own first."""
    texts = (inspected.canonical, inspected.text, inspected.sorted_text)
    references = candidate.schema.references
    return [digest(text, references, candidate.metadata, candidate.rule_set) for text in texts]


def _twins(candidate: Candidate, versions: Sequence[Version]) -> list[Version]:
    """Return the versions that may have the same schema in another layout, the latest first."""
    return [
        stored
        for stored in reversed(versions)
        if stored.content.schema.type is candidate.schema.type
        and stored.content.schema.references == candidate.schema.references
        and (stored.content.metadata, stored.content.rule_set) == (candidate.metadata, candidate.rule_set)
    ][:MOST_TWINS]


def _with_earlier(candidate: Candidate, latest: Version) -> Candidate:
    """Return a candidate with metadata and rules of the latest version where it has none of its own."""
    metadata = latest.content.metadata if candidate.metadata is None else candidate.metadata
    rule_set = latest.content.rule_set if candidate.rule_set is None else candidate.rule_set
    return attrs.evolve(candidate, metadata=metadata, rule_set=rule_set)


# --- registration


def register(
    state: RegistryState, subject: str, candidate: Candidate, normalize: bool, default_level: str
) -> Generator[Inspection, Inspected, Change]:
    """Register a schema; the answer is its :class:`Version`.

    :raises RegistryError: it is not valid, not compatible, or the mode forbids it.
    """
    _check_mode(state, subject, candidate)
    mode = mode_of(state, subject)
    versions = state.versions(subject)
    if mode != IMPORT and versions:
        candidate = _with_earlier(candidate, versions[-1])
    normalize = normalize or config_of(state, subject, default_level).get("normalize") is True
    level = CompatibilityLevel.NONE if mode == IMPORT else level_of(state, subject, default_level)
    compared = [stored_source(state, stored) for stored in _compared(versions, level)]
    twins = _twins(candidate, versions) if candidate.version is None else []
    inspected = yield Inspection(
        source(state, candidate.schema, deleted=mode == IMPORT),
        normalize,
        level,
        tuple(compared),
        tuple(stored_source(state, twin) for twin in twins),
        mode == IMPORT,
    )
    if candidate.version is None:
        known = _match(state, subject, candidate, inspected, twins, False)
        if known is not None and candidate.id in (None, known.content.id):
            return Change((), known)
    if inspected.reasons:
        raise incompatible(
            f"\"{subject}\", details: [{', '.join(inspected.reasons)}, {{compatibility: '{level.value}'}}]"
        )
    return _registered(state, subject, candidate, inspected)


def _check_mode(state: RegistryState, subject: str, candidate: Candidate) -> None:
    check_writable(state, subject)
    mode = mode_of(state, subject)
    if candidate.id is not None and mode != IMPORT:
        raise not_permitted(f"Subject {subject} in context {context_of(subject)} is not in import mode")
    if candidate.id is None and mode != READWRITE:
        raise not_permitted(f"Subject {subject} in context {context_of(subject)} is not in read-write mode")


def _compared(versions: Sequence[Version], level: CompatibilityLevel) -> list[Version]:
    """Return the versions that a level looks at, the latest first."""
    if level is CompatibilityLevel.NONE:
        return []
    return list(reversed(versions)) if level.transitive else list(versions[-1:])


def _registered(state: RegistryState, subject: str, candidate: Candidate, inspected: Inspected) -> Change:
    content = _content(state, candidate, inspected)
    every = state.versions(subject, True)
    following = every[-1].version + 1 if every else 1
    version = candidate.version if candidate.version is not None else following
    if candidate.id is None and version != following:
        raise invalid_schema("Version is not one more than previous version")
    earlier = state.find(subject, version)
    if earlier is not None and (earlier.content.id != content.id or not earlier.content.is_same(content)):
        raise not_permitted(f"Overwrite of version {version} of subject {subject} is not permitted.")
    stored = Version(subject, version, content)
    records = [
        schema_tombstone(subject, old.version)
        for old in every
        if old.deleted
        and old.content.id == content.id
        and old.version < version
        and not any(state.referrers(subject, old.version, deleted=True))
    ]
    return Change((*records, schema_record(stored)), stored)


def _content(state: RegistryState, candidate: Candidate, inspected: Inspected) -> Content:
    """Return the content to store: that of an id that is known, or of a new one.

    :raises RegistryError: the given id is another schema's, or there are no more ids.
    """
    schema = attrs.evolve(candidate.schema, text=inspected.text)
    digests = _digests(candidate, inspected)
    found = digests[0]
    ids = next(filter(None, (state.ids_of(schema.type, each) for each in digests)), ())
    if candidate.id is not None:
        return _imported(state, Content(candidate.id, schema, candidate.metadata, candidate.rule_set, found))
    if ids:
        known = state.content(ids[0])
        assert known is not None
        return known
    if state.max_id >= MAX_ID:
        raise not_permitted(f"There is no id after {MAX_ID}")
    return Content(state.max_id + 1, schema, candidate.metadata, candidate.rule_set, found)


def _imported(state: RegistryState, content: Content) -> Content:
    known = state.content(content.id)
    if known is None:
        return content
    if known.digest != content.digest and not known.is_same(content):
        raise not_permitted(f"Overwrite new schema with id {content.id} is not permitted.")
    return known


def serialized(state: RegistryState, content: Content) -> Generator[Inspection, Inspected, Content]:
    """Return a schema in the form for machines: of Protobuf a FileDescriptorProto in base64.

    :raises RegistryError: it cannot be made.
    """
    inspected = yield Inspection(source(state, content.schema, deleted=True), serialized=True)
    return attrs.evolve(content, schema=attrs.evolve(content.schema, text=inspected.text))


# --- compatibility


def incompatibilities(
    state: RegistryState,
    subject: str,
    candidate: Candidate,
    version: int | None,
    normalize: bool,
    default_level: str,
) -> Generator[Inspection, Inspected, tuple[str, ...]]:
    """Find out why a schema could not be registered, or could not follow one version.

    :param version: the version to compare with, -1 the latest, if there is one; None: those that the level
        names.
    :raises RegistryError: there is no such version, be it that there is no such subject.
    """
    level = level_of(state, subject, default_level)
    if version is None:
        compared = _compared(state.versions(subject), level)
    else:
        stored = state.latest(subject) if version == -1 else state.find(subject, version)
        if version != -1 and (stored is None or stored.deleted):
            raise version_not_found(version)
        compared = [] if stored is None else [stored]
    inspected = yield Inspection(
        source(state, candidate.schema),
        normalize,
        level,
        tuple(stored_source(state, one) for one in compared),
    )
    if not inspected.reasons:
        return ()
    return (*inspected.reasons, f"{{compatibility: '{level.value}'}}")
