"""AlterClientQuotas (key 49), versions 0-1: set and remove quotas (KIP-546); 1 is flexible."""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
    FLOAT64,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class EntityData(Struct):
    """A part of an entity: ``user``, ``client-id`` or ``ip`` with a name; null is the default."""

    entity_type: str = field(STRING)
    entity_name: str | None = field(nullable(STRING))


class OpData(Struct):
    """A quota to set or to remove."""

    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOLEAN)


class EntryData(Struct):
    """An entity with the changes."""

    entity: list[EntityData] = field(array(EntityData))
    ops: list[OpData] = field(array(OpData))


class AlterClientQuotasRequest(Message, key=49, versions=(0, 1), flexible=1):
    """Change quotas, or only validate the changes."""

    entries: list[EntryData] = field(array(EntryData))
    validate_only: bool = field(BOOLEAN)


class EntryResult(Struct):
    """The result for one entity."""

    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    entity: list[EntityData] = field(array(EntityData))


class AlterClientQuotasResponse(Message, key=49, versions=(0, 1), flexible=1):
    """The results."""

    throttle_time_ms: int = field(INT32)
    entries: list[EntryResult] = field(array(EntryResult))
