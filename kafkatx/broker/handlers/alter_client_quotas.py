"""AlterClientQuotas (key 49), versions 0-1: set and remove quotas (KIP-546).

An invalid entity does not affect the others; all changes of an entity are made, or none. Error messages are
those of Kafka's ``ClientQuotaControlManager`` where clients may look for them.

Deviations from Apache Kafka: an entity that is repeated in a request is refused; an ip is an address, not
a host name.
"""

from __future__ import annotations

import ipaddress
from collections import Counter

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.quotas.entities import CLIENT_ID, CONSUMER_BYTE_RATE, IP, PRODUCER_BYTE_RATE, USER
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.config.table.row import INT_MAX, LONG_MAX
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import QuotaEntity
from kafkatx.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
    OpData,
)

FRACTION = 1e-6
"""Distance from a whole number within which a number counts as one."""

MAX_NAME_BYTES = 32_767
"""The longest client id that a request can carry."""

_OF_CLIENTS = {
    PRODUCER_BYTE_RATE: LONG_MAX,
    CONSUMER_BYTE_RATE: LONG_MAX,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_OF_ADDRESSES = {"connection_creation_rate": INT_MAX}
"""The known quotas (``QuotaConfigs``); for those that are whole numbers, the largest value."""


def answer(
    broker: Broker, request: AlterClientQuotasRequest, context: RequestContext
) -> AlterClientQuotasResponse | Deferred[AlterClientQuotasResponse]:
    """Check every entity, and change the valid ones."""
    times = Counter(_key(entry) for entry in request.entries)
    changes: dict[QuotaEntity, dict[str, float | None]] = {}
    results = []
    for entry in {_key(entry): entry for entry in request.entries}.values():
        try:
            if times[_key(entry)] > 1:
                raise _invalid(f"Ignoring duplicate entity {_text(entry)}")
            changes.update({_entity(entry.entity): _changes(entry)})
        except RequestError as error:
            results.append(_result(entry, error.code, error_message(error)))
        else:
            results.append(_result(entry, ErrorCode.NONE, None))
    response = AlterClientQuotasResponse(entries=results)
    if request.validate_only or not changes:
        return response
    altering: Deferred[None] = broker.metadata.alter_client_quotas(changes)
    return altering.addCallback(lambda _: response)


def _key(entry: EntryData) -> QuotaEntity:
    """Return the entity, valid or not, with its types in order."""
    return tuple(sorted(((e.entity_type, e.entity_name) for e in entry.entity), key=repr))


def _text(entry: EntryData) -> str:
    return ", ".join(f"{e.entity_type}={e.entity_name or '<default>'}" for e in entry.entity)


def _entity(parts: list[EntityData]) -> QuotaEntity:
    """Return the entity of a request's entry.

    :raises RequestError: INVALID_REQUEST.
    """
    names: dict[str, str | None] = {}
    for part in parts:
        kind, name = part.entity_type, part.entity_name
        if kind in names:
            raise _invalid(f"Invalid client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name is not None and not 0 < len(name.encode()) <= MAX_NAME_BYTES:
            raise _invalid(f"{'A too long' if name else 'Empty'} {kind} not supported")
        names[kind] = name
    if not names:
        raise _invalid("Invalid empty client quota entity")
    if IP in names:
        if len(names) > 1:
            raise _invalid("Invalid quota entity combination: ip with user or client-id")
        _check_address(names[IP])
    return tuple(sorted(names.items()))


def _check_address(text: str | None) -> None:
    """Check an IP address; host names are not looked up.

    :raises RequestError: INVALID_REQUEST.
    """
    try:
        if text is not None:
            ipaddress.ip_address(text)
    except ValueError:
        raise _invalid(f"{text} is not a valid IP address") from None


def _changes(entry: EntryData) -> dict[str, float | None]:
    """Return the new values by name, None for those to remove.

    :raises RequestError: INVALID_REQUEST.
    """
    known = _OF_ADDRESSES if entry.entity[0].entity_type == IP else _OF_CLIENTS
    changes: dict[str, float | None] = {}
    for op in entry.ops:
        if op.key in changes:
            raise _invalid(f"Duplicate quota key {op.key} not updating quota for this entity {_text(entry)}")
        if op.key not in known:
            raise _invalid(f"Invalid configuration key {op.key}")
        changes[op.key] = None if op.remove else _value(op, known[op.key])
    return changes


def _value(op: OpData, largest: int | None) -> float:
    """Return the value, a whole number where it must be one.

    :raises RequestError: INVALID_REQUEST.
    """
    if not op.value > 0:  # "nan" is not, either
        raise _invalid(f"Quota {op.key} must be greater than 0")
    if largest is None:
        return op.value
    if op.value > largest:
        raise _invalid(f"Proposed value for {op.key} is too large for {largest.bit_length() + 1} bits.")
    whole = float(int(op.value + FRACTION))
    if abs(whole - op.value) > FRACTION:
        raise _invalid(f"{op.key} cannot be a fractional value.")
    if not whole:
        raise _invalid(f"Quota {op.key} must be greater than 0")
    return whole


def _invalid(why: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REQUEST, why)


def _result(entry: EntryData, code: int, why: str | None) -> EntryResult:
    return EntryResult(code, why, entry.entity)


def refuse(
    request: AlterClientQuotasRequest, context: RequestContext, code: ErrorCode, why: str
) -> AlterClientQuotasResponse:
    """Refuse every entity with the same error."""
    return AlterClientQuotasResponse(entries=[_result(entry, code, why) for entry in request.entries])


API = Api(AlterClientQuotasRequest, AlterClientQuotasResponse, answer, refuse)
