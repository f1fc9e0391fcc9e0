"""The sender of markers: it brings the end of a transaction to all of its partitions, however long it takes.

Each partition's leader writes the marker. This broker's own partitions are written at once
(:class:`LocalMarkers`), those of others by WriteTxnMarkers
(:mod:`~kafkatx.broker.coordinator.transactions.marker_requests`). A marker that fails is sent again after a
pause, to the leader of that time. A partition that was deleted needs none. It touches the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from kafkatx.broker.coordinator.transactions.shard import TransactionShard
from kafkatx.broker.requests.quotation import quoted
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.limited_log import LimitedLog
from kafkatx.transactions.actions import Marker, WriteMarkers
from kafkatx.transactions.transaction import Transaction
from kafkatx.types import BrokerNode, TopicPartition

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
"""The pause before a failed marker is tried again; it doubles with each attempt."""

MOST_AT_ONCE = 200
"""Own partitions of one transaction that are written in one turn of the reactor."""

FINAL = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.POLICY_VIOLATION)
"""Errors after which a marker is not sent again: the partition knows a later epoch of the producer, so that
the marker's transaction has been ended there; or a mirror link alone writes to it, so that it has no records
of the transaction. That may be if a topic was deleted, and mirrored under its name."""


class LocalMarkers(Protocol):
    """Writes markers to partitions of this broker."""

    def write(
        self, partition: TopicPartition, marker: Marker, coordinator_epoch: int
    ) -> ErrorCode | Deferred[ErrorCode]:
        """Write one marker; return the result, or a Deferred, which never fails, of it."""


class RemoteMarkers(Protocol):
    """Has markers written by other brokers."""

    def send(
        self,
        node: BrokerNode,
        partitions: list[TopicPartition],
        marker: Marker,
        coordinator_epoch: int,
        settle: Callable[[TopicPartition, ErrorCode], None],
    ) -> None:
        """Send one marker for partitions that a broker leads; *settle* is called with each result."""

    def stop(self) -> Deferred[None]:
        """End the sending; nothing is settled any more."""


class Sending:
    """The markers of one transaction that are not written yet.

    :ivar left: the partitions whose marker is not written.
    :ivar under_way: those of them whose result is awaited.
    :ivar attempting: True while they are being sent: results may come at once.
    """

    def __init__(self, shard: TransactionShard, transaction: Transaction, action: WriteMarkers) -> None:
        self.shard = shard
        self.transaction = transaction
        self.marker = action.marker
        self.left = set(action.partitions)
        self.under_way: set[TopicPartition] = set()
        self.attempting = False
        self.pause_s = FIRST_PAUSE_S
        self.timer: IDelayedCall | None = None


class MarkerSender:
    """Sends markers.

    :param node_id: the id of this broker.
    :param written: called when the last marker of a transaction is written, later than :meth:`write`.
    """

    _log = Logger()

    def __init__(
        self,
        node_id: int,
        metadata: IMetadataStore,
        local: LocalMarkers,
        remote: RemoteMarkers,
        written: Callable[[TransactionShard, Transaction], None],
        clock: IReactorTime,
        limited_log: LimitedLog,
    ) -> None:
        self._node_id = node_id
        self._metadata = metadata
        self._local = local
        self._remote = remote
        self._written = written
        self._clock = clock
        self._limited_log = limited_log
        self._sendings: dict[Sending, None] = {}

    @property
    def count(self) -> int:
        """The number of transactions whose markers are not all written."""
        return len(self._sendings)

    def write(self, shard: TransactionShard, transaction: Transaction, action: WriteMarkers) -> bool:
        """Write the markers of a transaction; return True if all are written at once.

        Otherwise *written* is called later, unless the shard is dropped.
        """
        sending = Sending(shard, transaction, action)
        self._sendings[sending] = None
        self._attempt(sending)
        if sending.left:
            return False
        del self._sendings[sending]
        return True

    def _attempt(self, sending: Sending) -> None:
        """Write the markers that are left, and whose results are not awaited."""
        sending.attempting = True
        remote: dict[BrokerNode, list[TopicPartition]] = {}
        own = 0
        for partition in sending.left - sending.under_way:
            node = self._leader(partition)
            if node is None:
                sending.left.discard(partition)
            elif node.id == self._node_id:
                own += 1
                if own <= MOST_AT_ONCE:
                    self._write_own(sending, partition)
            elif node.id >= 0:
                remote.setdefault(node, []).append(partition)
        for node, partitions in remote.items():
            sending.under_way.update(partitions)
            settle = partial(self._settle, sending)
            epoch = sending.shard.coordinator_epoch
            self._remote.send(node, partitions, sending.marker, epoch, settle)
        sending.attempting = False
        if own > MOST_AT_ONCE:
            self._stop_timer(sending)
            sending.timer = self._clock.callLater(0, self._again, sending)
        elif sending.left - sending.under_way:
            self._set_timer(sending)

    def _leader(self, partition: TopicPartition) -> BrokerNode | None:
        """Return the leader of a partition: of id -1 if there is none now, None if it was deleted."""
        state = self._metadata.state
        topic = state.topics.get(partition.topic)
        if topic is None or partition.partition >= len(topic.partitions):
            return None
        node: BrokerNode | None = state.brokers.get(topic.partitions[partition.partition].leader)
        return node or BrokerNode(-1, "", -1)

    def _write_own(self, sending: Sending, partition: TopicPartition) -> None:
        written = self._local.write(partition, sending.marker, sending.shard.coordinator_epoch)
        if isinstance(written, Deferred):
            sending.under_way.add(partition)
            written.addCallback(partial(self._settle, sending, partition))
        else:
            self._take(sending, partition, written)

    def _take(self, sending: Sending, partition: TopicPartition, error: ErrorCode) -> None:
        """Take the result of one marker in."""
        if not error or error in FINAL:
            sending.left.discard(partition)
        if error:
            self._limited_log.warn(
                "a marker of the transaction of {id} was refused by {partition}: {error}{then}",
                id=quoted(sending.transaction.transactional_id),
                partition=partition,
                error=error.name,
                then="" if error in FINAL else "; it is sent again",
            )

    def _settle(self, sending: Sending, partition: TopicPartition, error: ErrorCode) -> None:
        """Take a result that has come later; end the transaction with the last one."""
        sending.under_way.discard(partition)
        if sending not in self._sendings:
            return
        self._take(sending, partition, error)
        if not sending.attempting:
            self._go_on(sending)

    def _go_on(self, sending: Sending) -> None:
        if not sending.left:
            del self._sendings[sending]
            self._stop_timer(sending)
            self._written(sending.shard, sending.transaction)
        elif sending.left - sending.under_way:
            self._set_timer(sending)

    def _set_timer(self, sending: Sending) -> None:
        if sending.timer is None:
            sending.timer = self._clock.callLater(sending.pause_s, self._again, sending)
            sending.pause_s = min(2 * sending.pause_s, LONGEST_PAUSE_S)

    def _again(self, sending: Sending) -> None:
        sending.timer = None
        self._attempt(sending)
        if not sending.left:
            self._go_on(sending)

    def _stop_timer(self, sending: Sending) -> None:
        timer, sending.timer = sending.timer, None
        if timer is not None:
            timer.cancel()

    def drop(self, shard: TransactionShard) -> None:
        """Send no marker of a shard any more: its next coordinator does."""
        self._end(sending for sending in list(self._sendings) if sending.shard is shard)

    def stop(self) -> Deferred[None]:
        """Send nothing any more; fires when nothing is under way."""
        self._end(list(self._sendings))
        return self._remote.stop()

    def _end(self, sendings: Iterable[Sending]) -> None:
        for sending in sendings:
            del self._sendings[sending]
            self._stop_timer(sending)
