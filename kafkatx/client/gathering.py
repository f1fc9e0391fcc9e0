"""Where records go in: which partition each goes to, and where they wait until its topic is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.python.failure import Failure

from kafkatx.client.cluster import Cluster
from kafkatx.client.receipts import ListReceipt
from kafkatx.client.sending import Sender
from kafkatx.client.waiting import Waiters
from kafkatx.clientside.accumulator import Accumulator
from kafkatx.clientside.batches import RECORD_OVERHEAD_BYTES
from kafkatx.clientside.metadata import ClusterMetadata
from kafkatx.clientside.outbox import Outbox
from kafkatx.errors import ErrorCode, KafkaTXError, RequestError

Headers = Sequence[tuple[str, bytes | None]]


class Topic:
    """A topic that records are sent to; ``partitions`` is 0 until the cluster has said how many.

    ``pending`` is what was to be sent before that, in order: the room it takes, what enqueues it, and whom to
    tell if that cannot be.
    """

    __slots__ = ("name", "outboxes", "partitions", "pending")

    def __init__(self, name: str) -> None:
        self.name = name
        self.partitions = 0
        self.outboxes: dict[int, Outbox] = {}
        self.pending: list[tuple[int, Callable[[], None], Deferred[Any]]] = []


class Gathering:
    """Puts encoded records into an accumulator.

    :param ignore_keys: let the partitioner choose as if there were none.
    :param sync: send each call's records before it returns.
    """

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator,
        sender: Sender,
        partitioner: Any,
        *,
        ignore_keys: bool = False,
        sync: bool = False,
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._sender = sender
        self._partitioner = partitioner
        self._ignore_keys = ignore_keys
        self._sync = sync
        self._seconds: Callable[[], float] = cluster.reactor.seconds
        self._topics: dict[str, Topic] = {}
        self._learning: set[Deferred[Any]] = set()
        self._learned: Waiters[None] = Waiters()
        self._unlisten = cluster.on_metadata(self._changed)

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
        waiting: Deferred[Any],
        now_s: float,
    ) -> None:
        """Add one record to its partition's open batch, at once or when the topic is known.

        :param size: the room it takes.
        :raises TypeError: key, value or a header is not bytes.
        :raises RequestError: there is no such partition.
        """
        topic = self._topics.get(name)
        if topic is None or not topic.partitions:
            topic = topic or self._learn(name)

            def put() -> None:
                then_s = self._seconds()
                self.put(name, key, value, partition, headers, timestamp_ms, size, waiting, then_s)

            self._postpone(topic, size, put, waiting)
            return
        outbox = self._outbox(topic, key, partition, size)
        if self._accumulator.append(outbox, key, value, timestamp_ms, headers, waiting, now_s):
            self._wake(outbox)

    def put_values(
        self,
        name: str,
        key: bytes | None,
        values: Sequence[bytes],
        partition: int | None,
        timestamp_ms: int,
        receipt: ListReceipt,
    ) -> None:
        """Add a list to one partition's outbox; as :meth:`put`."""
        topic = self._topics.get(name)
        if topic is None or not topic.partitions:
            topic = topic or self._learn(name)
            values = list(values)  # the caller may change it meanwhile
            size = sum(map(len, values)) + RECORD_OVERHEAD_BYTES * len(values)

            def put() -> None:
                self.put_values(name, key, values, partition, timestamp_ms, receipt)

            self._postpone(topic, size, put, receipt.deferred)
            return
        accumulator = self._accumulator
        size = sum(map(len, values)) if partition is None and topic.partitions > 1 else 0
        outbox = self._outbox(topic, key, partition, size)
        now_s = self._seconds()
        if key is None:
            for _ in range(1, accumulator.append_values(outbox, values, timestamp_ms, receipt, now_s)):
                receipt.cut()
        else:
            b"".join((key, *values))  # raises before the first is added if the last cannot be
            for number, value in enumerate(values):
                accumulator.append(outbox, key, value, timestamp_ms, (), receipt, now_s)
                if number:
                    receipt.cut()
        self._wake(outbox)

    def _outbox(self, topic: Topic, key: bytes | None, partition: int | None, size: int) -> Outbox:
        """Where records that take *size* bytes go.

        :raises RequestError: there is no such partition.
        """
        if partition is not None:
            return self._box(topic, partition)
        if self._ignore_keys:
            key = None
        name, partitions = topic.name, topic.partitions
        outbox = self._box(topic, self._partitioner.partition(name, key, partitions))
        if key is None and partitions > 1 and not self._accumulator.fits(outbox, size):
            # A sticky partitioner chooses anew when a batch is full, and the record goes elsewhere (KIP-480).
            self._accumulator.full_up(outbox)
            outbox = self._box(topic, self._partitioner.partition(name, key, partitions))
        return outbox

    def _box(self, topic: Topic, partition: int) -> Outbox:
        outbox = topic.outboxes.get(partition)
        if outbox is None or partition >= topic.partitions:
            _check_partition(topic, partition)
            outbox = topic.outboxes[partition] = self._accumulator.outbox(topic.name, partition)
        return outbox

    def _wake(self, outbox: Outbox) -> None:
        """See to it that the sender looks in time."""
        accumulator = self._accumulator
        if self._sync:
            self._sender.turn()
        elif outbox.waiting or not accumulator.limits.linger_s:
            self._sender.wake()
        elif outbox.open is not None:
            if outbox.open.size_bytes >= accumulator.limits.batch_bytes:
                self._sender.wake()
            else:
                self._sender.wake_at(outbox.open.due_s)

    # -- topics

    def _learn(self, name: str) -> Topic:
        """Ask how many partitions a topic has."""
        topic = self._topics[name] = Topic(name)
        asking: Deferred[Any] = Deferred.fromCoroutine(self._cluster.topic(name))
        self._learning.add(asking)

        def known(metadata: Any) -> None:
            topic.partitions = len(metadata.partitions)
            self._put_pending(topic)

        def unknown(failure: Failure) -> None:
            self._topics.pop(name, None)
            if not failure.check(CancelledError):
                self._drop_pending(topic, failure)

        def over(_: object) -> None:
            self._learning.discard(asking)
            if not self._learning:
                self._learned.fire(None)

        asking.addCallbacks(known, unknown).addBoth(over)
        return topic

    def _postpone(self, topic: Topic, size: int, put: Callable[[], None], waiting: Deferred[Any]) -> None:
        if topic.partitions:  # it was known at once
            put()
            return
        self._accumulator.used_bytes += size
        topic.pending.append((size, put, waiting))

    def _put_pending(self, topic: Topic) -> None:
        pending, topic.pending = topic.pending, []
        for size, put, waiting in pending:
            self._accumulator.used_bytes -= size
            try:
                put()
            except Exception:
                waiting.errback(Failure())
        self._sender.settled()

    def _drop_pending(self, topic: Topic, error: Failure | KafkaTXError) -> None:
        pending, topic.pending = topic.pending, []
        for size, _, _ in pending:
            self._accumulator.used_bytes -= size
        for _, _, waiting in pending:
            waiting.errback(error)
        self._sender.settled()

    def _changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        """Topics may have more partitions than before."""
        for topic in self._topics.values():
            told = new.topics.get(topic.name)
            if topic.partitions and told is not None and told.usable:
                topic.partitions = len(told.partitions)

    def learned(self) -> Deferred[None]:
        """Fires when nothing waits for its topic any more."""
        return self._learned.wait() if self._learning else succeed(None)

    def close(self, error: KafkaTXError) -> None:
        """What still waits for its topic fails."""
        self._unlisten()
        topics = list(self._topics.values())
        for asking in list(self._learning):
            asking.cancel()
        for topic in topics:
            self._drop_pending(topic, error)


def _check_partition(topic: Topic, partition: int) -> None:
    if not 0 <= partition < topic.partitions:
        raise RequestError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"{topic.name} has no partition {partition}: there are {topic.partitions}, from 0 on",
        )
