"""Partitioning: records go to the queue of their partition, and wait while their topic's metadata is unknown.

Callers are admitted by :mod:`kafkatx.client.producer.buffer_pool`; batches leave by
:mod:`kafkatx.client.producer.sender`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.producer.receipts import AnyReceipt, ListReceipt, LostRecords, reject_records
from kafkatx.client.producer.sender import Sender
from kafkatx.clientcore.errors import RequestTimedOut
from kafkatx.clientcore.metadata import ClusterMetadata, TopicMetadata
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES, ProducerBatch
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.interfaces import IPartitioner
from kafkatx.names import check_topic_name
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.waiters import Waiters
from kafkatx.partitioners import DefaultPartitioner

Headers = Sequence[tuple[str, bytes | None]]


class _Pending(NamedTuple):
    """Records whose topic's metadata is not known yet; ``size`` is their share of ``buffer.memory``."""

    deadline_s: float
    size: int
    receipt: AnyReceipt
    put: Callable[..., None]
    arguments: tuple[object, ...]


class _TopicState:
    """A topic that records are sent to; ``partitions`` is 0 until its metadata is known.

    :ivar pending: the records that wait for the metadata, in order.
    :ivar none_pending: fires when no record waits any more.
    :ivar error: why the metadata could not be requested.
    :ivar lookup_deadline_s: the time at which the request for metadata ends at the latest.
    """

    __slots__ = (
        "error",
        "lookup_deadline_s",
        "name",
        "none_pending",
        "partitions",
        "pending",
        "queues",
        "timer",
    )

    def __init__(self, name: str, lookup_deadline_s: float) -> None:
        self.name = name
        self.partitions = 0
        self.queues: dict[int, PartitionQueue] = {}
        self.pending: deque[_Pending] = deque()
        self.none_pending: Waiters[None] = Waiters()
        self.error: Exception | None = None
        self.lookup_deadline_s = lookup_deadline_s
        self.timer: IDelayedCall | None = None


