"""Entries of a request that are refused while the rest is served. No I/O."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from kafkatx.broker.authorization.demands import Demand
from kafkatx.broker.guards.calls import Call, Completion
from kafkatx.wire.schema import Message


def take_out(
    call: Call, request: Message, demand: Demand, array: str, refused: Sequence[Any], results: str = ""
) -> Completion:
    """Take entries out of an array of a request; return what adds their refusals to the response.

    :param results: the array of the response; by default the demand's.
    """
    left_out = copy.copy(request)
    setattr(left_out, array, list(refused))
    ids = {id(one) for one in refused}
    setattr(request, array, [one for one in getattr(request, array) if id(one) not in ids])
    results = results or demand.results

    def add(response: Any) -> None:
        refusals = call.refused(left_out, demand)
        if response is not None:
            getattr(response, results).extend(getattr(refusals, results))

    return add
