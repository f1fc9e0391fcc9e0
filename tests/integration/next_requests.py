"""Every next request in every state of a transactional id, asked at a cluster of two brokers.

One coordinates all transactional ids; the other one leads the partition that all transactions have, and is
frozen when they end: they stay in PrepareCommit and PrepareAbort until it goes on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any

from kafkatx.blocking import Cluster
from kafkatx.clientcore.coordinators import TRANSACTION, find_request
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.transactions.metadata import TV1, Producer
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkatx.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafkatx.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkatx.wire.messages.end_txn import EndTxnRequest
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.schema import Message
from tests.transactions.next_requests import ASKS, VERSIONS, Ask, Kind, Situation, answers
from tests.until import until

TOPIC, ADDED, HELD = "t", 0, 1
"""A topic with a partition that requests add, and with the one of all transactions."""

GROUP = "g"
TIMEOUT_MS = 600_000
SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
PASSING = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
Cell = tuple[Situation, int, Ask]
CELLS: tuple[Cell, ...] = tuple(
    (situation, version, ask) for situation in Situation for version in VERSIONS for ask in ASKS
)


class Side:
    """Two brokers of a kind.

    :param pids: the processes of the brokers, by their ids.
    """

    def __init__(self, bootstrap: str, pids: Mapping[int, int]) -> None:
        self._cluster = Cluster(bootstrap)
        until(lambda: len(self._cluster.metadata([]).brokers) == len(pids), "both brokers are known")
        self._coordinator = self._find(TRANSACTION, "any")
        (other,) = pids.keys() - {self._coordinator.id}
        self._frozen = pids[other]
        leaders = {ADDED: self._coordinator.id, HELD: other}
        assignments = [CreatableReplicaAssignment(*one) for one in ((n, [at]) for n, at in leaders.items())]
        controller = self._cluster.controller_connection()
        controller.request(CreateTopicsRequest([CreatableTopic(TOPIC, -1, -1, assignments)], 30_000), 5)
        self._find(0, GROUP)
        self._told: dict[str, Producer] = {}

    def _find(self, kind: int, key: str) -> BrokerNode:
        version = 4
        found: list[Any] = []

        def has() -> bool:
            answer = self._cluster.any_broker().request(find_request(key, kind), version)
            found.append(answer.coordinators[0])
            return not found[-1].error_code

        until(has, "a coordinator")
        return BrokerNode(found[-1].node_id, found[-1].host, found[-1].port)

    def _ask(self, request: Message, version: int) -> Any:
        return self._cluster.connection_to(self._coordinator).request(request, version)

    def close(self) -> None:
        """Close the connections, and let the frozen broker go on."""
        os.kill(self._frozen, signal.SIGCONT)
        self._cluster.close()

    # --- situations

    def outcomes(self) -> dict[Cell, str]:
        """Return all answers."""
        outcomes = {}
        for cell in CELLS:
            self._begin(cell)
        os.kill(self._frozen, signal.SIGSTOP)
        for cell in CELLS:
            self._end(cell)
            if not cell[0].has_markers:
                outcomes[cell] = self._outcome(cell)
        os.kill(self._frozen, signal.SIGCONT)
        for cell in CELLS:
            if cell[0].has_markers:
                self._wait_for_end(cell)
                outcomes[cell] = self._outcome(cell)
        return outcomes

    def _begin(self, cell: Cell) -> None:
        """Make a second producer with a transactional id, and its transaction."""
        name, situation, version = _name(cell), *cell[:2]
        for _ in range(2):
            made = self._settled(InitProducerIdRequest(name, TIMEOUT_MS), 4, lambda told: told.error_code)
            self._told[name] = Producer(made.producer_id, made.producer_epoch)
        if situation is not Situation.EMPTY:
            kind = Kind.ADD if version == TV1 else Kind.ADD_BY_BROKER
            request = _request(kind, name, self._told[name], HELD)
            self._settled(request, kind.value[1], lambda told: _error(kind, told))

    def _end(self, cell: Cell) -> None:
        """End the transaction, or have it ended by another instance, or by a request for a new epoch."""
        name, situation, version = _name(cell), *cell[:2]
        if situation in (Situation.EMPTY, Situation.ONGOING):
            return
        if situation in (Situation.RECOVERING, Situation.RECOVERED):
            self._ask(InitProducerIdRequest(name, TIMEOUT_MS, *self._told[name]), 4)
            return
        if situation in (Situation.FENCING, Situation.FENCED):
            self._ask(InitProducerIdRequest(name, TIMEOUT_MS), 4)
            return
        ended = self._settled(
            EndTxnRequest(name, *self._told[name], situation.commits),
            4 if version == TV1 else 5,
            lambda told: told.error_code,
        )
        if version != TV1:
            self._told[name] = Producer(ended.producer_id, ended.producer_epoch)

    def _wait_for_end(self, cell: Cell) -> None:
        name, state = _name(cell), cell[0].state

        def is_there() -> bool:
            (told,) = self._ask(DescribeTransactionsRequest([name]), 0).transaction_states
            return bool(told.transaction_state == state)

        until(is_there, f"{name} is in state {state}")

    def _settled(self, request: Message, version: int, error_of: Any) -> Any:
        """Return the response, once it has no error that passes."""
        found: list[Any] = []

        def has() -> bool:
            found.append(self._ask(request, version))
            error = ErrorCode.of(error_of(found[-1]))
            if error not in PASSING and error:
                raise RequestError(error, str(request))
            return not error

        until(has, f"{request} is answered")
        return found[-1]

    def _outcome(self, cell: Cell) -> str:
        name, ask = _name(cell), cell[2]
        told = self._told[name]
        partition = HELD if ask.kind is Kind.VERIFY else ADDED
        answer = self._ask(_request(ask.kind, name, ask.who.of(told), partition), ask.kind.value[1])
        error = ErrorCode.of(_error(ask.kind, answer))
        if error:
            return error.name
        tells = ask.kind in (Kind.INIT, Kind.COMMIT_2, Kind.ABORT_2)
        return f"{answer.producer_epoch - told.epoch:+}" if tells else "OK"


def _name(cell: Cell) -> str:
    situation, version, ask = cell
    return f"{situation.name} {version} {ask.label}"


def _request(kind: Kind, name: str, producer: Producer, partition: int) -> Message:
    """Return a request of a kind."""
    topics = [AddPartitionsToTxnTopic(TOPIC, [partition])]
    if kind is Kind.INIT:
        return InitProducerIdRequest(name, TIMEOUT_MS, *producer)
    if kind is Kind.ADD:
        return AddPartitionsToTxnRequest([], name, *producer, topics)
    if kind in (Kind.ADD_BY_BROKER, Kind.VERIFY):
        verifies = kind is Kind.VERIFY
        return AddPartitionsToTxnRequest([AddPartitionsToTxnTransaction(name, *producer, verifies, topics)])
    if kind is Kind.ADD_OFFSETS:
        return AddOffsetsToTxnRequest(name, *producer, GROUP)
    return EndTxnRequest(name, *producer, kind in (Kind.COMMIT_1, Kind.COMMIT_2))


def _error(kind: Kind, answer: Any) -> int:
    """Return the error of an answer."""
    if kind is Kind.ADD:
        return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
    if kind in (Kind.ADD_BY_BROKER, Kind.VERIFY) and not answer.error_code:
        (transaction,) = answer.results_by_transaction
        return int(transaction.topic_results[0].results_by_partition[0].partition_error_code)
    return int(answer.error_code)


def differences(side: Side, known: Mapping[Cell, str]) -> list[str]:
    """Return the answers that are not those of the table.

    :param known: answers in place of those of the table.
    """
    lines = []
    for cell, answer in side.outcomes().items():
        situation, version, ask = cell
        expected = known.get(cell) or answers(ask, version)[situation]
        if answer != expected:
            lines.append(f"version {version}, {situation.value}: {ask.label}: {answer}, not {expected}")
    return lines
