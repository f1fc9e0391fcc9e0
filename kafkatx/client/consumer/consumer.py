"""The consumer: records of partitions, or of a group's share of topics."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.client.consumer.assembly import ConsumerAssembly
from kafkatx.client.consumer.group.membership import Membership
from kafkatx.client.consumer.iterators import BlockingStream, records
from kafkatx.client.consumer.processor import Processor
from kafkatx.client.deferreds import client_cluster, deferred
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import ClientClosed, CommitFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST, OffsetAndTimestamp
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.networkclient.offsets import offsets_of
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.types import TopicPartition

CLOSE_S = 30.0


class Consumer:
    """Gives records of topics that a group shares (:meth:`subscribe`) or of partitions (:meth:`assign`)::

        consumer = Consumer(bootstrap_servers="127.0.0.1:9092", group_id="mine")
        consumer.subscribe(["events"])
        await consumer.start()
        async for record in consumer:
            print(record.value)

    There are four ways to have them: ``async for``, :meth:`getmany` and :meth:`getone`, :meth:`process`,
    which calls a function, and :meth:`stream` in a thread. One of them at a time.

    What is handed out counts as done when more is asked for. Automatic commits (``enable.auto.commit``)
    commit what is done, :meth:`commit` all that was handed out. Heartbeats go on by themselves while the
    reactor runs. Used from the reactor's thread only, but for the iteration over :meth:`stream`.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] = MappingProxyType({}),
        *,
        reactor: Any = None,
        cluster: Cluster | None = None,
        **more: Any,
    ) -> None:
        """Make it; :meth:`start` connects.

        :param settings: by Kafka's names, with dots or underscores; *more* likewise.
        :param reactor: None: the cluster's, or the one that is installed.
        :param cluster: one to share; it is not closed with the consumer.
        :raises SettingError: a setting is unknown or has a bad value.
        """
        self.settings, self.cluster = client_cluster("consumer", {**settings, **more}, reactor, cluster)
        self._owns_cluster = cluster is None
        self._parts = ConsumerAssembly(self.settings, self.cluster)
        self._subscriptions = self._parts.subscriptions
        self._max_poll_records = self.settings[consumer.MAX_POLL_RECORDS]
        self._isolation_level = int(self.settings[consumer.ISOLATION_LEVEL] == "read_committed")
        self._subscribed = False
        self._ending: SharedCall[None] = SharedCall()
        self._closed = self._ended = False

    # -- beginning and end

    @deferred
    async def start(self) -> Consumer:
        """Connect, and begin to fetch.

        Fires with the consumer; fails with ConnectionFailed if no broker answers: then :meth:`close` it.
        """
        self._check_open()
        await self.cluster.start()
        self._check_open()
        self._parts.start()
        return self

    def close(self, timeout_s: float = CLOSE_S) -> Deferred[None]:
        """Hand out nothing more, commit where that is automatic, leave the group, close the connections.

        What was handed out is taken for done, unless it is still in the function of :meth:`process`, which is
        waited for. Whoever waits for records gets ClientClosed; ``async for`` and streams end.

        :param timeout_s: after this whatever is left is given up: a function that is at work, say.
        :return: fires when that is done.
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

    # -- which partitions

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        pattern: str | re.Pattern[str] | None = None,
        listener: Any = None,
    ) -> None:
        """Share these topics with the members of the group, instead of those before.

        :param pattern: a regular expression that whole names match, in place of topics.
        :param listener: as :class:`~kafkatx.client.consumer.group.rebalance.RebalanceListener`; it may lack
            methods.
        :raises KafkaTXError: there is no ``group.id``; partitions are assigned by :meth:`assign`.
        :raises ValueError: both topics and pattern are given, or none.
        """
        self._check_open()
        if self._subscriptions.assigned_partitions and not self._subscribed:
            raise KafkaTXError("partitions are assigned by hand: unsubscribe() first")
        self._group().subscribe(topics, pattern)
        self._subscribed = True
        self._parts.rebalance_callbacks.listener = listener

    @deferred
    async def unsubscribe(self) -> None:
        """Leave the group, or give up what :meth:`assign` has assigned; fires when that is done."""
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
        """Read these partitions, instead of those before, whoever else does.

        :raises KafkaTXError: topics are subscribed to.
        """
        self._check_open()
        if self._subscribed:
            raise KafkaTXError("topics are subscribed to: unsubscribe() first")
        places = {TopicPartition(*place) for place in partitions}
        self.cluster.track({place.topic for place in places}, self)
        self._subscriptions.remove_partitions(self._subscriptions.assigned_partitions - places)
        self._parts.assign(sorted(places))

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that it reads."""
        return self._subscriptions.assigned_partitions

    # -- where in them

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on from an offset; what was read ahead is dropped.

        A fetch that waits at the end of the log is not interrupted, as by Apache Kafka's consumer: a broker
        answers requests of a connection in their order. So the first record may take ``fetch.max.wait.ms``
        to come (500 ms), as after :meth:`resume` and :meth:`assign`. Give that less where seeks are many.

        :raises NotAssigned: the consumer does not have the partition.
        """
        if offset < 0:
            raise ValueError(f"offset {offset}: 0 or more, or use seek_to_beginning and seek_to_end")
        self._subscriptions[partition].seek(offset)
        self._parts.partitions_changed()

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on from the first record that there is; without arguments in all partitions."""
        self._seek_to(partitions, EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on behind the last record that there is; without arguments in all partitions."""
        self._seek_to(partitions, LATEST)

    def _seek_to(self, partitions: Iterable[TopicPartition], begin: int) -> None:
        for position in [
            self._subscriptions[place] for place in partitions or self._subscriptions.assigned_partitions
        ]:
            position.request_offset_reset(begin)
        self._parts.partitions_changed()

    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out nothing more of these until :meth:`resume`; they stay assigned."""
        for position in [self._subscriptions[place] for place in partitions]:
            position.paused = True
            position.interrupt_delivery()

    def resume(self, *partitions: TopicPartition) -> None:
        """Hand out records of these again."""
        for position in [self._subscriptions[place] for place in partitions]:
            position.paused = False
            position.buffer.enqueue(position)
        self._parts.partitions_changed()

    def paused(self) -> frozenset[TopicPartition]:
        """Those that :meth:`pause` has stopped."""
        return frozenset(position.topic_partition for position in self._subscriptions if position.paused)

    @deferred
    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record to be handed out; waits until it is known.

        Fails with NotAssigned, or with the error that keeps it from being known. A listener may ask for what
        :meth:`close` revokes, too.
        """
        self._check_not_ended()
        position = self._subscriptions[partition]
        await self._parts.offset_resolver.wait_resolved(position)
        return position.position

    def highwater(self, partition: TopicPartition) -> int:
        """The end of a partition's log (exclusive) as the last fetch told it; -1: none did yet.

        :raises NotAssigned: the consumer does not have the partition.
        """
        return self._subscriptions[partition].high_watermark

    # -- commits

    @deferred
    async def commit(self, offsets: Mapping[TopicPartition, int | OffsetAndMetadata] | None = None) -> None:
        """Commit offsets: those of the next records, of all that was handed out unless others are given.

        Fires when the group has them. Fails with CommitFailed where others have the partitions now, with
        RequestError, or with ConnectionFailed. A consumer that was put out of its group, by
        ``max.poll.interval.ms`` say, has no partitions any more: the next call without arguments fails with
        CommitFailed and names those that it had. A listener may commit what is revoked by :meth:`close`, too.
        """
        self._check_not_ended()
        if offsets is None:
            self._check_nothing_forfeited()
            wanted = self._subscriptions.positions()
        else:
            wanted = {
                TopicPartition(*place): at if isinstance(at, OffsetAndMetadata) else OffsetAndMetadata(at)
                for place, at in offsets.items()
            }
        await self._group().commit(wanted)

    def _check_nothing_forfeited(self) -> None:
        """Raise CommitFailed, once, where partitions were lost since records of them were handed out."""
        lost = self._parts.rebalance_callbacks.lost_partitions
        if lost:
            names = ", ".join(map(str, sorted(lost)))
            lost.clear()
            raise CommitFailed(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"no offset of {names} was committed: this consumer was put out of its group, and others "
                "have the partitions; give max.poll.interval.ms more, or max.poll.records less",
            )

    @deferred
    async def committed(self, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None where that is nothing."""
        self._check_not_ended()
        return await self._group().fetch_committed([TopicPartition(*place) for place in partitions])

    def _group(self) -> Membership:
        if self._parts.membership is None:
            raise KafkaTXError("there is no group: set group.id")
        return self._parts.membership

    # -- what logs have

    @deferred
    async def beginning_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        """The first offset of each partition."""
        return await self._offsets(dict.fromkeys(partitions, EARLIEST))

    @deferred
    async def end_offsets(self, *partitions: TopicPartition) -> dict[TopicPartition, int]:
        """The offset that each partition's next record gets; with read_committed the last stable offset."""
        return await self._offsets(dict.fromkeys(partitions, LATEST))

    async def _offsets(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        self._check_open()
        found = await offsets_of(self.cluster, timestamps, self._isolation_level)
        return {place: at.offset for place, at in found.items()}

    @deferred
    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition at or after a time (ms); None where there is none."""
        self._check_open()
        found = await offsets_of(self.cluster, timestamps, self._isolation_level)
        return {place: at if at.offset >= 0 else None for place, at in found.items()}

    # -- records

    @deferred
    async def getmany(
        self, max_records: int | None = None, timeout_ms: int | None = 0
    ) -> dict[TopicPartition, list[Record]]:
        """The next records, by partition.

        :param max_records: at most so many in all; None: ``max.poll.records``.
        :param timeout_ms: how long to wait for some; None: for ever.
        :return: fires with none after the time-out. Fails with what stands in their place, and with
            ClientClosed. Cancelling it loses nothing.
        """
        limit = self._max_poll_records if max_records is None else max_records
        return await self._parts.poller.poll(limit, None if timeout_ms is None else timeout_ms / 1000)

    @deferred
    async def getone(self) -> Record:
        """The next record, whenever it comes; otherwise as :meth:`getmany`."""
        (found,) = (await self._parts.poller.poll(1, None)).values()
        return found[0]

    def __aiter__(self) -> AsyncIterator[Record]:
        """Give records for ever; see the class. Raises what stands in place of one."""
        return records(self._parts.poller, self._max_poll_records)

    def stream(self) -> BlockingStream:
        """An endless iterator for a thread other than the reactor's: it waits for records."""
        return BlockingStream(self._parts.reactor, self._parts.poller, self._max_poll_records)

    def next_delivery(self) -> Deferred[Delivery]:
        """The next records of one partition, to be given one by one; for iterators of other kinds.

        Whoever has it does as :func:`~kafkatx.client.consumer.iterators.records` does.
        """
        return Deferred.fromCoroutine(self._parts.poller.next_delivery(self._max_poll_records))

    def process(
        self, function: Callable[[Any], Any], *, batches: bool = False, max_records: int | None = None
    ) -> Deferred[None]:
        """Call a function with each record until the consumer is closed.

        Records of one partition come one after the other, those of several at the same time: the next comes
        when the Deferred or coroutine that the function returned is done. No more is read ahead meanwhile
        than settings allow.

        :param batches: call it with lists of records of one partition.
        :param max_records: of such a list; None: ``max.poll.records``.
        :return: fires when the consumer is closed. Fails with what the function fails with: the record is not
            done then, and is the next of its partition. Cancelling it, from wherever, ends the processing
            after the present records: it fails with CancelledError when the function is done with them.
            Cancelling it once more cancels what the function waits for.
        """
        parts = self._parts
        processor = Processor(
            parts.reactor,
            self._subscriptions,
            parts.poller,
            function,
            batches=batches,
            limit=self._max_poll_records if max_records is None else max_records,
            alive=parts.report_activity,
        )
        return parts.process(processor)
