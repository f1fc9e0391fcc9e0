"""The state of a registry: what its records say, applied in the order of the log. Pure.

Reading all records again gives the same state; so does a log that was compacted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from kafkatx.registry.contents import Content, Json, Version, digest
from kafkatx.registry.records import (
    ClearSubjectRecord,
    ConfigRecord,
    DeleteSubjectRecord,
    MaxIdRecord,
    ModeRecord,
    Record,
    SchemaRecord,
)
from kafkatx.registry.subjects import covers
from kafkatx.schemas.types import SchemaType

SubjectVersion = tuple[str, int]
_Digest = tuple[SchemaType, bytes]
_K = TypeVar("_K")
_V = TypeVar("_V")


class RegistryState:
    """Subjects with their versions, schemas by id and by digest, configurations and modes.

    :ivar subjects: the versions of each subject by number, also deleted ones.
    :ivar configs: the configuration of each subject or context, of all under ``""``.
    :ivar modes: the same of modes.
    :ivar max_id: the highest id that was ever given; 0 if none was.
    :ivar changes: rises with each record that may change something.
    """

    def __init__(self) -> None:
        self.subjects: dict[str, dict[int, Version]] = {}
        self.configs: dict[str, Mapping[str, object]] = {}
        self.modes: dict[str, str] = {}
        self.max_id = 0
        self.changes = 0
        self._users: dict[int, dict[SubjectVersion, Content]] = {}
        self._ids: dict[_Digest, dict[int, None]] = {}
        self._referrers: dict[SubjectVersion, dict[SubjectVersion, None]] = {}

    # --- applying

    def apply(self, record: Record) -> None:
        """Apply the next record of the log."""
        self.changes += 1
        if isinstance(record, SchemaRecord):
            self._apply_schema(record)
        elif isinstance(record, ConfigRecord):
            self._apply_config(record.subject, record.config)
        elif isinstance(record, ModeRecord):
            self.modes.pop(record.subject, None)
            if record.mode is not None:
                self.modes[record.subject] = record.mode
        elif isinstance(record, DeleteSubjectRecord):
            self._delete_subject(record)
        elif isinstance(record, ClearSubjectRecord):
            self._clear(record.subject)
        elif isinstance(record, MaxIdRecord):
            self.max_id = max(self.max_id, record.max_id)

    def _apply_config(self, subject: str, config: Json) -> None:
        self.configs.pop(subject, None)
        if config is not None:
            self.configs[subject] = config

    def _apply_schema(self, record: SchemaRecord) -> None:
        self._remove(record.subject, record.version)
        if record.stored is not None:
            self._add(record.stored)

    def _add(self, stored: Version) -> None:
        key = (stored.subject, stored.version)
        content = stored.content
        users = self._users.setdefault(content.id, {})
        known = next(iter(users.values()), None)
        if known is not None and known == content:  # one object for all that say the same
            content = known
            stored = Version(stored.subject, stored.version, content, stored.deleted)
        users[key] = content
        for name in _digests(content):
            self._ids.setdefault(name, {})[content.id] = None
        for reference in content.schema.references:
            self._referrers.setdefault((reference.subject, reference.version), {})[key] = None
        self.subjects.setdefault(stored.subject, {})[stored.version] = stored
        self.max_id = max(self.max_id, content.id)

    def _remove(self, subject: str, version: int) -> None:
        versions = self.subjects.get(subject)
        stored = versions.pop(version, None) if versions is not None else None
        if versions is None or stored is None:
            return
        if not versions:
            del self.subjects[subject]
        key, content = (subject, version), stored.content
        users = self._users[content.id]
        del users[key]
        if not any(_digests(other) == _digests(content) for other in users.values()):
            for name in _digests(content):
                self._forget(self._ids, name, content.id)
        if not users:
            del self._users[content.id]
        for reference in content.schema.references:
            self._forget(self._referrers, (reference.subject, reference.version), key)

    @staticmethod
    def _forget(index: dict[_K, dict[_V, None]], key: _K, value: _V) -> None:
        values = index.get(key)
        if values is not None:
            values.pop(value, None)
            if not values:
                del index[key]

    def _delete_subject(self, record: DeleteSubjectRecord) -> None:
        versions = self.subjects.get(record.subject, {})
        for number, stored in versions.items():
            if number <= record.version and not stored.deleted:
                versions[number] = Version(record.subject, number, stored.content, True)

    def _clear(self, scope: str) -> None:
        gone = [
            (subject, number)
            for subject, versions in self.subjects.items()
            if covers(scope, subject)
            for number, stored in versions.items()
            if stored.deleted
        ]
        for subject, number in gone:
            self._remove(subject, number)

    # --- looking up

    def find(self, subject: str, version: int) -> Version | None:
        """Return a version, also a deleted one; None if there is none."""
        return self.subjects.get(subject, {}).get(version)

    def versions(self, subject: str, deleted: bool = False) -> list[Version]:
        """Return the versions of a subject in order, those that are deleted only if *deleted*."""
        versions = self.subjects.get(subject, {})
        return [versions[number] for number in sorted(versions) if deleted or not versions[number].deleted]

    def latest(self, subject: str) -> Version | None:
        """Return the last version of a subject that is not deleted."""
        versions = self.subjects.get(subject, {})
        live = [number for number, stored in versions.items() if not stored.deleted]
        return versions[max(live)] if live else None

    def content(self, schema_id: int) -> Content | None:
        """Return the schema of an id, also of deleted versions; None if no version has it."""
        return next(iter(self._users.get(schema_id, {}).values()), None)

    def users(self, schema_id: int, deleted: bool = False) -> list[SubjectVersion]:
        """Return the versions that have an id, in order; those that are deleted only if *deleted*."""
        return [
            (subject, version)
            for subject, version in sorted(self._users.get(schema_id, {}))
            if deleted or not self.subjects[subject][version].deleted
        ]

    def ids_of(self, schema_type: SchemaType, found: bytes) -> list[int]:
        """Return the ids of the schemas that have a digest, the lowest first."""
        return sorted(self._ids.get((schema_type, found), ()))

    def ids_of_guid(self, found: bytes) -> list[int]:
        """Return the ids of the schemas, of any type, that have a digest as their own."""
        ids = {schema_id for schema_type in SchemaType for schema_id in self.ids_of(schema_type, found)}
        return sorted(
            schema_id
            for schema_id in ids
            if any(content.digest == found for content in self._users[schema_id].values())
        )

    def referrers(self, subject: str, version: int, deleted: bool = False) -> Iterator[Version]:
        """Yield the versions that refer to one, those that are deleted only if *deleted*."""
        wanted = [(subject, version)]
        latest = self.latest(subject)
        if latest is not None and latest.version == version:
            wanted.append((subject, -1))
        for key in wanted:
            for name, number in sorted(self._referrers.get(key, ())):
                stored = self.subjects[name][number]
                if deleted or not stored.deleted:
                    yield stored


def _digests(content: Content) -> tuple[_Digest, ...]:
    """Return the digests under which a content is found: its own, and that of its text as it was sent."""
    schema = content.schema
    sent = digest(schema.text, schema.references, content.metadata, content.rule_set)
    if sent == content.digest:
        return ((schema.type, sent),)
    return ((schema.type, content.digest), (schema.type, sent))
