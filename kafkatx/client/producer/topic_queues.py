"""Where records go in: which partition each goes to, and where they wait until its topic is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.producer.receipts import ListReceipt, LostRecords, reject_records
from kafkatx.client.producer.sender import Sender
from kafkatx.clientcore.errors import RequestTimedOut
from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.batch import RECORD_OVERHEAD_BYTES, ProducerBatch
from kafkatx.clientcore.producer.partition_queue import PartitionQueue
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError
from kafkatx.names import check_topic_name
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.waiters import Waiters
from kafkatx.partitioners import DefaultPartitioner

Headers = Sequence[tuple[str, bytes | None]]


class _Pending(NamedTuple):
    """Records whose topic is not known yet. ``size``: the room they take."""

    until_s: float
    size: int
    receipt: Any
    put: Callable[..., None]
    arguments: tuple[Any, ...]


class Topic:
    """A topic that records are sent to; ``partitions`` is 0 until the cluster has said how many.

    :ivar pending: what was to be sent before that, in order.
    :ivar none_pending: fires when nothing is pending any more.
    :ivar error: why it could not be wait_for_topics.
    :ivar lookup_deadline_s: when the lookup ends at the latest.
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
        self.timer: Any = None


class TopicQueues:
    """Puts encoded records into an accumulator.

    :ivar open_batches: by topic, the batch that its next record without a key goes to, where the partitioner
        is known to stick to it.
    :param ignore_keys: let the partitioner choose as if there were none.
    :param sync: each call's records are batches of their own, sent before it returns.
    :param block_s: how long records may wait for their topic.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        sender: Sender,
        partitioner: Any,
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
        self._is_sticky = type(partitioner) is DefaultPartitioner and not sync
        self._lost_records = lost_records
        self._block_s = block_s
        self._ignore_keys = ignore_keys
        self._sync = sync
        self._held: dict[PartitionQueue, None] | None = None
        self._seconds: Callable[[], float] = cluster.reactor.seconds
        self._topics: dict[str, Topic] = {}
        self._lookups: set[Deferred[Any]] = set()
        self._unlisten = cluster.on_metadata(self._changed)
        accumulator.closed = self._batch_closed

    # -- in

    def put(
        self,
        name: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        headers: Headers,
        timestamp_ms: int,
        size: int,
        receipt: Any,
        until_s: float | None = None,
    ) -> None:
        """Add one record to its partition's open batch, at once or when the topic is known.

        :param size: the room it takes.
        :param receipt: None: nobody waits for it.
        :param until_s: how long it may wait for its topic; None: as long as from now on any record may.
        :raises TypeError: key, value or a header is not bytes.
        :raises RequestError: there is no such partition, or no such topic.
        """
        topic = self._topics.get(name)
        if topic is None or not topic.partitions:
            topic = topic or self._look_up(name)
            if not topic.partitions:
                arguments = (name, key, value, partition, headers, timestamp_ms, size, receipt)
                self._add_pending(topic, size, receipt, self.put, arguments, until_s)
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
        until_s: float | None = None,
    ) -> None:
        """Add a list to one partition's queue; as :meth:`put`."""
        topic = self._topics.get(name)
        if topic is None or not topic.partitions:
            topic = topic or self._look_up(name)
            if not topic.partitions:
                values = list(values)  # the caller may change it meanwhile
                size = sum(map(len, values)) + RECORD_OVERHEAD_BYTES * len(values)
                arguments = (name, key, values, partition, timestamp_ms, receipt)
                self._add_pending(topic, size, receipt, self.put_values, arguments, until_s)
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

    def _queue(self, topic: Topic, key: bytes | None, partition: int | None, size: int) -> PartitionQueue:
        """Where records that take *size* bytes go.

        :raises RequestError: there is no such partition.
        """
        if partition is not None:
            return self._queue_at(topic, partition)
        if self._ignore_keys:
            key = None
        name, partitions = topic.name, topic.partitions
        queue = self._queue_at(topic, self._partitioner.partition(name, key, partitions))
        if key is None and partitions > 1 and not self._accumulator.fits(queue, size):
            # A sticky partitioner chooses anew when a batch is full, and the record goes elsewhere (KIP-480).
            self._accumulator.close(queue)
            self._wake(queue)
            queue = self._queue_at(topic, self._partitioner.partition(name, key, partitions))
        return queue

    def _queue_at(self, topic: Topic, partition: int) -> PartitionQueue:
        queue = topic.queues.get(partition)
        if queue is None or partition >= topic.partitions:
            _check_partition(topic, partition)
            queue = topic.queues[partition] = self._accumulator.queue(topic.name, partition)
        return queue

    def _batch_closed(self, name: str) -> None:
        """A batch of the topic is closed: the next record without a key may go elsewhere."""
        self.open_batches.pop(name, None)
        try:
            self._partitioner.batch_sent(name)
        except Exception:
            self._log.failure("a partitioner's batch_sent failed")

    # -- when it is sent

    def hold(self) -> None:
        """Send nothing until :meth:`release`: what comes until then goes together."""
        self._held = {}

    def release(self) -> None:
        """Send as :meth:`put` would have done since :meth:`hold`."""
        held, self._held = self._held, None
        for queue in held or ():
            self._accumulator.close(queue)
        if held:
            self._sender.run_once()

    def _wake(self, queue: PartitionQueue) -> None:
        """See to it that the sender looks in time."""
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

    # -- topics

    def _look_up(self, name: str) -> Topic:
        """Ask how many partitions a topic has.

        :raises RequestError: INVALID_TOPIC_EXCEPTION, no topic can have this name.
        :raises Exception: it is known at once that it cannot be wait_for_topics.
        """
        check_topic_name(name)
        topic = self._topics[name] = Topic(name, self._seconds() + self._cluster.api_timeout_s)
        asking: Deferred[Any] = Deferred.fromCoroutine(self._cluster.topic(name))
        self._lookups.add(asking)

        def known(metadata: Any) -> None:
            topic.partitions = len(metadata.partitions)
            self._release_pending(topic)

        def unknown(failure: Failure) -> None:
            self._topics.pop(name, None)
            if not failure.check(CancelledError):
                error: Any = failure.value
                topic.error = error
                self._drop_pending(topic, error)

        def bug(failure: Failure) -> None:
            self._log.failure("records that waited for a topic could not be enqueued", failure)

        def over(result: Any) -> Any:
            self._lookups.discard(asking)
            return result

        asking.addBoth(over).addCallbacks(known, unknown).addErrback(bug)
        if topic.error is not None:
            raise topic.error
        return topic

    def _add_pending(
        self,
        topic: Topic,
        size: int,
        receipt: Any,
        put: Callable[..., None],
        arguments: tuple[Any, ...],
        until_s: float | None,
    ) -> None:
        if until_s is None:
            until_s = self._seconds() + self._block_s
        self._accumulator.used_bytes += size
        topic.pending.append(_Pending(until_s, size, receipt, put, arguments))
        if topic.timer is None and until_s < topic.lookup_deadline_s:
            self._set_timer(topic)

    def _set_timer(self, topic: Topic) -> None:
        """Look at a topic's oldest record when it must not wait any longer."""
        seconds = max(0.0, topic.pending[0].until_s - self._seconds())
        topic.timer = self._reactor.callLater(seconds, self._expire_pending, topic)

    def _expire_pending(self, topic: Topic) -> None:
        """Give up the records that have waited for ``max.block.ms``; the lookup may take longer."""
        topic.timer = None
        now_s = self._seconds()
        late = []
        while topic.pending and topic.pending[0].until_s <= now_s:
            late.append(topic.pending.popleft())
        if topic.pending:
            self._set_timer(topic)
        error = RequestTimedOut(
            f"the partitions of topic {topic.name!r} could not be wait_for_topics within {self._block_s:g} s"
            " (max.block.ms): no broker has told them"
        )
        self._fail_pending(topic, late, error)

    def _release_pending(self, topic: Topic) -> None:
        for pending in self._take_pending(topic):
            self._accumulator.used_bytes -= pending.size
            try:
                pending.put(*pending.arguments)
            except Exception as error:
                reject_records(pending.receipt, error, self._lost_records)
        topic.none_pending.fire(None)
        self._sender.settled()

    def _drop_pending(self, topic: Topic, error: Exception) -> None:
        self._fail_pending(topic, self._take_pending(topic), error)

    def _take_pending(self, topic: Topic) -> Sequence[_Pending]:
        pending, topic.pending = topic.pending, deque()
        if topic.timer is not None:
            topic.timer.cancel()
            topic.timer = None
        return pending

    def _fail_pending(self, topic: Topic, produce_failure: Sequence[_Pending], error: Exception) -> None:
        for pending in produce_failure:
            self._accumulator.used_bytes -= pending.size
        for pending in produce_failure:
            reject_records(pending.receipt, error, self._lost_records)
        if not topic.pending:
            topic.none_pending.fire(None)
        self._sender.settled()

    def _changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        """Topics may have more partitions than before."""
        for topic in self._topics.values():
            told = new.topics.get(topic.name)
            if topic.partitions and told is not None and told.usable:
                topic.partitions = len(told.partitions)

    async def wait_for_topics(self) -> None:
        """Wait until the records that wait for their topic now are put into batches, or given up."""
        for waiting in [topic.none_pending.wait() for topic in self._topics.values() if topic.pending]:
            await waiting

    def close(self, error: KafkaTXError) -> None:
        """Fail what still waits for its topic."""
        self._unlisten()
        topics = list(self._topics.values())
        for asking in list(self._lookups):
            asking.cancel()
        for topic in topics:
            self._drop_pending(topic, error)


def _check_partition(topic: Topic, partition: int) -> None:
    if not 0 <= partition < topic.partitions:
        raise RequestError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{topic.name} has no partition {partition}: there are {topic.partitions}, from 0 on",
        )
