"""A transaction over plain sockets: begun, filled and ended, perhaps each by another process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from kafkatx.blocking.coordinators import Coordinators
from kafkatx.clientcore.coordinators import TRANSACTION
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.producer.batch import ProducerIdAndEpoch
from kafkatx.clientcore.producer.requests import read_producer_id
from kafkatx.clientcore.producer.transactions import requests
from kafkatx.clientcore.producer.transactions.machine import FEATURE, IMPLICIT_VERSION, TransactionMachine
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest
from kafkatx.wire.schema import Message

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel

T = TypeVar("T")


@attrs.frozen
class TransactionHandle:
    """The identity of a transaction; picklable, for the process that ends it.

    :ivar implicit: True in protocol 2; see :mod:`kafkatx.clientcore.producer.transactions.machine`.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    implicit: bool


class Transaction:
    """Transactions of an id, one after the other, by a :class:`Cluster` that the caller closes.

    Each call is repeated while the coordinator is away, up to the cluster's number of retries.
    """

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        self._cluster = cluster
        self._machine = TransactionMachine(transactional_id)
        self._coordinators = Coordinators(cluster, TRANSACTION)
        self._groups = Coordinators(cluster)

    @classmethod
    def begun(cls, cluster: Cluster, transactional_id: str, timeout_ms: int) -> Transaction:
        """Begin a transaction; another one of this id is aborted, and its producer fenced.

        :param timeout_ms: ``transaction.timeout.ms``.
        :raises RequestError: INVALID_TRANSACTION_TIMEOUT, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ...
        """
        made = cls(cluster, transactional_id)
        machine = made._machine

        def ask(channel: Channel) -> tuple[ProducerIdAndEpoch, bool]:
            version = channel.version_for(InitProducerIdRequest)
            response = channel.request(requests.init_request(machine, timeout_ms, version), version)
            return read_producer_id(response), channel.features.get(FEATURE, 0) >= IMPLICIT_VERSION

        machine.initialized(*made._coordinators.call(transactional_id, ask))
        machine.begin()
        return made

    @classmethod
    def resumed(cls, cluster: Cluster, handle: TransactionHandle) -> Transaction:
        """Go on with a transaction that another process has begun; no broker is asked."""
        made = cls(cluster, handle.transactional_id)
        made._machine.initialized(ProducerIdAndEpoch(handle.producer_id, handle.epoch), handle.implicit)
        made._machine.begin()
        return made

    @property
    def handle(self) -> TransactionHandle:
        """The identity of the transaction."""
        machine = self._machine
        return TransactionHandle(machine.transactional_id, *machine.identity, machine.implicit)

    @property
    def transactional_id(self) -> str:
        """The id that produce requests carry."""
        return self._machine.transactional_id

    @property
    def identity(self) -> ProducerIdAndEpoch:
        """The producer id and epoch that batches carry."""
        return self._machine.identity

    @property
    def produce_at_most(self) -> int | None:
        """The last version of Produce that does not add partitions by itself, in protocol 1; else None."""
        return None if self._machine.implicit else requests.PRODUCE_AT_MOST

    @property
    def topics(self) -> list[str]:
        """The topics that were written to, by name."""
        return sorted({place.topic for place in self._machine.partitions})

    def admit(self, topic: str, partition: int) -> None:
        """Make a partition a part of the transaction; called before each batch.

        :raises RequestError: it cannot be one, or the producer is fenced.
        """
        machine = self._machine
        place = TopicPartition(topic, partition)
        if place in machine.partitions or place in machine.admit([place]):
            return
        request = requests.add_partitions_request(machine, [place])
        self._ask(request, requests.check_added, requests.ADD_PARTITIONS_AT_MOST)
        machine.added([place])

    def send_offset(self, group_id: str, place: TopicPartition, offset: OffsetAndMetadata) -> None:
        """Commit an offset of a group without members with the transaction.

        :raises RequestError: it was refused, or the producer is fenced.
        """
        machine = self._machine
        if not machine.implicit and group_id not in machine.groups:
            self._ask(requests.add_offsets_request(machine, group_id), requests.check_offsets_added)
            machine.groups.add(group_id)
        request = requests.offset_commit_request(machine, ConsumerGroupMetadata(group_id), {place: offset})
        at_most = None if machine.implicit else requests.OFFSET_COMMIT_AT_MOST
        self._groups.call(group_id, _asking(request, requests.check_offsets_committed, at_most))

    def end(self, committed: bool) -> None:
        """Commit or abort; the next transaction is begun, with the identity that the coordinator gives.

        :raises RequestError: PRODUCER_FENCED, ...: it was ended by another process, or by its time-out.
        :raises ConnectionFailed: the outcome is not known.
        """
        machine = self._machine
        if committed:
            machine.commit()
        else:
            machine.abort()
        at_most = None if machine.implicit else requests.END_AT_MOST
        machine.ended(self._ask(requests.end_request(machine, committed), requests.read_ended, at_most))
        machine.begin()

    def _ask(self, request: Message, read: Callable[[Any], T], at_most: int | None = None) -> T:
        return self._coordinators.call(self.transactional_id, _asking(request, read, at_most))


def _asking(request: Message, read: Callable[[Any], T], at_most: int | None) -> Callable[[Channel], T]:
    def ask(channel: Channel) -> T:
        return read(channel.request(request, channel.version_for(type(request), at_most)))

    return ask
