"""The target: its topics, and what the streams of all sources share of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from twisted.internet.defer import Deferred, DeferredLock, DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.client.admin.admin import Admin
from kafkatx.client.producer.producer import Producer
from kafkatx.clientcore.consumer.record import Record
from kafkatx.clientcore.metadata import NO_TOPIC_ID
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.mirror import table
from kafkatx.mirror.copy.appender import Appender
from kafkatx.mirror.copy.audit import MirrorAudits
from kafkatx.mirror.copy.connect import connect
from kafkatx.mirror.copy.notes import Notes
from kafkatx.mirror.copy.ports import StreamPort
from kafkatx.mirror.copy.recovery import Recovered, read_back, recover
from kafkatx.mirror.copy.target_log import TargetLog
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.rate import RateLimit
from kafkatx.mirror.core.tail import Copied
from kafkatx.mirror.settings import MirrorSettings
from kafkatx.types import TopicPartition

APPEND_TIME: Mapping[str, str] = {"message.timestamp.type": "LogAppendTime"}
"""Configs of the audit topic: the broker's time shows the clocks of those that announce."""

COMPACTED: Mapping[str, str] = {"cleanup.policy": "compact"}
RECOVERIES = 16
"""Streams that read the target's logs at the same time."""

CLOSE_S = 10.0


