"""Transactions of a cluster: list and describe them, abort hanging ones, fence producers (KIP-664)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafkatx.client.admin.destinations import Destinations
from kafkatx.client.deferreds import deferred, gather_by_key
from kafkatx.clientcore.coordinators import TRANSACTION
from kafkatx.clientcore.producer.batch import ProducerIdAndEpoch
from kafkatx.clientcore.producer.requests import read_producer_id
from kafkatx.clientcore.transactions import requests as messages
from kafkatx.clientcore.transactions.values import (
    OpenTransaction,
    PartitionProducer,
    TransactionDescription,
    TransactionListing,
)
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.describe_producers import DescribeProducersResponse
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest


class Transactions:
    """The transactions part of an admin client: :attr:`kafkatx.client.admin.admin.Admin.transactions`."""

    def __init__(self, destinations: Destinations) -> None:
        self._destinations = destinations

    @deferred
    async def listings(
        self,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        older_ms: int | None = None,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        """List the transactional ids of all brokers, by name.

        :param states: only ids in these states, by Kafka's words (``Ongoing``, ``Empty``, ...).
        :param producer_ids: only ids of these producers.
        :param older_ms: only ids whose transaction is older than this.
        :param pattern: only ids that match this regular expression (RE2's) as a whole.

        Fails with ConnectionFailed: a broker does not answer, so its ids are not known; RequestError
        INVALID_REGULAR_EXPRESSION, or UNSUPPORTED_VERSION: a broker does not know a filter.
        """

        async def ask(node_id: int) -> list[TransactionListing]:
            async def attempt() -> list[TransactionListing]:
                version = await self._destinations.version(node_id, ListTransactionsRequest)
                request = messages.list_request(version, states, producer_ids, older_ms, pattern)
                return messages.listings(await self._destinations.node(node_id, request, version), node_id)

            return await self._destinations.cluster.retrying(attempt)

        told = await gather_by_key((await self._destinations.describe([])).brokers, ask)
        return sorted(listing for listings in told.values() for listing in listings)

    @deferred
    async def describe(self, transactional_id: str) -> TransactionDescription:
        """Describe a transactional id. Fails with RequestError TRANSACTIONAL_ID_NOT_FOUND, ..."""
        request = messages.describe_request(transactional_id)

        async def attempt(node_id: int) -> TransactionDescription:
            return messages.description(await self._destinations.node(node_id, request), node_id)

        return await self._destinations.coordinator(transactional_id, attempt, TRANSACTION)

    @deferred
    async def producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[PartitionProducer]]:
        """Describe the idempotent and transactional producers of partitions, by their leaders' word.

        Fails with UnknownTopic, or RequestError: a partition has no leader, ...
        """
        told = await self._producers(partitions)
        return {place: messages.partition_producers(reply)[place] for place, reply in told.items()}

    @deferred
    async def open(self, partitions: Iterable[TopicPartition]) -> list[OpenTransaction]:
        """Return the transactions that are open in partitions; otherwise as :meth:`producers`."""
        told = await self._producers(partitions)
        return [one for reply in told.values() for one in messages.open_transactions(reply)]

    async def _producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, DescribeProducersResponse]:
        async def ask(place: TopicPartition) -> DescribeProducersResponse:
            async def attempt() -> DescribeProducersResponse:
                (leader,) = await self._destinations.leaders([place])
                reply: DescribeProducersResponse = await self._destinations.node(
                    leader, messages.producers_request([place])
                )
                messages.partition_producers(reply)
                return reply

            return await self._destinations.cluster.retrying(attempt)

        return await gather_by_key(partitions, ask)

    @deferred
    async def abort(self, transaction: OpenTransaction) -> None:
        """End an open transaction in its partition by a marker, although its coordinator does not know of it.

        A transaction that is not hanging would be torn: in other partitions it may be committed. Fails with
        RequestError CLUSTER_AUTHORIZATION_FAILED, INVALID_PRODUCER_EPOCH (it has ended), ...
        """
        request = messages.abort_request(transaction)

        async def attempt() -> None:
            (leader,) = await self._destinations.leaders([transaction.partition])
            messages.check_aborted(await self._destinations.node(leader, request))

        await self._destinations.cluster.retrying(attempt)

    @deferred
    async def fence(self, transactional_id: str) -> ProducerIdAndEpoch:
        """Fence the producers of a transactional id, and abort their open transaction.

        :return: fires with the producer id and its new epoch. Fails with RequestError
            TRANSACTIONAL_ID_AUTHORIZATION_FAILED, INVALID_TRANSACTION_TIMEOUT, ...
        """
        request = messages.fence_request(transactional_id, self._destinations.timeout_ms)

        async def attempt(node_id: int) -> ProducerIdAndEpoch:
            return read_producer_id(await self._destinations.node(node_id, request))

        return await self._destinations.coordinator(transactional_id, attempt, TRANSACTION)
