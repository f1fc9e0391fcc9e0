"""DescribeClientQuotas and AlterClientQuotas (KIP-546): requests, and values from replies. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

import attrs

from kafkatx.clientcore.errors import check
from kafkatx.wire.messages import alter_client_quotas as alter_messages
from kafkatx.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

USER, CLIENT_ID, IP = "user", "client-id", "ip"
_EXACT, _DEFAULT = 0, 1

Entity: TypeAlias = Mapping[str, str | None]
"""The entity of a quota: a name (None: the default) by type: ``user``, ``client-id``, ``ip``."""


@attrs.frozen
class EntityQuotas:
    """The quotas of one entity: ``producer_byte_rate``, ``consumer_byte_rate``, ... by name."""

    entity: Entity
    values: Mapping[str, float]


def entity_text(entity: Entity) -> str:
    """Return an entity in words, for example ``client-id 'c' of user 'u'``."""
    names = [f"any {type}" if name is None else f"{type} {name!r}" for type, name in sorted(entity.items())]
    return " of ".join(names) or "all clients"


def describe_request(entity: Entity | None) -> DescribeClientQuotasRequest:
    """Return the request for the quotas of exactly this entity, or of all entities."""
    components = [
        ComponentData(kind, _DEFAULT if name is None else _EXACT, name)
        for kind, name in (entity or {}).items()
    ]
    return DescribeClientQuotasRequest(components, strict=entity is not None)


def entity_quotas(response: DescribeClientQuotasResponse) -> list[EntityQuotas]:
    """Return the quotas by entity, in order.

    :raises RequestError: the reply's error.
    """
    check(response.error_code, "client quotas", response.error_message)
    found = [
        EntityQuotas(
            {one.entity_type: one.entity_name for one in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in response.entries or []
    ]
    return sorted(found, key=lambda one: entity_text(one.entity))


def alter_request(
    entity: Entity, values: Mapping[str, float], deleted: Collection[str], validate_only: bool
) -> alter_messages.AlterClientQuotasRequest:
    """Return the request that sets *values* and removes *deleted* of an entity."""
    named = [alter_messages.EntityData(kind, name) for kind, name in entity.items()]
    changes = [alter_messages.OpData(key, value) for key, value in values.items()]
    changes += [alter_messages.OpData(key, remove=True) for key in deleted]
    return alter_messages.AlterClientQuotasRequest([alter_messages.EntryData(named, changes)], validate_only)


def check_altered(response: alter_messages.AlterClientQuotasResponse, entity: Entity) -> None:
    """Raise the error of a change, if any.

    :raises RequestError: INVALID_REQUEST, ...
    """
    for entry in response.entries:
        check(entry.error_code, f"quotas of {entity_text(entity)}", entry.error_message)
