"""Verification of transactions before their first batch in a partition (KIP-890).

The leader of a partition asks the transaction coordinator if the partition is in the producer's open
transaction. From Produce 12 and TxnOffsetCommit 5 on, it adds the partition. Without that, a late
batch of a producer that was fenced, or whose transaction has ended, would begin a transaction that no marker
ever ends.

A marker of that transaction that is written while the question is under way takes the answer back, and also
later, until the batch is written: :class:`PendingVerifications` tells. It touches the connections to other
brokers and the clock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from kafkatx.broker.coordinator.transactions.coordinator import TransactionCoordinator
from kafkatx.broker.peers import Peers
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.transactions.actions import Reply
from kafkatx.transactions.metadata import TV2, Producer
from kafkatx.transactions.records import by_topic
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

AGAIN_S, ATTEMPTS = 0.02, 6
"""The pause before the coordinator is asked again while a transaction ends, and how often it is asked."""

Results: TypeAlias = Mapping[TopicPartition, ErrorCode]
"""The result for each partition; NONE where the batch may be written."""


class PendingVerifications:
    """The questions to coordinators that are under way, by partition and producer id.

    A question goes on until the batch that it is about is written, if that has to be validated first.
    """

    def __init__(self) -> None:
        self._begun: dict[tuple[TopicPartition, int], dict[object, int]] = {}

    def begin(self, partitions: Collection[TopicPartition], producer_id: int, epoch: int) -> object:
        """Begin a question; return its token."""
        token = object()
        for partition in partitions:
            self._begun.setdefault((partition, producer_id), {})[token] = epoch
        return token

    def end(self, token: object, partition: TopicPartition, producer_id: int) -> bool:
        """End a question for one partition; return False if a marker was written there meanwhile."""
        tokens = self._begun.get((partition, producer_id), {})
        if token not in tokens:
            return False
        del tokens[token]
        if not tokens:
            del self._begun[partition, producer_id]
        return True

    def stands(self, token: object, partition: TopicPartition, producer_id: int) -> bool:
        """Return True if no marker was written in a partition since a question, which goes on."""
        return token in self._begun.get((partition, producer_id), ())

    def marker_written(self, partition: TopicPartition, producer: Producer, bumped: bool) -> None:
        """Take back the answers to questions about the transaction in a partition that a marker ends.

        The client of version 2 is answered before the markers of its transaction are written, so that the
        first batch of the next one may come before them.

        :param producer: as the marker has it.
        :param bumped: True if its epoch is that after the transaction's (version 2): a question with this
            epoch is about a later transaction.
        """
        key = partition, producer.id
        if key not in self._begun:
            return
        later = {token: epoch for token, epoch in self._begun.pop(key).items() if epoch >= producer.epoch}
        if bumped and later:
            self._begun[key] = later


class TransactionVerifier:
    """Asks transaction coordinators.

    :ivar pending: the questions that are under way.
    """

    def __init__(
        self, node_id: int, coordinator: TransactionCoordinator, peers: Peers, clock: IReactorTime
    ) -> None:
        self._node_id = node_id
        self._coordinator = coordinator
        self._peers = peers
        self._clock = clock
        self.pending = PendingVerifications()

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition], adds: bool
    ) -> Results | Deferred[Results]:
        """Ask if partitions are in a producer's open transaction.

        :param adds: add those that are not.
        :return: the results at once if this broker is the coordinator and nothing has to wait; else a
            Deferred of them, which never fails.
        """
        first: Deferred[Reply] | None = None
        if not adds:
            results = self._verify_own(transactional_id, producer, partitions)
            if results is not None:
                return results
        else:
            added = self._add_own(transactional_id, producer, partitions)
            if isinstance(added, Deferred):
                first = added
            elif added is not None and added != ErrorCode.CONCURRENT_TRANSACTIONS:
                return dict.fromkeys(partitions, added)
        return Deferred.fromCoroutine(self._verify_later(transactional_id, producer, partitions, adds, first))

    def _is_own(self, transactional_id: str) -> bool:
        return self._coordinator.topic.leader_of(transactional_id).id == self._node_id

    def _verify_own(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> Results | None:
        """Return the results; None if another broker is the coordinator, or it has to be asked again."""
        try:
            if not self._is_own(transactional_id):
                return None
            verify = self._coordinator.verify
            results = {one: verify(transactional_id, producer, one) for one in partitions}
        except RequestError as error:
            return dict.fromkeys(partitions, error.code)
        return None if ErrorCode.CONCURRENT_TRANSACTIONS in results.values() else results

    def _add_own(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> ErrorCode | Deferred[Reply] | None:
        """Return the result, or a Deferred of it; None if another broker is the coordinator."""
        try:
            if not self._is_own(transactional_id):
                return None
            added = self._coordinator.add(transactional_id, producer, partitions, TV2)
        except RequestError as error:
            return error.code
        return added if isinstance(added, Deferred) else added.error

    async def _verify_later(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        adds: bool,
        first: Deferred[Reply] | None,
    ) -> Results:
        """Ask until the coordinator knows; *first* is the first attempt, if it is under way."""
        results: Results = {}
        for attempt in range(ATTEMPTS):
            if attempt:
                await deferLater(self._clock, AGAIN_S)
            try:
                if first is not None and not attempt:
                    results = dict.fromkeys(partitions, (await first).error)
                else:
                    results = await self._ask(transactional_id, producer, partitions, adds)
            except RequestError as error:
                results = dict.fromkeys(partitions, error.code)
            except (KafkaTXError, ValueError):
                results = dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
            if ErrorCode.CONCURRENT_TRANSACTIONS not in results.values():
                break
        return results

    async def _ask(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition], adds: bool
    ) -> Results:
        """Ask the coordinator once.

        :raises KafkaTXError: it cannot be asked, or does not serve the transactional id.
        """
        node = self._coordinator.topic.leader_of(transactional_id)
        if node.id == self._node_id:
            if not adds:
                verify = self._coordinator.verify
                return {one: verify(transactional_id, producer, one) for one in partitions}
            added = self._coordinator.add(transactional_id, producer, partitions, TV2)
            reply = await added if isinstance(added, Deferred) else added
            return dict.fromkeys(partitions, reply.error)
        topics = [AddPartitionsToTxnTopic(topic, numbers) for topic, numbers in by_topic(partitions)]
        transaction = AddPartitionsToTxnTransaction(transactional_id, *producer, not adds, topics)
        response = await self._peers.request(node, AddPartitionsToTxnRequest([transaction]))
        return _results(response, partitions)


def _results(response: AddPartitionsToTxnResponse, partitions: Collection[TopicPartition]) -> Results:
    """Return the results of a response about one transaction."""
    missing = ErrorCode.of(response.error_code) or ErrorCode.NETWORK_EXCEPTION
    found = {
        TopicPartition(topic.name, result.partition_index): ErrorCode.of(result.partition_error_code)
        for one in response.results_by_transaction
        for topic in one.topic_results
        for result in topic.results_by_partition
    }
    return {partition: found.get(partition, missing) for partition in partitions}
