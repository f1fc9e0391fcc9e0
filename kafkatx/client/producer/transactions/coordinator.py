"""Requests to the coordinator of a transactional id, and of a group in a transaction; with retries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from kafkatx.clientcore.coordinators import GROUP, TRANSACTION
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.producer.batch import ProducerIdAndEpoch
from kafkatx.clientcore.producer.requests import read_producer_id
from kafkatx.clientcore.producer.transactions import requests
from kafkatx.clientcore.producer.transactions.machine import FEATURE, IMPLICIT_VERSION, TransactionMachine
from kafkatx.errors import KafkaTXError, RequestError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.schema import Message

T = TypeVar("T")

LANE = "transaction"


class TransactionCoordinator:
    """The coordinators that one producer's transactions concern.

    Each call is retried for ``max.block.ms``, and looks the coordinator up again when it has moved.

    :param timeout_ms: ``transaction.timeout.ms``.
    """

    def __init__(self, cluster: Cluster, machine: TransactionMachine, timeout_ms: int) -> None:
        self._cluster = cluster
        self._machine = machine
        self._timeout_ms = timeout_ms

    async def identity(self) -> tuple[ProducerIdAndEpoch, bool]:
        """Request the identity of the next transaction, which ends an open one and fences other producers.

        :return: the identity, and True if the cluster's transactions have protocol 2.
        :raises KafkaTXError: INVALID_TRANSACTION_TIMEOUT, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ...
        """

        async def attempt(node_id: int) -> tuple[ProducerIdAndEpoch, bool]:
            version = await self._cluster.version_for(node_id, InitProducerIdRequest, lane=LANE)
            request = requests.init_request(self._machine, self._timeout_ms, version)
            response = await self._cluster.request(node_id, request, version=version, lane=LANE)
            connection = await self._cluster.connected(node_id, lane=LANE)
            level = connection.wire.features.get(FEATURE, 0)
            return read_producer_id(response), level >= IMPLICIT_VERSION

        return await self._of_transaction(attempt)

    async def add_partitions(self, places: list[TopicPartition]) -> None:
        """Add partitions to the transaction."""
        request = requests.add_partitions_request(self._machine, places)
        at_most = requests.ADD_PARTITIONS_AT_MOST
        await self._of_transaction(self._asking(request, requests.check_added, at_most))

    async def add_offsets(self, group_id: str) -> None:
        """Add the offsets of a group to the transaction."""
        request = requests.add_offsets_request(self._machine, group_id)
        await self._of_transaction(self._asking(request, requests.check_offsets_added))

    async def commit_offsets(
        self, group: ConsumerGroupMetadata, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Commit offsets with the transaction, at the group's coordinator.

        :raises CommitFailed: the consumer is no member of this generation any more.
        """
        request = requests.offset_commit_request(self._machine, group, offsets)
        at_most = None if self._machine.implicit else requests.OFFSET_COMMIT_AT_MOST
        attempt = self._asking(request, requests.check_offsets_committed, at_most)
        await self._of(group.group_id, GROUP, attempt)

    async def end(self, committed: bool) -> ProducerIdAndEpoch | None:
        """Commit or abort the transaction; return the identity of the next one, None: as before.

        A repeated request is answered as the first one was.
        """
        request = requests.end_request(self._machine, committed)
        at_most = None if self._machine.implicit else requests.END_AT_MOST
        return await self._of_transaction(self._asking(request, requests.read_ended, at_most))

    def _asking(
        self, request: Message, read: Callable[[Any], T], at_most: int | None = None
    ) -> Callable[[int], Awaitable[T]]:
        async def attempt(node_id: int) -> T:
            return read(await self._cluster.request(node_id, request, at_most=at_most, lane=LANE))

        return attempt

    async def _of_transaction(self, attempt: Callable[[int], Awaitable[T]]) -> T:
        return await self._of(self._machine.transactional_id, TRANSACTION, attempt)

    async def _of(self, key: str, key_type: int, attempt: Callable[[int], Awaitable[T]]) -> T:
        """Call *attempt* with the coordinator's node id until it succeeds or fails for good."""

        async def once() -> T:
            node_id = await self._cluster.coordinator(key, key_type)
            try:
                return await attempt(node_id)
            except KafkaTXError as error:
                moved = isinstance(error, RequestError) and error.code in requests.COORDINATOR_MOVED
                if moved or isinstance(error, ConnectionFailed):
                    self._cluster.forget_coordinator(key, key_type)
                raise

        return await self._cluster.retrying(once)
