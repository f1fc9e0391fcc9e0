"""Transactions of all coordinators, and their end by force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.api.lists import QUERY, Listing, Page
from kafkatx.broker.console.cluster.turns import Turns
from kafkatx.broker.console.errors import ConsoleError, found_error, of_code
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.clientcore.transactions import requests
from kafkatx.clientcore.transactions.values import OpenTransaction
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.types import BrokerNode, Topic, TopicPartition
from kafkatx.web.calls import Call
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest

FENCED_TIMEOUT_MS = 1
"""The time-out that the id gets until a producer sets its own, as of Apache Kafka's ``fenceProducers``."""

LISTING = Listing.of_items("transactionalId", "state", "coordinator", "producerId")
DETAILS = ("producerEpoch", "startMs", "timeoutMs", "partitions")


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    transactions = _Transactions(parts)
    body = {
        "transactionalId": "the id: its producer is fenced, and its transaction aborted",
        "producerId": "as it is listed",
        "producerEpoch": "as it is listed",
        "topic": "in place of the id: a partition with a hanging transaction",
        "partition": "its number",
        "coordinatorEpoch": "of the transaction",
    }
    return [
        Route("GET", "/transactions", transactions.list, "List the transactional ids", QUERY),
        Route(
            "POST",
            "/transactions/abort",
            transactions.abort,
            "Abort a transaction by force",
            body=body,
            changes=True,
        ),
    ]


class _Transactions:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts

    def _nodes(self) -> Sequence[BrokerNode]:
        nodes: Mapping[int, BrokerNode] = self._parts.broker.metadata.state.brokers
        return list(nodes.values())

    async def list(self, call: Call) -> object:
        """Return a page of the ids that the user may describe."""
        sort = call.text("sort").removeprefix("-")
        page = Page.of(call, [*LISTING.fields, "startMs"])
        items: list[dict[str, Any]] = []
        for node in self._nodes():
            try:
                response = await self._parts.kafka.ask(call, ListTransactionsRequest(), node)
            except RequestError:
                raise
            except KafkaTXError:
                continue  # the other broker does not answer: its ids are not known now
            items += [
                {
                    "transactionalId": one.transactional_id,
                    "coordinator": node.id,
                    "state": one.transaction_state,
                    "producerId": str(one.producer_id),
                    **dict.fromkeys(DETAILS),
                }
                for one in response.transaction_states
            ]
        if sort == "startMs":
            await self._describe(call, items)
            by_start = Listing.of_items("transactionalId", "startMs")
            total, shown = by_start.cut(page, items)
        else:
            total, shown = LISTING.cut(page, items)
            await self._describe(call, shown)
        return {"total": total, "items": shown}

    async def _describe(self, call: Call, items: Sequence[dict[str, Any]]) -> None:
        """Add what the coordinators tell of each id."""
        nodes, turns = {node.id: node for node in self._nodes()}, Turns(self._parts.broker.clock)
        for item in items:
            await turns.step(10)
            node = nodes.get(item["coordinator"])
            try:
                asked = requests.describe_request(item["transactionalId"])
                response = await self._parts.kafka.ask(call, asked, node)
                found = requests.description(response, item["coordinator"])
            except KafkaTXError:
                continue  # it is gone, or its coordinator does not answer
            item.update(
                state=found.state,
                producerId=str(found.producer_id),
                producerEpoch=found.producer_epoch,
                startMs=None if found.start_ms < 0 else found.start_ms,
                timeoutMs=found.timeout_ms,
                partitions=[{"topic": topic, "partition": number} for topic, number in found.partitions],
            )

    async def abort(self, call: Call) -> object:
        """Abort the transaction of an id, or a hanging one in a partition."""
        fields = Fields.of(call)
        if fields.has("topic"):
            return await self._end_hanging(call, fields)
        name = fields.text("transactionalId")
        with self._parts.actions.change(call, "abort transaction", f"transactional id {name}"):
            node = self._parts.broker.transactions.topic.leader_of(name)
            described = await self._parts.kafka.ask(call, requests.describe_request(name), node)
            known = requests.description(described, node.id)
            given = (
                fields.whole("producerId", known.producer_id),
                fields.whole("producerEpoch", known.producer_epoch),
            )
            if given != (known.producer_id, known.producer_epoch):
                raise ConsoleError(
                    409,
                    "INVALID_PRODUCER_EPOCH",
                    f"transactional id {name[:300]!r} has another producer by now: look again",
                )
            fenced = await self._parts.kafka.ask(call, requests.fence_request(name, FENCED_TIMEOUT_MS), node)
            if fenced.error_code not in (0, ErrorCode.CONCURRENT_TRANSACTIONS):  # it is being aborted
                raise of_code(fenced.error_code, None, f"transactional id {name[:300]!r}")
        return {}

    async def _end_hanging(self, call: Call, fields: Fields) -> object:
        """End a transaction that no coordinator knows, by a marker."""
        name = TopicPartition(fields.text("topic"), fields.whole("partition", None, 0, 2**31 - 1))
        transaction = OpenTransaction(
            name,
            fields.whole("producerId", None, 0),
            fields.whole("producerEpoch", None, 0, 2**15 - 1),
            0,
            0,
            fields.whole("coordinatorEpoch", 0, -1, 2**31 - 1),
        )
        with self._parts.actions.change(
            call, "abort transaction", f"of producer {transaction.producer_id} in {name}"
        ):
            response = await self._parts.kafka.ask(
                call, requests.abort_request(transaction), self._leader(name)
            )
            try:
                requests.check_aborted(response)
            except RequestError as error:
                raise found_error(error) from None
        return {}

    def _leader(self, name: TopicPartition) -> BrokerNode | None:
        """Return the leader of a partition; None, this broker, for one that there is not."""
        topic: Topic | None = self._parts.broker.metadata.state.topics.get(name.topic)
        if topic is None or name.partition >= len(topic.partitions):
            return None
        return next((one for one in self._nodes() if one.id == topic.partitions[name.partition].leader), None)
