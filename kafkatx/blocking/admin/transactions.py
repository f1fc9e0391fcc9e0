"""Transactions of a cluster (KIP-664): list and describe them, find hanging ones and abort them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from kafkatx.blocking.coordinators import Coordinators
from kafkatx.clientcore.coordinators import TRANSACTION
from kafkatx.clientcore.transactions import requests as messages
from kafkatx.clientcore.transactions.values import (
    OpenTransaction,
    TransactionDescription,
    TransactionListing,
    hanging,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import BrokerNode, TopicPartition
from kafkatx.wire.messages.list_transactions import ListTransactionsRequest

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel


class Transactions:
    """Describes and aborts transactions through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._coordinators = Coordinators(cluster, TRANSACTION)

    def listings(
        self,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        older_ms: int | None = None,
        pattern: str | None = None,
    ) -> list[TransactionListing]:
        """List the transactional ids of all brokers, by name.

        :param states: only ids in these states, by Kafka's words.
        :param older_ms: only ids whose transaction is older than this.
        :param pattern: only ids that match this regular expression (RE2's) as a whole.
        :raises ConnectionFailed: a broker does not answer: its transactions are not known.
        :raises RequestError: INVALID_REGULAR_EXPRESSION; UNSUPPORTED_VERSION: a broker lacks a filter.
        """

        def ask(node: BrokerNode) -> list[TransactionListing]:
            channel = self._cluster.connection_to(node)
            version = channel.version_for(ListTransactionsRequest)
            request = messages.list_request(version, states, producer_ids, older_ms, pattern)
            return messages.listings(channel.request(request, version), node.id)

        found: list[TransactionListing] = []
        for node in self._cluster.brokers().values():
            found += self._cluster.retrying(lambda node=node: ask(node))  # type: ignore[misc]
        return sorted(found)

    def describe(self, transactional_id: str) -> TransactionDescription:
        """Describe a transactional id.

        :raises RequestError: TRANSACTIONAL_ID_NOT_FOUND, ...
        """
        request = messages.describe_request(transactional_id)

        def ask(channel: Channel) -> TransactionDescription:
            node = self._coordinators.coordinator(transactional_id)
            return messages.description(channel.request(request), node.id)

        return self._coordinators.call(transactional_id, ask)

    def open(self, places: Iterable[TopicPartition]) -> list[OpenTransaction]:
        """Return the transactions that are open in partitions, by their leaders' word.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, ...
        """
        found: list[OpenTransaction] = []
        for place in places:
            found += self._cluster.retrying(lambda place=place: self._open(place))  # type: ignore[misc]
        return found

    def _open(self, place: TopicPartition) -> list[OpenTransaction]:
        channel = self._cluster.leader_connection(*place)
        return messages.open_transactions(channel.request(messages.producers_request([place])))

    def hanging(self, places: Iterable[TopicPartition], older_ms: int, now_ms: int) -> list[OpenTransaction]:
        """Return the open transactions of partitions that no coordinator will end.

        :param older_ms: only those whose producer has written nothing for so long: a transaction that is just
            being ended is open in its partitions for a moment.
        :param now_ms: the present time in ms since the epoch.
        """
        old = [found for found in self.open(places) if found.last_ms <= now_ms - older_ms]
        known = {found.producer_id: found for found in self.listings()} if old else {}
        coordinated: dict[int, TransactionDescription | None] = {}
        for producer_id in {found.producer_id for found in old} & set(known):
            try:
                coordinated[producer_id] = self.describe(known[producer_id].transactional_id)
            except RequestError as error:
                if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                    raise
        return hanging(old, coordinated)

    def abort(self, transaction: OpenTransaction) -> None:
        """End an open transaction in its partition by a marker; its coordinator does not know of it.

        :raises RequestError: CLUSTER_AUTHORIZATION_FAILED, INVALID_PRODUCER_EPOCH, ...
        """
        request = messages.abort_request(transaction)
        self._cluster.retrying(
            lambda: messages.check_aborted(
                self._cluster.leader_connection(*transaction.partition).request(request)
            )
        )
