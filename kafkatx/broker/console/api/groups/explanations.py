"""Explanations why a group or a client is slow: sentences of the brokers that know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twisted.internet.defer import Deferred, FirstError, gatherResults

from kafkatx.broker.console.api.groups.details import coordinator_of
from kafkatx.broker.console.errors import check_code, invalid
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.errors import KafkaTXError, RequestError
from kafkatx.types import BrokerNode
from kafkatx.web.calls import Call
from kafkatx.wire.messages.describe_explanations import DescribeExplanationsRequest, ExplanationEntry


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""

    async def ask(
        call: Call, request: DescribeExplanationsRequest, node: BrokerNode
    ) -> list[ExplanationEntry]:
        response = await parts.kafka.ask(call, request, node)
        check_code(response.error_code, response.error_message, "explanations")
        found: list[ExplanationEntry] = response.explanations
        return found

    async def of_client(call: Call, client_id: str, node: BrokerNode) -> list[ExplanationEntry]:
        try:
            return await ask(call, DescribeExplanationsRequest(None, client_id), node)
        except RequestError:
            raise
        except KafkaTXError:
            if node.id == parts.broker.node_id:
                raise
            return []  # the other broker does not answer

    async def explain(call: Call) -> object:
        group_id, client_id = call.text("group"), call.text("clientId")
        if bool(group_id) == bool(client_id):
            raise invalid("name either group or clientId")
        if group_id:
            request = DescribeExplanationsRequest(group_id)
            return {"sentences": _sentences(await ask(call, request, coordinator_of(parts, group_id)))}
        nodes: Mapping[int, BrokerNode] = parts.broker.metadata.state.brokers
        asked = [Deferred.fromCoroutine(of_client(call, client_id, node)) for node in nodes.values()]
        try:
            entries = [entry for found in await gatherResults(asked, consumeErrors=True) for entry in found]
        except FirstError as error:
            error.subFailure.raiseException()
        return {"sentences": _sentences(sorted(entries, key=lambda one: -one.severity))}

    query = {"group": "a group", "clientId": "a client id, in place of a group"}
    return [Route("GET", "/explanations", explain, "Tell why a group or a client is slow", query)]


def _sentences(entries: Sequence[ExplanationEntry]) -> list[dict[str, object]]:
    """Return each sentence once."""
    unique = {(one.rule, one.sentence): one for one in reversed(entries)}
    return [
        {
            "text": one.sentence,
            "cause": one.rule,
            "severity": one.severity,
            "advice": one.advice or None,
            "evidence": {each.name: each.value for each in one.evidence},
        }
        for one in reversed(list(unique.values()))
    ]
