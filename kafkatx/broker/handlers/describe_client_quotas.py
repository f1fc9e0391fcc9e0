"""DescribeClientQuotas (key 48), versions 0-1: the quotas that are set (KIP-546).

A filter names types of entities, each with a name, "the default", or "any name or the default". It selects
entities that have all of these types and, if it is strict, no others. An empty filter selects all entities,
an empty strict one none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.quotas.entities import CLIENT_ID, IP, USER
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import QuotaEntity
from kafkatx.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

EXACT, DEFAULT, ANY = 0, 1, 2

Matches: TypeAlias = Callable[[str | None], bool]
"""Predicates on the name of an entity; None is the default entity."""


def answer(
    broker: Broker, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    """Show what the filter lets through, in the order of the entities."""
    wanted = _filter(request.components)
    quotas = broker.metadata.state.client_quotas
    entities = [entity for entity in quotas if _passes(entity, wanted, request.strict)]
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                [EntityData(kind, name) for kind, name in entity],
                [ValueData(name, value) for name, value in sorted(quotas[entity].items())],
            )
            for entity in sorted(entities, key=repr)
        ]
    )


def _filter(components: list[ComponentData]) -> dict[str, Matches]:
    """Return the filter of each type.

    :raises RequestError: INVALID_REQUEST, or UNSUPPORTED_VERSION for an unknown type.
    """
    wanted: dict[str, Matches] = {}
    for component in components:
        kind = component.entity_type
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in wanted:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise RequestError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        wanted[kind] = _matches(component)
    if IP in wanted and len(wanted) > 1:
        raise _invalid("The filter cannot ask for ip together with user or client-id.")
    return wanted


def _matches(component: ComponentData) -> Matches:
    name = component.match
    if component.match_type == EXACT:
        if name is None:
            raise _invalid("The filter asks for a name, and has none.")
        return lambda found: found == name
    if name is not None:
        raise _invalid("The filter has a name, and does not ask for one.")
    if component.match_type == DEFAULT:
        return lambda found: found is None
    if component.match_type == ANY:
        return lambda found: True
    raise _invalid(f"Unknown match type {component.match_type}")


def _passes(entity: QuotaEntity, wanted: dict[str, Matches], strict: bool) -> bool:
    if strict and len(wanted) < len(entity):
        return False
    names = dict(entity)
    return all(kind in names and matches(names[kind]) for kind, matches in wanted.items())


def _invalid(why: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REQUEST, why)


def refuse(
    request: DescribeClientQuotasRequest, context: RequestContext, code: ErrorCode, why: str
) -> DescribeClientQuotasResponse:
    """Refuse the request with an error, without a list."""
    return DescribeClientQuotasResponse(error_code=code, error_message=why, entries=None)


API = Api(DescribeClientQuotasRequest, DescribeClientQuotasResponse, answer, refuse)