class Target:
    """The cluster that is copied to.

    :ivar cluster_id: of the target.
    :ivar admin: shares its connections.
    :ivar log: reads its logs.
    """

    _log = Logger()

    def __init__(self, settings: MirrorSettings, reactor: IReactorTime) -> None:
        self.reactor = reactor
        self.cluster_id = ""
        self.admin = Admin(settings.target, reactor=reactor)
        self.cluster = self.admin.cluster
        self.log = TargetLog(self.cluster)
        self._producer = Producer(cluster=self.cluster, client_id=settings[table.CLIENT_ID])
        self._appender = Appender(self.cluster)
        self._rate = RateLimit(settings[table.RATE_BYTES])
        self._replication = settings[table.REPLICATION_FACTOR]
        self._max_bytes = settings[table.RECOVERY_MAX_BYTES]
        self._map_runs = settings[table.MAP_RUNS] // len(settings.sources)
        self._partitions: dict[str, int] = {}
        self._topic_locks: defaultdict[str, DeferredLock] = defaultdict(DeferredLock)
        self._recoveries = DeferredSemaphore(RECOVERIES)
        self._notes: dict[str, Notes] = {}
        self._alias_of: dict[StreamPort, str] = {}
        self._audits = MirrorAudits(settings)

    async def start(self, aliases: Sequence[str]) -> None:
        """Connect, and try until a broker answers; then read the notes of the sources.

        :raises KafkaTXError: the target refuses something.
        """
        await connect(self._producer.start, "target", self.reactor, self._log)
        self.cluster_id = (await self.cluster.describe([])).cluster_id or ""
        for alias in aliases:
            notes = self._notes[alias] = Notes(alias, self.log, self.send, self._map_runs)
            await self.ensure_topic(notes.topic, 1, COMPACTED)
            await notes.load()
        if self._audits.topic:
            await self.ensure_topic(self._audits.topic, 1, APPEND_TIME)
            self._audits.start(aliases, self._producer)

    async def stop(self) -> None:
        """Disconnect, after what was sent is written."""
        self._appender.close()
        await self._audits.close()
        await self._producer.close(CLOSE_S)
        await self.cluster.close()

    def send(self, topic: str, key: bytes, value: bytes | None) -> Deferred[object]:
        """Send a record to partition 0 of one of the mirror's own topics."""
        sent: Deferred[object] = self._producer.send(topic, value, key, partition=0)  # type: ignore[assignment]
        return sent

    def notes(self, alias: str) -> Notes:
        """Return the notes of a source."""
        return self._notes[alias]

    # -- topics

    async def has_topic(self, name: str) -> bool:
        """Return True if a topic exists."""
        return name in self._partitions or (await self._count(name)) > 0

    async def _count(self, name: str) -> int:
        topic = (await self.cluster.describe([name])).topics.get(name)
        return len(topic.partitions) if topic is not None and topic.usable else 0

    async def topic_ids(self) -> dict[str, str]:
        """Return the ids of all topics, by name; empty where the brokers have none.

        :raises KafkaTXError: the target does not answer.
        """
        metadata = await self.cluster.describe(None)
        return {
            name: "" if topic.topic_id == NO_TOPIC_ID else str(topic.topic_id)
            for name, topic in metadata.topics.items()
        }

    async def ensure_notes(self) -> None:
        """Create the topics of the mirror's notes, if they are not there.

        :raises KafkaTXError: that is not possible.
        """
        for notes in self._notes.values():
            await self.ensure_topic(notes.topic, 1, COMPACTED)

    async def ensure_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        """Create a topic, or let it grow to a number of partitions.

        :raises KafkaTXError: that is not possible.
        """
        lock = self._topic_locks[name]
        await lock.acquire()
        try:
            if self._partitions.get(name, 0) >= partitions:
                return
            count = await self._count(name)
            if not count:
                try:
                    await self.admin.create_topic(name, partitions, self._replication, configs)
                    self._log.info("created {topic}, partitions: {count}", topic=name, count=partitions)
                    count = partitions
                except RequestError as error:
                    if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                        raise
                    count = await self._count(name)
            if count < partitions:
                await self.admin.create_partitions(name, partitions)
                self._log.info("{topic} has {count} partitions now", topic=name, count=partitions)
                count = partitions
            self._partitions[name] = count
        finally:
            lock.release()

    def forget_topics(self) -> None:
        """Look at the target's topics again when they are needed next."""
        self._partitions.clear()

    # -- for streams

    def know(self, alias: str, stream: StreamPort) -> None:
        """Note which source a stream is of."""
        self._alias_of[stream] = alias

    def _of(self, stream: StreamPort) -> Notes:
        return self._notes[self._alias_of[stream]]

    async def recover(self, stream: StreamPort) -> Recovered:
        """Find out where a stream goes on; see :mod:`kafkatx.mirror.copy.recovery`."""
        notes = self._of(stream)
        await self._recoveries.acquire()
        try:
            found = await recover(
                self.log,
                stream.target_place,
                {stream.producer_id: notes.position(stream.id)},
                {stream.producer_id: stream.topic_id},
                self._max_bytes,
            )
        finally:
            self._recoveries.release()
        recovered = found[stream.producer_id]
        if recovered.lost:
            tail = recovered.resumption.position.target
            notes.lost(stream.id, max(tail, 0))
        return recovered

    async def note(self, stream: StreamPort, position: Position) -> None:
        """Write where a stream begins."""
        await self._of(stream).note(stream.id, position)

    def copied(self, stream: StreamPort, sources: Sequence[int], target: int) -> None:
        """Keep the offsets of copies."""
        self._of(stream).copied(stream.id, sources, target)

    def counted(self, stream: StreamPort, start: int, end: int, records: Sequence[Record]) -> None:
        """Count copied records for the audit."""
        self._audits.count(self._alias_of[stream], stream, start, end, records)

    async def admit(self, size: int) -> None:
        """Wait until the rate allows *size* bytes more."""
        pause_s = self._rate.reserve(size, self.reactor.seconds())
        if pause_s > 0:
            await deferLater(self.reactor, pause_s)

    def append(self, place: TopicPartition, batch: bytes) -> Deferred[int]:
        """Append a batch."""
        return self._appender.append(place, batch)

    async def read_back(self, stream: StreamPort, offset: int) -> list[Copied]:
        """Return the copies of a stream in the batch at an offset."""
        return await read_back(self.log, stream.target_place, stream.producer_id, offset)
