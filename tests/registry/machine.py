"""A registry without a broker: commands run at once, and their records go through bytes into the state."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TypeVar
from unittest.mock import patch

import attrs

from kafkatx.registry import changes
from kafkatx.registry.contents import Version
from kafkatx.registry.inspection import Inspected, Inspection, inspect
from kafkatx.registry.records import KeyValue, decode
from kafkatx.registry.registration import Candidate, Change, register
from kafkatx.registry.state import RegistryState
from kafkatx.schemas.types import (
    Dependencies,
    InvalidSchema,
    ParsedSchema,
    Schema,
    SchemaEngine,
    SchemaType,
)

T = TypeVar("T")


@attrs.frozen
class FakeParsed:
    """A schema of :class:`FakeEngine`."""

    schema: Schema
    canonical: str
    normalized: str
    name: str = ""

    @property
    def text(self) -> str:
        """The text as it was sent."""
        return self.schema.text


class FakeEngine:
    """A language whose schemas are objects of JSON.

    A reader needs each member of the object that is true in the writer's, too; the others have a default.
    """

    def parse(self, schema: Schema, dependencies: Dependencies, *, stored: bool = False) -> ParsedSchema:
        """Parse an object of JSON; each reference must be there."""
        try:
            members = json.loads(schema.text)
        except ValueError:
            raise InvalidSchema("it is not JSON") from None
        if not isinstance(members, dict):
            raise InvalidSchema("it is no object")
        missing = [one.name for one in schema.references if one.name not in dependencies]
        if missing:
            raise InvalidSchema(f"{missing[0]} is missing")
        known = {name: value for name, value in members.items() if name != "doc"}
        return FakeParsed(schema, json.dumps(members, sort_keys=True), json.dumps(known, sort_keys=True))

    def incompatibilities(self, reader: ParsedSchema, writer: ParsedSchema) -> Sequence[str]:
        """Name the members that the reader needs and the writer lacks."""
        needed = {name for name, value in json.loads(reader.schema.text).items() if value is True}
        return [f"{name} is needed" for name in sorted(needed - set(json.loads(writer.schema.text)))]


ENGINE = FakeEngine()


def find_engine(schema_type: SchemaType) -> SchemaEngine:
    """Return the engine of any type."""
    return ENGINE


def run(steps: Generator[Inspection, Inspected, T]) -> T:
    """Run what needs an engine."""
    try:
        job = next(steps)
        while True:
            with patch("kafkatx.schemas.compatibility.engine", find_engine):
                inspected = inspect(job, find_engine)
            job = steps.send(inspected)
    except StopIteration as done:
        result: T = done.value
        return result


class Machine:
    """A state, and the log of all records that led to it."""

    def __init__(self) -> None:
        self.state = RegistryState()
        self.log: list[KeyValue] = []

    def append(self, records: Sequence[KeyValue]) -> None:
        """Append records, and apply them."""
        for key, value in records:
            self.log.append((key, value))
            self.state.apply(decode(key, value))

    def change(self, command: Callable[[RegistryState], Change]) -> object:
        """Make a change; return its answer."""
        change = command(self.state)
        self.append(change.records)
        return change.answer

    def register(
        self, subject: str, schema: str | Schema, normalize: bool = False, **members: object
    ) -> Version:
        """Register a schema; return its version as it is stored."""
        candidate = Candidate(Schema(schema) if isinstance(schema, str) else schema)
        candidate = attrs.evolve(candidate, **members)  # type: ignore[arg-type]
        change = run(register(self.state, subject, candidate, normalize, "BACKWARD"))
        self.append(change.records)
        assert isinstance(change.answer, Version)
        return change.answer

    def delete(self, subject: str, version: int | None = None, permanent: bool = False) -> object:
        """Delete a subject, or one version."""
        if version is None:
            return self.change(partial(changes.delete_subject, subject=subject, permanent=permanent))
        return self.change(
            partial(changes.delete_version, subject=subject, version=version, permanent=permanent)
        )

    def configure(self, subject: str, **members: object) -> object:
        """Change a configuration."""
        return self.change(partial(changes.update_config, subject=subject, request=members))

    def set_mode(self, subject: str, mode: str, force: bool = False) -> object:
        """Set a mode."""
        return self.change(partial(changes.update_mode, subject=subject, mode=mode, force=force))


def replayed(log: Sequence[KeyValue]) -> RegistryState:
    """Return the state that a log leads to."""
    state = RegistryState()
    for key, value in log:
        state.apply(decode(key, value))
    return state


def compacted(log: Sequence[KeyValue], tombstones: bool) -> list[KeyValue]:
    """Return what compaction leaves of a log: the last record of each key.

    :param tombstones: False if they are old enough to be removed, too.
    """
    last = {key: number for number, (key, _) in enumerate(log)}
    return [
        (key, value)
        for number, (key, value) in enumerate(log)
        if last[key] == number and (tombstones or value is not None)
    ]


def facts(state: RegistryState) -> object:
    """Return all that a state says, for comparisons."""
    versions = {
        (subject, number): (stored.content, stored.deleted)
        for subject, numbers in state.subjects.items()
        for number, stored in numbers.items()
    }
    ids = {content.id for content, _ in versions.values()}
    return (
        versions,
        state.configs,
        state.modes,
        state.max_id,
        {schema_id: (state.content(schema_id), state.users(schema_id, True)) for schema_id in ids},
        {
            (content.schema.type, content.digest): state.ids_of(content.schema.type, content.digest)
            for content, _ in versions.values()
        },
        {key: list(state.referrers(*key, deleted=True)) for key in versions},
    )
