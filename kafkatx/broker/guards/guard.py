"""The check of an API's demands before its handler, made from the row of the API. No I/O.

A guard is a function in the place of the handler: it refuses the request, or takes out of it what the client
may not name, has the rest answered, and adds the refusals to the response.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from kafkatx.acls import CLUSTER_NAME, ResourceType
from kafkatx.broker.authorization.authorization import Authorization
from kafkatx.broker.authorization.demands import DEMANDS, Demand
from kafkatx.broker.authorization.demands import Outcome as Where
from kafkatx.broker.broker import Broker
from kafkatx.broker.guards import special
from kafkatx.broker.guards.calls import Call, Completion, Final, Refuse, completed
from kafkatx.broker.guards.entries import take_out
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.pending_answers import Outcome
from kafkatx.wire.schema import Message

Answer: TypeAlias = Callable[[Broker, Any, RequestContext], Outcome[Any]]
Check: TypeAlias = Callable[[Call, Any], Completion | Final | None]
"""Checks a request, and may change it; returns what has to be done with the response, or the response."""


def guarded(authorization: Authorization, api_key: int, answer: Answer, refuse: Refuse) -> Answer:
    """Return a handler that checks the demands of its API first; *answer* itself if there are none.

    :raises KeyError: the API has no row.
    """
    checks = _checks(api_key)
    if not checks:
        return answer

    def check_and_answer(broker: Broker, request: Any, context: RequestContext) -> Outcome[Any]:
        call = Call(authorization, broker, context, refuse)
        completions = []
        for check in checks:
            found = check(call, request)
            if isinstance(found, Final):
                return found.response
            if found is not None:
                completions.append(found)
        outcome = answer(broker, request, context)
        for complete in completions:
            outcome = completed(outcome, complete)
        return outcome

    return check_and_answer


def _checks(api_key: int) -> list[Check]:
    row = DEMANDS[api_key]
    checks: list[Check] = []
    for demand in row.demands:
        if demand.names and demand.outcome is Where.REQUEST:
            checks.append(partial(_check_request, demand))
        elif demand.names:
            checks.append(partial(_check_entries, demand, *_split(demand.names)))
        elif not row.special:
            assert demand.outcome is Where.REQUEST
            checks.append(partial(_check_cluster, demand))
    if row.special:
        module, _, function = row.special.partition(".")
        checks.append(getattr(import_module(f"{special.__name__}.{module}"), function))
    return checks


def _split(names: str) -> tuple[str, str]:
    array, _, key = names.partition(".")
    return array, key


def _check_cluster(demand: Demand, call: Call, request: Message) -> None:
    assert demand.rights[0].resource_type is ResourceType.CLUSTER
    call.require(demand, CLUSTER_NAME)


def _check_request(demand: Demand, call: Call, request: Message) -> None:
    name = getattr(request, demand.names)
    if name is not None:
        call.require(demand, name)


def _check_entries(demand: Demand, array: str, key: str, call: Call, request: Message) -> Completion | None:
    """Take the entries out of a request that the client may not name."""
    refused = [
        one for one in getattr(request, array) if not call.meets(demand, getattr(one, key) if key else one)
    ]
    return take_out(call, request, demand, array, refused) if refused else None
