"""Compatibility levels, and the check of a new schema against those before it. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

import attrs

from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import ParsedSchema


class CompatibilityLevel(enum.Enum):
    """The schemas whose data a new schema must be able to read, or that must be able to read its data."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def backward(self) -> bool:
        """True if the new schema must read data of old ones."""
        return self.value.startswith(("BACKWARD", "FULL"))

    @property
    def forward(self) -> bool:
        """True if old schemas must read data of the new one."""
        return self.value.startswith(("FORWARD", "FULL"))

    @property
    def transitive(self) -> bool:
        """True if all old schemas count, not the latest alone."""
        return self.value.endswith("_TRANSITIVE")


@attrs.frozen
class Incompatibility:
    """A reason why a new schema is not compatible with an old one.

    :ivar position: the place of the old schema among the previous ones: 0 is the latest.
    :ivar direction: BACKWARD: the new schema is the reader; FORWARD: the old one is.
    :ivar reason: the reason, which speaks of reader and writer.
    """

    position: int
    direction: CompatibilityLevel
    reason: str

    def __str__(self) -> str:
        if self.direction is CompatibilityLevel.BACKWARD:
            return f"the new schema (reader) cannot read data of the old one (writer): {self.reason}"
        return f"the old schema (reader) cannot read data of the new one (writer): {self.reason}"


def check(
    level: CompatibilityLevel, new: ParsedSchema, previous: Sequence[ParsedSchema]
) -> list[Incompatibility]:
    """Return why *new* breaks a compatibility level; nothing if it keeps it.

    :param previous: the schemas before it, the latest first; levels that are not transitive see it alone.
    """
    seen = previous if level.transitive else previous[:1]
    return [reason for position, old in enumerate(seen) for reason in _compare(level, new, old, position)]


def _compare(
    level: CompatibilityLevel, new: ParsedSchema, old: ParsedSchema, position: int
) -> Iterator[Incompatibility]:
    """Yield the reasons against one old schema."""
    if level.backward:
        for reason in _reasons(new, old):
            yield Incompatibility(position, CompatibilityLevel.BACKWARD, reason)
    if level.forward:
        for reason in _reasons(old, new):
            yield Incompatibility(position, CompatibilityLevel.FORWARD, reason)


def _reasons(reader: ParsedSchema, writer: ParsedSchema) -> Sequence[str]:
    if reader.schema.type is not writer.schema.type:
        return [f"the reader is of type {reader.schema.type.value}, the writer of {writer.schema.type.value}"]
    return engine(reader.schema.type).incompatibilities(reader, writer)
