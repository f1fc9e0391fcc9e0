"""The checks of APIs about configs: topics, groups, and everything else as the cluster. No I/O."""

from __future__ import annotations

from typing import TypeAlias

from kafkatx.broker.authorization.demands import DEMANDS, Demand
from kafkatx.broker.guards.calls import Call, Completion
from kafkatx.broker.guards.entries import take_out
from kafkatx.wire.messages.alter_configs import AlterConfigsRequest
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest
from kafkatx.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
"""The types of resources that have configs (``ConfigResource.Type``)."""

_Request: TypeAlias = DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest


def describe(call: Call, request: DescribeConfigsRequest) -> Completion | None:
    """Take the resources out whose configs the client may not see."""
    return _check(call, request, "results")


def alter(call: Call, request: AlterConfigsRequest | IncrementalAlterConfigsRequest) -> Completion | None:
    """Take the resources out whose configs the client may not change."""
    return _check(call, request, "responses")


def _check(call: Call, request: _Request, results: str) -> Completion | None:
    completions = []
    topic, cluster, group = DEMANDS[request.API_KEY].demands
    for demand, types in (
        (topic, (TOPIC,)),
        (cluster, (BROKER, BROKER_LOGGER, CLIENT_METRICS)),
        (group, (GROUP,)),
    ):
        refused = _refused(call, request, demand, types)
        if refused:
            completions.append(take_out(call, request, demand, "resources", refused, results))
    if not completions:
        return None

    def complete(response: object) -> None:
        for one in completions:
            one(response)

    return complete


def _refused(call: Call, request: _Request, demand: Demand, types: tuple[int, ...]) -> list[object]:
    return [
        one
        for one in request.resources
        if one.resource_type in types and not call.meets(demand, one.resource_name)
    ]
