"""A source: one consumer for all its partitions, the topics that it has, and the streams that copy them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.client.admin.admin import Admin
from kafkatx.client.consumer.consumer import Consumer
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.errors import (
    ClientClosed,
    LogTruncation,
    NoOffset,
    OffsetOutOfRange,
    UnreadableBatch,
    retriable,
)
from kafkatx.clientcore.list_offsets import EARLIEST, LATEST
from kafkatx.clientcore.metadata import NO_TOPIC_ID, ClusterMetadata, TopicMetadata
from kafkatx.errors import KafkaTXError, RequestError, SettingError
from kafkatx.mirror.copy.connect import connect
from kafkatx.mirror.copy.stream import Stream, StreamOptions
from kafkatx.mirror.copy.target import Target
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.mirror.settings import SourceSettings
from kafkatx.networkclient.offsets import offsets_of
from kafkatx.networkclient.waiters import Waiters
from kafkatx.types import TopicPartition

TAKEN_RECORDS = 20_000
"""The most records that are taken from the consumer at once."""

PAUSE_S = 1.0
CLOSE_S = 5.0

Keep = Callable[[Record], bool]


class Source:
    """One cluster that is copied from.

    :ivar streams: by partition of the source.
    :ivar cluster_id: of the source; its alias, if its brokers have none (before Kafka 0.10.1).
    :ivar admin: shares the consumer's connections.
    """

    _log = Logger()

    def __init__(
        self,
        settings: SourceSettings,
        target: Target,
        keep: Keep | None,
        options: StreamOptions,
        buffer_bytes: int,
        topic_configs: tuple[str, ...],
        reactor: IReactorTime,
    ) -> None:
        self.settings = settings
        self.alias = settings.alias
        self.cluster_id = ""
        self.streams: dict[TopicPartition, Stream] = {}
        self._consumer = Consumer(settings.consumer, reactor=reactor)
        self.admin = Admin(cluster=self._consumer.cluster)
        self._target = target
        self._keep = keep
        self._options = options
        self._topic_configs = topic_configs
        self._reactor = reactor
        self._isolation = int(settings.consumer["isolation.level"] == "read_committed")
        self._assigned: set[TopicPartition] = set()
        self._queued_bytes = 0
        self._buffer_bytes = buffer_bytes
        self._room: Waiters[None] = Waiters()
        self._told: set[str] = set()
        self._target_ids: dict[str, str] = {}
        self._missing: set[str] = set()
        self._stopping = False
        self._passing: Deferred[None] | None = None

    # -- start and stop

    async def start(self) -> None:
        """Connect, and try until a broker answers; then copy the topics that there are."""
        await connect(self._consumer.start, f"source {self.alias}", self._reactor, self._log)
        metadata = await self._consumer.cluster.describe([])
        self.cluster_id = metadata.cluster_id or self.alias
        if self.cluster_id == self._target.cluster_id:
            raise SettingError(
                f"source.{self.alias}.bootstrap.servers names the target's own cluster ({self.cluster_id}): "
                "a mirror copies from one cluster to another"
            )
        passing: Deferred[None] = Deferred.fromCoroutine(self._pass_records())
        passing.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed) and None)
        passing.addErrback(lambda failure: self._log.failure("a source has ended", failure))
        self._passing = passing

    async def stop(self, timeout_s: float) -> None:
        """End all streams, then disconnect."""
        self._stopping = True
        ending = [Deferred.fromCoroutine(one.stop(timeout_s)) for one in self.streams.values()]
        for one in ending:
            await one
        if self._passing is not None and not self._passing.called:
            self._passing.cancel()
        await self._consumer.close(CLOSE_S)

    # -- topics

    async def refresh(self) -> None:
        """Find new topics and partitions, and start their streams.

        :raises KafkaTXError: the source or the target does not answer.
        """
        metadata = await self._consumer.cluster.describe(None)
        for name, topic in metadata.topics.items():
            if self._stopping:
                return
            if topic.usable and not topic.internal and self.settings.names.copied(name):
                try:
                    await self._refresh_topic(topic)
                except RequestError as error:
                    if retriable(error):
                        raise
                    self._tell(f"{name} of {self.alias} is not copied: {error}")
        self._check_topics(metadata)
        self._check_copies(await self._target.topic_ids())

    async def _refresh_topic(self, topic: TopicMetadata) -> None:
        places = [TopicPartition(topic.name, number) for number in topic.partitions]
        if all(place in self.streams for place in places):
            return
        target = self.settings.names.target(topic.name)
        configs = await self._configs(topic.name) if not await self._target.has_topic(target) else {}
        await self._target.ensure_topic(target, max(topic.partitions) + 1, configs)
        topic_id = "" if topic.topic_id == NO_TOPIC_ID else str(topic.topic_id)
        for place in places:
            if place not in self.streams:
                stream = Stream(
                    StreamId(self.cluster_id, topic.name, place.partition, target),
                    topic_id,
                    self,
                    self._target,
                    self._keep,
                    self._options,
                )
                self.streams[place] = stream
                self._target.know(self.alias, stream)
                stream.start()

    async def _configs(self, topic: str) -> Mapping[str, str]:
        """Return the configs that a new copy of a topic takes over."""
        try:
            found = await self.admin.configs.describe(Resource(ResourceType.TOPIC, topic))
        except RequestError as error:
            if retriable(error):
                raise
            return {}  # an old broker, or one that does not let us read configs
        return {
            name: entry.value
            for name, entry in found.items()
            if name in self._topic_configs and entry.overridden and entry.value is not None
        }

    def _check_topics(self, metadata: ClusterMetadata) -> None:
        """Give up the streams of topics that were deleted, or made anew."""
        for place, stream in list(self.streams.items()):
            topic = metadata.topics.get(place.topic)
            if topic is None:
                self._log.info(
                    "{stream} is copied no more: the source has deleted the topic", stream=stream.id
                )
                stream.discard()
                self._forget(place)
            elif stream.topic_id and str(topic.topic_id) not in (stream.topic_id, str(NO_TOPIC_ID)):
                stream.recreated()

    def _check_copies(self, ids: Mapping[str, str]) -> None:
        """Give up the streams whose topic in the target was deleted, or made anew.

        A broker may not have heard of a new topic yet, so a missing one is looked for twice.
        """
        missing = set()
        for stream in list(self.streams.values()):
            name = stream.id.target
            if name not in ids:
                missing.add(name)
                if name in self._missing:
                    stream.target_deleted()
            elif self._target_ids.setdefault(name, ids[name]) != ids[name]:
                stream.target_deleted()
        self._missing = missing

    def _forget(self, place: TopicPartition) -> None:
        del self.streams[place]
        self._assigned.discard(place)
        self._consumer.assign(self._assigned)

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self._log.error("{line}", line=line)

    # -- records

    async def _pass_records(self) -> None:
        while not self._stopping:
            if self._queued_bytes >= self._buffer_bytes:
                await self._room.wait()
                continue
            try:
                found = await self._consumer.getmany(TAKEN_RECORDS, timeout_ms=None)
            except OffsetOutOfRange as error:
                self._out_of_range(error)
            except UnreadableBatch as error:
                self._unreadable(error)
            except NoOffset:
                continue  # assigned, and its stream has not set the offset yet
            except ClientClosed:
                raise
            except KafkaTXError as error:
                self._log.warn("source {alias}: {error}", alias=self.alias, error=error)
                await deferLater(self._reactor, PAUSE_S)
            else:
                for place, records in found.items():
                    stream = self.streams.get(place)
                    if stream is not None:
                        added = stream.feed(records)  # which may call done() for some of them
                        self._queued_bytes += added

    def _out_of_range(self, error: OffsetOutOfRange) -> None:
        place = TopicPartition(error.topic, error.partition)
        stream = self.streams.get(place)
        if stream is None or place not in self._assigned:
            return
        if not isinstance(error, LogTruncation) and 0 <= error.offset < error.earliest:
            stream.status.deleted += error.earliest - error.offset
            self._log.error(
                "{place} of {alias}: the source has deleted the records from {offset} to {end}, which were "
                "not copied yet",
                place=place,
                alias=self.alias,
                offset=error.offset,
                end=error.earliest - 1,
            )
            self._consumer.seek(place, error.earliest)
            return
        at = max(error.latest, 0)
        self._log.error(
            "{place} of {alias}: the source has lost the records from {at} on, which were copied up to "
            "{offset} (an unclean election?); what it has written since is copied",
            place=place,
            alias=self.alias,
            at=at,
            offset=error.offset - 1,
        )
        self._consumer.seek(place, at)

    def _unreadable(self, error: UnreadableBatch) -> None:
        stream = self.streams.get(TopicPartition(error.topic, error.partition))
        if stream is not None:
            stream.fail_source(error)

    # -- for streams

    async def first_offset(self, place: TopicPartition, again: bool) -> int:
        """Return where to begin; see :class:`~kafkatx.mirror.copy.ports.SourcePort`."""
        time = LATEST if self.settings.from_end and not again else EARLIEST
        return (await offsets_of(self._consumer.cluster, {place: time}, self._isolation))[place].offset

    def begin(self, place: TopicPartition, offset: int) -> None:
        """Read a partition from an offset on."""
        if place not in self._assigned:
            self._assigned.add(place)
            self._consumer.assign(self._assigned)
        self._consumer.seek(place, offset)
        self._consumer.resume(place)

    def pause(self, place: TopicPartition) -> None:
        """Take no records of a partition."""
        if place in self._assigned and not self._stopping:
            self._consumer.pause(place)

    def resume(self, place: TopicPartition) -> None:
        """Take records of a partition again."""
        if place in self._assigned and not self._stopping:
            self._consumer.resume(place)

    def done(self, size: int) -> None:
        """Take back bytes that were queued."""
        self._queued_bytes -= size
        if self._queued_bytes < self._buffer_bytes and len(self._room):
            self._room.fire(None)

    async def ends(self) -> dict[TopicPartition, int]:
        """Return the end of each partition that is copied.

        :raises KafkaTXError: the source does not answer.
        """
        found = await offsets_of(self._consumer.cluster, dict.fromkeys(self.streams, LATEST), self._isolation)
        return {place: at.offset for place, at in found.items()}

    async def copied_up_to(self, place: TopicPartition, end: int) -> bool:
        """Return True if a partition is copied up to an offset, or is not copied any more."""
        stream = self.streams.get(place)
        if stream is None or stream.status.source_next >= end:
            return True
        if not stream.idle or place not in self._assigned:
            return False
        # The last offsets may be those of transactions' markers, which no stream sees.
        position = await self._consumer.position(place)
        if position < end or not stream.idle:
            return False
        stream.status.source_next = max(stream.status.source_next, position)
        return True

    def update_ends(self) -> None:
        """Note the ends of the source's logs, as far as fetches have told them, in the streams' status."""
        for place in self._assigned:
            stream = self.streams.get(place)
            if stream is not None:
                stream.status.source_end = self._consumer.highwater(place)
