"""Deletions, configurations and modes: commands that need no engine. Pure.

Each returns a :class:`Change`, or raises the error for the client and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkatx.registry.contents import Version
from kafkatx.registry.errors import (
    invalid_mode,
    not_permitted,
    still_referenced,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from kafkatx.registry.records import (
    KeyValue,
    clear_subject_record,
    config_record,
    delete_subject_record,
    max_id_record,
    mode_record,
    schema_record,
    schema_tombstone,
)
from kafkatx.registry.registration import Change
from kafkatx.registry.scopes import CONFIG_FIELDS, IMPORT, LEVEL, MODES, check_writable, mode_of, parse_level
from kafkatx.registry.state import RegistryState
from kafkatx.registry.subjects import covers

# --- deletions


def delete_subject(state: RegistryState, subject: str, permanent: bool) -> Change:
    """Delete all versions of a subject; the answer is their numbers.

    :raises RegistryError: there are none, they are not deleted yet or already, others refer to them, or the
        subject is read-only.
    """
    every = state.versions(subject, True)
    if not every:
        raise subject_not_found(subject)
    live = [stored for stored in every if not stored.deleted]
    if not permanent and not live:
        raise subject_soft_deleted(subject)
    check_writable(state, subject)
    chosen = every if permanent else live
    for stored in chosen:
        if any(one.subject != subject for one in state.referrers(subject, stored.version, permanent)):
            raise still_referenced(subject, stored.version)
    if permanent and live:
        raise subject_not_soft_deleted(subject)
    numbers = [stored.version for stored in chosen]
    if not permanent:
        return Change([delete_subject_record(subject, numbers[-1])], numbers)
    return Change([*_gone(state, chosen), *_scope_gone(state, subject)], numbers)


def delete_version(state: RegistryState, subject: str, version: int, permanent: bool) -> Change:
    """Delete one version, -1 the latest; the answer is its number.

    :raises RegistryError: as :func:`delete_subject`.
    """
    every = state.versions(subject, True)
    if not every:
        raise subject_not_found(subject)
    found = state.latest(subject) if version == -1 else state.find(subject, version)
    if found is None:
        raise version_not_found("latest" if version == -1 else version)
    if found.deleted and not permanent:
        raise version_soft_deleted(subject, found.version)
    check_writable(state, subject)
    if any(state.referrers(subject, found.version, permanent)):
        raise still_referenced(subject, found.version)
    if not permanent:
        deleted = Version(subject, found.version, found.content, True)
        return Change([schema_record(deleted)], found.version)
    if not found.deleted:
        raise version_not_soft_deleted(subject, found.version)
    last = _scope_gone(state, subject) if len(every) == 1 else []
    return Change([*_gone(state, [found]), *last], found.version)


def _gone(state: RegistryState, chosen: Sequence[Version]) -> list[KeyValue]:
    """Return the records that remove versions for good. The highest id is noted: none is used twice."""
    records = [schema_tombstone(stored.subject, stored.version) for stored in reversed(chosen)]
    going = {(stored.subject, stored.version) for stored in chosen}
    if going.issuperset(state.users(state.max_id, deleted=True)):
        records.insert(0, max_id_record(state.max_id))
    return records


def _scope_gone(state: RegistryState, subject: str) -> list[KeyValue]:
    records = [mode_record(subject, None)] if subject in state.modes else []
    return records + ([config_record(subject, None)] if subject in state.configs else [])


# --- configurations


def update_config(state: RegistryState, subject: str, request: Mapping[str, object]) -> Change:
    """Change members of a configuration; the answer is the request, as far as it is understood.

    :raises RegistryError: the level is unknown, or the subject is read-only.
    """
    asked: dict[str, object] = {}
    for name in CONFIG_FIELDS:
        sent = "compatibility" if name == LEVEL else name
        if sent in request:
            value = request[sent]
            asked[name] = parse_level(value).value if name == LEVEL and value is not None else value
    check_writable(state, subject)
    merged = {**state.configs.get(subject, {}), **asked}
    config = {name: merged[name] for name in (*CONFIG_FIELDS, *merged) if merged.get(name) is not None}
    answer = {("compatibility" if name == LEVEL else name): value for name, value in asked.items()}
    return Change([config_record(subject, config)], answer)


def delete_config(state: RegistryState, subject: str, default_level: str) -> Change:
    """Remove a configuration; the answer is what it was.

    :raises RegistryError: a subject has none, or is read-only.
    """
    config = state.configs.get(subject)
    if config is None and subject:
        raise subject_not_found(subject)
    check_writable(state, subject)
    if config is None:
        return Change((), {LEVEL: default_level})
    return Change([config_record(subject, None)], config)


# --- modes


def update_mode(state: RegistryState, subject: str, mode: object, force: bool) -> Change:
    """Set a mode; the answer is ``{"mode": ...}``.

    :param force: True to begin an import although there are schemas.
    :raises RegistryError: the mode is unknown, or an import finds schemas.
    """
    name = mode.upper() if isinstance(mode, str) else None
    if name not in MODES or name is None:
        raise invalid_mode()
    records: list[KeyValue] = []
    if name == IMPORT and mode_of(state, subject) != IMPORT and not force:
        records = _cleared(state, subject)
    return Change([*records, mode_record(subject, name)], {"mode": name})


def _cleared(state: RegistryState, scope: str) -> list[KeyValue]:
    """Return the records that forget deleted versions before an import.

    :raises RegistryError: there are versions that are not deleted, or are referred to.
    """
    chosen: list[Version] = []
    for subject in sorted(state.subjects):
        if not covers(scope, subject):
            continue
        if state.versions(subject):
            raise not_permitted("Cannot import since found existing subjects")
        chosen += state.versions(subject, True)
    for stored in chosen:
        if any(state.referrers(stored.subject, stored.version, deleted=True)):
            raise still_referenced(stored.subject, stored.version)
    return [*_gone(state, chosen), clear_subject_record(scope)] if chosen else []


def delete_mode(state: RegistryState, subject: str) -> Change:
    """Remove a mode; the answer is what it was.

    :raises RegistryError: a subject has none.
    """
    mode = state.modes.get(subject)
    if mode is None:
        if subject:
            raise subject_not_found(subject)
        return Change((), {"mode": mode_of(state, subject)})
    return Change([mode_record(subject, None)], {"mode": mode})
