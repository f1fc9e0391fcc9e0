"""DescribeClientQuotas (key 48), versions 0-1: the quotas of users, client ids and addresses (KIP-546).

1 is flexible.
"""

from __future__ import annotations

from kafkatx.wire.schema import (
    BOOLEAN,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    STRING,
    Message,
    Struct,
    array,
    field,
    nullable,
)


class ComponentData(Struct):
    """A filter for entities of a type: 0 with this name, 1 the default, 2 any with a name."""

    entity_type: str = field(STRING)
    match_type: int = field(INT8)
    match: str | None = field(nullable(STRING))


class DescribeClientQuotasRequest(Message, key=48, versions=(0, 1), flexible=1):
    """Request quotas; strict: only of entities without other components."""

    components: list[ComponentData] = field(array(ComponentData))
    strict: bool = field(BOOLEAN)


class EntityData(Struct):
    """A part of an entity: ``user``, ``client-id`` or ``ip`` with a name; null is the default."""

    entity_type: str = field(STRING)
    entity_name: str | None = field(nullable(STRING))


class ValueData(Struct):
    """A quota: ``producer_byte_rate``, ``consumer_byte_rate``, ..."""

    key: str = field(STRING)
    value: float = field(FLOAT64)


class EntryData(Struct):
    """An entity with its quotas."""

    entity: list[EntityData] = field(array(EntityData))
    values: list[ValueData] = field(array(ValueData))


class DescribeClientQuotasResponse(Message, key=48, versions=(0, 1), flexible=1):
    """The quotas; null on an error."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(nullable(STRING))
    entries: list[EntryData] | None = field(nullable(array(EntryData)))