class TopicQueues:
    """Puts encoded records into the accumulator's queue of their partition.

    :ivar open_batches: by topic, the batch of the next record without a key, if the partitioner is sticky.
    :param ignore_keys: hide keys from the partitioner.
    :param sync: the records of each call are batches of their own, sent before the call returns.
    :param block_s: seconds for which records may wait for metadata.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        sender: Sender,
        partitioner: IPartitioner,
        lost_records: LostRecords,
        *,
        block_s: float,
        ignore_keys: bool = False,
        sync: bool = False,
    ) -> None:
        self.open_batches: dict[str, ProducerBatch] = {}
        self._cluster = cluster
        self._reactor = cluster.reactor
        self._accumulator = accumulator
        self._sender = sender
        self._partitioner = partitioner
        partitioner_class: type[object] = type(partitioner)
        self._is_sticky = partitioner_class is DefaultPartitioner and not sync
        self._lost_records = lost_records
        self._block_s = block_s
        self._ignore_keys = ignore_keys
        self._sync = sync
        self._held: dict[PartitionQueue, None] | None = None
        self._seconds: Callable[[], float] = cluster.reactor.seconds
        self._topics: dict[str, _TopicState] = {}
        self._lookups: set[Deferred[TopicMetadata]] = set()
        self._unlisten = cluster.on_metadata(self._changed)
        accumulator.closed = self._batch_closed

    # -- records in

    def put(
        self,
        name: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int,
        size: int,
        receipt: AnyReceipt,
        deadline_s: float | None = None,
    ) -> None:
        """Add one record to its partition's open batch, at once or when the topic's metadata is known.

        :param size: the record's share of ``buffer.memory``, in bytes.
        :param receipt: None: the caller wants no answer.
        :param deadline_s: the time until which it may wait for metadata; None: *block_s* from now.
        :raises TypeError: key, value or a header is not bytes.
        :raises RequestError: there is no such partition, or no such topic.
        """
        topic = self._topics.get(name)
        if topic is None or not topic.partitions:
            topic = topic or self._look_up(name)
            if not topic.partitions:
                arguments = (name, key, value, partition, headers, timestamp_ms, size, receipt)
                self._add_pending(topic, size, receipt, self.put, arguments, deadline_s)
                return
        queue = self._queue(topic, key, partition, size)
        if self._accumulator.append(queue, key, value, timestamp_ms, headers, receipt, self._seconds()):
            self._wake(queue)
        by_batch = self._is_sticky and partition is None and (key is None or self._ignore_keys)
        if by_batch and queue.open is not None:
            self.open_batches[name] = queue.open

    def put_values(
        self,
        name: str,
        key: bytes | None,
        values: Sequence[bytes],
        partition: int | None,
        timestamp_ms: int,
        receipt: ListReceipt,
        deadline_s: float | None = None,
    ) -> None:
        """Add a list of values to the queue of one partition; otherwise as :meth:`put`."""
        topic = self._topics.get(name)
        if topic is None or not topic.partitions:
            topic = topic or self._look_up(name)
            if not topic.partitions:
                values = list(values)  # the caller may change it meanwhile
                size = sum(map(len, values)) + RECORD_OVERHEAD_BYTES * len(values)
                arguments = (name, key, values, partition, timestamp_ms, receipt)
                self._add_pending(topic, size, receipt, self.put_values, arguments, deadline_s)
                return
        accumulator = self._accumulator
        size = sum(map(len, values)) if partition is None and topic.partitions > 1 else 0
        queue = self._queue(topic, key, partition, size)
        now_s = self._seconds()
        if key is None:
            for _ in range(1, accumulator.append_values(queue, values, timestamp_ms, receipt, now_s)):
                receipt.add_batch()
        else:
            for number, value in enumerate(values):
                accumulator.append(queue, key, value, timestamp_ms, (), receipt, now_s)
                if number:
                    receipt.add_batch()
        self._wake(queue)

    def _queue(
        self, topic: _TopicState, key: bytes | None, partition: int | None, size: int
    ) -> PartitionQueue:
        """Choose the queue for records of *size* bytes.

        :raises RequestError: there is no such partition.
        """
        if partition is not None:
            return self._queue_at(topic, partition)
        if self._ignore_keys:
            key = None
        name, partitions = topic.name, topic.partitions
        queue = self._queue_at(topic, self._partitioner.partition(name, key, partitions))
        if key is None and partitions > 1 and not self._accumulator.fits(queue, size):
            # A sticky partitioner chooses another partition when a batch is full (KIP-480).
            self._accumulator.close(queue)
            self._wake(queue)
            queue = self._queue_at(topic, self._partitioner.partition(name, key, partitions))
        return queue

    def _queue_at(self, topic: _TopicState, partition: int) -> PartitionQueue:
        queue = topic.queues.get(partition)
        if queue is None or partition >= topic.partitions:
            _check_partition(topic, partition)
            queue = topic.queues[partition] = self._accumulator.queue(topic.name, partition)
        return queue

    def _batch_closed(self, name: str) -> None:
        """Tell the partitioner that a batch of the topic was closed."""
        self.open_batches.pop(name, None)
        try:
            self._partitioner.batch_sent(name)
        except Exception:
            self._log.failure("a partitioner's batch_sent failed")

    # -- waking the sender

    def hold(self) -> None:
        """Send nothing until :meth:`release`, so that records of several calls share requests."""
        self._held = {}

    def release(self) -> None:
        """Send the records that were put since :meth:`hold`."""
        held, self._held = self._held, None
        for queue in held or ():
            self._accumulator.close(queue)
        if held:
            self._sender.run_once()

    def _wake(self, queue: PartitionQueue) -> None:
        """Wake the sender when the queue's open batch is due."""
        if self._sync:
            if self._held is not None:
                self._held[queue] = None
                return
            self._accumulator.close(queue)
            self._sender.run_once()
        elif queue.waiting or not self._accumulator.limits.linger_s:
            self._sender.wake()
        elif queue.open is not None:
            if queue.open.size_bytes >= queue.open.max_bytes:
                self._sender.wake()
            else:
                self._sender.wake_at(queue.open.due_s)

    # -- metadata

    def _look_up(self, name: str) -> _TopicState:
        """Request a topic's metadata.

        :raises RequestError: INVALID_TOPIC_EXCEPTION: the name is not allowed.
        :raises Exception: the request has failed at once.
        """
        check_topic_name(name)
        topic = self._topics[name] = _TopicState(name, self._seconds() + self._cluster.api_timeout_s)
        lookup: Deferred[TopicMetadata] = Deferred.fromCoroutine(self._cluster.topic(name))
        self._lookups.add(lookup)

        def known(metadata: TopicMetadata) -> None:
            self._lookups.discard(lookup)
            topic.partitions = len(metadata.partitions)
            self._release_pending(topic)

        def unknown(failure: Failure) -> None:
            self._lookups.discard(lookup)
            self._topics.pop(name, None)
            if isinstance(failure.value, Exception) and not failure.check(CancelledError):
                topic.error = failure.value
                self._drop_pending(topic, failure.value)

        def bug(failure: Failure) -> None:
            self._log.failure("records that waited for a topic could not be enqueued", failure)

        lookup.addCallbacks(known, unknown).addErrback(bug)
        if topic.error is not None:
            raise topic.error
        return topic

    def _add_pending(
        self,
        topic: _TopicState,
        size: int,
        receipt: AnyReceipt,
        put: Callable[..., None],
        arguments: tuple[object, ...],
        deadline_s: float | None,
    ) -> None:
        if deadline_s is None:
            deadline_s = self._seconds() + self._block_s
        self._accumulator.used_bytes += size
        topic.pending.append(_Pending(deadline_s, size, receipt, put, arguments))
        if topic.timer is None and deadline_s < topic.lookup_deadline_s:
            self._set_timer(topic)

    def _set_timer(self, topic: _TopicState) -> None:
        """Check a topic's oldest pending record at its deadline."""
        seconds = max(0.0, topic.pending[0].deadline_s - self._seconds())
        topic.timer = self._reactor.callLater(seconds, self._expire_pending, topic)

    def _expire_pending(self, topic: _TopicState) -> None:
        """Fail the records that have waited for ``max.block.ms``, even if the lookup goes on."""
        topic.timer = None
        now_s = self._seconds()
        late = []
        while topic.pending and topic.pending[0].deadline_s <= now_s:
            late.append(topic.pending.popleft())
        if topic.pending:
            self._set_timer(topic)
        error = RequestTimedOut(
            f"the partitions of topic {topic.name!r} are not known after {self._block_s:g} s"
            " (max.block.ms): no broker has answered"
        )
        self._fail_pending(topic, late, error)

    def _release_pending(self, topic: _TopicState) -> None:
        for pending in self._take_pending(topic):
            self._accumulator.used_bytes -= pending.size
            try:
                pending.put(*pending.arguments)
            except Exception as error:
                reject_records(pending.receipt, error, self._lost_records)
        topic.none_pending.fire(None)
        self._sender.settled()

    def _drop_pending(self, topic: _TopicState, error: Exception) -> None:
        self._fail_pending(topic, self._take_pending(topic), error)

    def _take_pending(self, topic: _TopicState) -> Sequence[_Pending]:
        pending, topic.pending = topic.pending, deque()
        if topic.timer is not None:
            topic.timer.cancel()
            topic.timer = None
        return pending

    def _fail_pending(self, topic: _TopicState, failed: Sequence[_Pending], error: Exception) -> None:
        for pending in failed:
            self._accumulator.used_bytes -= pending.size
        for pending in failed:
            reject_records(pending.receipt, error, self._lost_records)
        if not topic.pending:
            topic.none_pending.fire(None)
        self._sender.settled()

    def _changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        """Take over new numbers of partitions."""
        for topic in self._topics.values():
            metadata = new.topics.get(topic.name)
            if topic.partitions and metadata is not None and metadata.usable:
                topic.partitions = len(metadata.partitions)

    async def wait_for_topics(self) -> None:
        """Wait until all records that wait for metadata now are in batches or have failed."""
        for waiting in [topic.none_pending.wait() for topic in self._topics.values() if topic.pending]:
            await waiting

    def close(self, error: KafkaTXError) -> None:
        """Fail the records that still wait for metadata."""
        self._unlisten()
        topics = list(self._topics.values())
        for lookup in list(self._lookups):
            lookup.cancel()
        for topic in topics:
            self._drop_pending(topic, error)

    def drop_pending(self, error: KafkaTXError) -> None:
        """Fail the records that wait for metadata; later ones may wait for it."""
        for topic in list(self._topics.values()):
            self._drop_pending(topic, error)


def _check_partition(topic: _TopicState, partition: int) -> None:
    if not 0 <= partition < topic.partitions:
        raise RequestError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{topic.name} has no partition {partition}: there are {topic.partitions}, from 0 on",
        )
