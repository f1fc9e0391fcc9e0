"""The consumer: reads partitions, assigned by the application or by a consumer group."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from kafkatx.client.consumer.assembly import ConsumerAssembly
from kafkatx.client.consumer.group.membership import Membership
from kafkatx.client.consumer.iterators import BlockingStream, records
from kafkatx.client.consumer.processor import Processor
from kafkatx.client.deferreds import client_cluster, deferred
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.group.offsets import ConsumerGroupMetadata, OffsetAndMetadata
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST, OffsetAndTimestamp
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.offsets import offsets_of
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.types import TopicPartition

CLOSE_S = 30.0


class Consumer:
    """Reads topics as a member of a group (:meth:`subscribe`), or assigned partitions (:meth:`assign`)::

        consumer = Consumer(bootstrap_servers="127.0.0.1:9092", group_id="mine")
        consumer.subscribe(["events"])
        await consumer.start()
        async for record in consumer:
            print(record.value)

    There are four ways to get records, one at a time: ``async for``; :meth:`getmany` and :meth:`getone`;
    :meth:`process`, which calls a function; and :meth:`stream`, for a thread.

    Delivered records count as processed when more are asked for. Automatic commits (``enable.auto.commit``)
    commit processed records, :meth:`commit` commits all delivered ones. Heartbeats are sent while the reactor
    runs. All methods must be called in the reactor's thread; only the iterator of :meth:`stream` is for
    another one.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] = MappingProxyType({}),
        *,
        reactor: IReactorTime | None = None,
        cluster: Cluster | None = None,
        **more: Any,
    ) -> None:
        """Create the consumer; :meth:`start` connects.

        :param settings: settings by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the installed one.
        :param cluster: a cluster to share; it is not closed with the consumer.
        :raises SettingError: a setting is unknown or has an invalid value.
        """
        self.settings, self.cluster = client_cluster("consumer", settings, more, reactor, cluster)
        self._owns_cluster = cluster is None
        self._parts = ConsumerAssembly(self.settings, self.cluster)
        self._subscriptions = self._parts.subscriptions
        self._max_poll_records = self.settings[consumer.MAX_POLL_RECORDS]
        self._isolation_level = int(self.settings[consumer.ISOLATION_LEVEL] == "read_committed")
        self._subscribed = False
        self._ending: SharedCall[None] = SharedCall()
        self._closed = self._ended = False

    # -- start and close

    @deferred
    async def start(self) -> Consumer:
        """Connect, and start to fetch. Calls for records before that fail with NotStarted.

        Fires with the consumer; fails with ConnectionFailed if no broker answers: :meth:`close` it then.
        """
        self._check_open()
        self._parts.poller.start()
        await self.cluster.start()
        self._check_open()
        self._parts.start()
        return self

    def close(self, timeout_s: float = CLOSE_S) -> Deferred[None]:
        """Stop delivering records, commit if ``enable.auto.commit``, leave the group and disconnect.

        Delivered records count as processed, except those in the function of :meth:`process`, which is waited
        for. Pending calls for records fail with ClientClosed; ``async for`` and streams end.

        :param timeout_s: what is not done by then, a running function for example, is given up.
        :return: fires when the consumer is closed.
        """
        if self._closed:
            return self._ending.wait("close", self._nothing)
        self._closed = True
        return self._ending.wait("close", lambda: self._close(timeout_s))

    async def _close(self, timeout_s: float) -> None:
        try:
            await self._parts.close(timeout_s)
        finally:
            self._ended = True
            self.cluster.untrack(self)
            if self._owns_cluster:
                await self.cluster.close()

    async def _nothing(self) -> None:
        pass

    def _check_not_ended(self) -> None:
        if self._ended:
            raise ClientClosed("the consumer is closed")

    def _check_open(self) -> None:
        if self._closed:
            raise ClientClosed("the consumer is closed")

    # -- assignment

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        listener: object = None,
    ) -> None:
        """Join the group with these topics, which replace earlier ones.

        :param pattern: a regular expression that must match whole topic names, in place of *topics*.
        :param listener: a :class:`~kafkatx.client.consumer.group.rebalance.RebalanceListener`, or an object
            with some of its methods.
        :raises KafkaTXError: there is no ``group.id``; or partitions are assigned by :meth:`assign`.
        :raises ValueError: both topics and pattern are given, or neither.
        """
        self._check_open()
        if self._subscriptions.assigned_partitions and not self._subscribed:
            raise KafkaTXError("partitions are assigned by assign(): unsubscribe() first")
        self._group().subscribe(topics, pattern)
        self._subscribed = True
        self._parts.rebalance_callbacks.listener = listener

    @deferred
    async def unsubscribe(self) -> None:
        """Leave the group, or drop the partitions of :meth:`assign`; fires when that is done."""
        self._check_open()
        if self._subscribed:
            self._subscribed = False
            self._subscriptions.mark_processed()
            self._parts.poller.processed.fire(None)
            await self._group().unsubscribe()
        self.cluster.untrack(self)
        self._subscriptions.remove_partitions(self._subscriptions.assigned_partitions)
        self._parts.partitions_changed()

    def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Read these partitions, which replace earlier ones, without a group.

        :raises KafkaTXError: topics are subscribed to.
        """
        self._check_open()
        if self._subscribed:
            raise KafkaTXError("topics are subscribed to: unsubscribe() first")
        assigned = {TopicPartition(*topic_partition) for topic_partition in partitions}
        self.cluster.track({topic_partition.topic for topic_partition in assigned}, self)
        self._subscriptions.remove_partitions(self._subscriptions.assigned_partitions - assigned)
        self._parts.assign(sorted(assigned))

    def assignment(self) -> frozenset[TopicPartition]:
        """Return the assigned partitions."""
        return self._subscriptions.assigned_partitions

    # -- positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at an offset; drop buffered records.

        A fetch that waits at the end of the log is not interrupted, as in Apache Kafka's consumer: a broker
        answers the requests of a connection in order. So the first record may take ``fetch.max.wait.ms`` (500
        ms) to come, also after :meth:`resume` and :meth:`assign`. Lower that setting if you seek often.

        :raises NotAssigned: the partition is not assigned.
        """
        if offset < 0:
            raise ValueError(
                f"offset {offset}: must be 0 or more; see also seek_to_beginning and seek_to_end"
            )
        self._subscriptions[partition].seek(offset)
        self._parts.partitions_changed()

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue at the first record of the log; without arguments in all partitions."""
        self._seek_to(partitions, EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue after the last record of the log; without arguments in all partitions."""
        self._seek_to(partitions, LATEST)

    def _seek_to(self, partitions: Iterable[TopicPartition], begin: int) -> None:
        for position in [
            self._subscriptions[topic_partition]
            for topic_partition in partitions or self._subscriptions.assigned_partitions
        ]:
            position.request_offset_reset(begin)
        self._parts.partitions_changed()

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop delivering records of these partitions until :meth:`resume`; they stay assigned."""
        for position in [self._subscriptions[topic_partition] for topic_partition in partitions]:
            position.paused = True
            position.interrupt_delivery()

    def resume(self, *partitions: TopicPartition) -> None:
        """Deliver records of these partitions again."""
        for position in [self._subscriptions[topic_partition] for topic_partition in partitions]:
            position.paused = False
            position.buffer.enqueue(position)
        self._parts.partitions_changed()

    def paused(self) -> frozenset[TopicPartition]:
        """Return the paused partitions."""
        return frozenset(position.topic_partition for position in self._subscriptions if position.paused)

    @deferred
    async def position(self, partition: TopicPartition) -> int:
        """Return the offset of the next record to be delivered; waits until it is known.

        Fails with NotStarted, NotAssigned, or with the error that prevents it from being known. A listener
        may also call this while :meth:`close` revokes the partition.
        """
        self._check_not_ended()
        self._parts.poller.check_started()
        position = self._subscriptions[partition]
        await self._parts.offset_resolver.wait_resolved(position)
        return position.position

    def highwater(self, partition: TopicPartition) -> int:
        """Return the partition's high watermark as of the last fetch; -1 before the first one.

        :raises NotAssigned: the partition is not assigned.
        """
        return self._subscriptions[partition].high_watermark

    # -- commits

    @deferred
    async def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None) -> None:
        """Commit offsets; without arguments the positions after all delivered records.

        Fires when they are committed. Fails with NotStarted, with CommitFailed if the partitions are assigned
        to other members now, with RequestError, or with ConnectionFailed. A consumer that was removed from
        its group, by ``max.poll.interval.ms`` for example, has no partitions any more: the next call without
        arguments fails with CommitFailed and names those that it had. A listener may also commit while
        :meth:`close` revokes partitions.
        """
        self._check_not_ended()
        self._parts.poller.check_started()
        if offsets is None:
            self._parts.rebalance_callbacks.check_positions()
            wanted = self._subscriptions.positions()
        else:
            wanted = {
                TopicPartition(*topic_partition): at
                if isinstance(at, OffsetAndMetadata)
                else OffsetAndMetadata(at)
                for topic_partition, at in offsets.items()
            }
        await self._group().commit(wanted)

    @deferred
    async def committed(self, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's committed offsets; None for partitions without one."""
        self._check_not_ended()
        return await self._group().fetch_committed(
            [TopicPartition(*topic_partition) for topic_partition in partitions]
        )

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Return this member's identity, for :meth:`Producer.send_offsets`.

        :raises CommitFailed: it is joining a generation: its partitions may go to other members; or it was
            removed from the group after the last records were delivered: abort, and ask for more.
        :raises KafkaTXError: the consumer has no ``group.id``.
        """
        self._check_not_ended()
        self._parts.rebalance_callbacks.check_delivered()
        return self._group().group_metadata()

    def _group(self) -> Membership:
        if self._parts.membership is None:
            raise KafkaTXError("the consumer has no group: set group.id")
        return self._parts.membership

    # -- offsets of logs

    @deferred
    async def beginning_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        """Return the first offset of each partition."""
        return await self._offsets(dict.fromkeys(partitions, EARLIEST))

    @deferred
    async def end_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        """Return the log end offset of each partition; with read_committed the last stable offset."""
        return await self._offsets(dict.fromkeys(partitions, LATEST))

    async def _offsets(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        self._check_open()
        found = await offsets_of(self.cluster, timestamps, self._isolation_level)
        return {topic_partition: at.offset for topic_partition, at in found.items()}

    @deferred
    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record of each partition at or after a timestamp (ms); None if there is none."""
        self._check_open()
        found = await offsets_of(self.cluster, timestamps, self._isolation_level)
        return {topic_partition: at if at.offset >= 0 else None for topic_partition, at in found.items()}

    # -- records

    @deferred
    async def getmany(
        self, max_records: int | None = None, timeout_ms: int | None = 0
    ) -> dict[TopicPartition, list[Record]]:
        """Return the next records, by partition.

        :param max_records: the most records to return; None: ``max.poll.records``.
        :param timeout_ms: how long to wait for records; None: without limit.
        :return: fires with an empty dict after the timeout. Fails with the error in place of the next record,
            or with ClientClosed. No record is lost if it is cancelled.
        """
        limit = self._max_poll_records if max_records is None else max_records
        return await self._parts.poller.poll(limit, None if timeout_ms is None else timeout_ms / 1000)

    @deferred
    async def getone(self) -> Record:
        """Return the next record; waits without limit, otherwise as :meth:`getmany`."""
        (found,) = (await self._parts.poller.poll(1, None)).values()
        return found[0]

    def __aiter__(self) -> AsyncIterator[Record]:
        """Give records until the consumer is closed. Raises the error in place of a record."""
        return records(self._parts.poller, self._max_poll_records)

    def stream(self) -> BlockingStream:
        """Return an iterator for a thread other than the reactor's; it waits for records."""
        return BlockingStream(self._parts.reactor, self._parts.poller, self._max_poll_records)

    def next_delivery(self) -> Deferred[Delivery]:
        """Return the next records of one partition, to be given out one by one; for other kinds of iterators.

        The caller must iterate as :func:`~kafkatx.client.consumer.iterators.records` does.
        """
        return Deferred.fromCoroutine(self._parts.poller.next_delivery(self._max_poll_records))

    def process(
        self, function: Callable[[Any], object], *, batches: bool = False, max_records: int | None = None
    ) -> Deferred[None]:
        """Call a function with each record until the consumer is closed.

        Records of one partition are passed one after another, those of several partitions concurrently. If
        the function returns a Deferred or a coroutine, the partition's next record waits for it. Meanwhile no
        more is buffered than the settings allow.

        :param batches: call the function with lists of records of one partition.
        :param max_records: the most records in such a list; None: ``max.poll.records``.
        :return: fires when the consumer is closed. Fails with the function's error: the record is not
            processed then, and is the next of its partition. Cancelling it ends the processing after the
            current records: it fails with CancelledError when the function is done with them. Cancelling it
            again cancels the Deferreds that the function returned.
        """
        parts = self._parts
        processor = Processor(
            parts.reactor,
            self._subscriptions,
            parts.poller,
            function,
            batches=batches,
            limit=self._max_poll_records if max_records is None else max_records,
            report_activity=parts.report_activity,
        )
        return parts.process(processor)
