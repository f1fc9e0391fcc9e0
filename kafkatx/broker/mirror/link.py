"""A link to a source cluster: its metadata, and a fetcher for each of its brokers that leads partitions.

It touches connections to the source, by a :class:`kafkatx.networkclient.cluster.Cluster` of its own, and the
clock. Partitions come and go by :mod:`~kafkatx.broker.mirror.manager`; each is given to the fetcher of the
broker that leads it at the source, as the source's metadata say, and has a reason if there is none.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.broker.mirror.leader_epochs import LeaderEpochs
from kafkatx.broker.mirror.mirrored_partition import MirroredPartition, Source
from kafkatx.broker.mirror.rate_limit import RateLimit
from kafkatx.broker.mirror.source_fetcher import FetchLimits, SourceFetcher
from kafkatx.clientcore.admin.mirror_status import LinkStatus
from kafkatx.clientcore.backoff import JITTER, Backoff
from kafkatx.clientcore.errors import describe
from kafkatx.clientcore.metadata import NO_TOPIC_ID, ClusterMetadata, TopicMetadata
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import common, consumer
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.net.limited_log import LimitedLog
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import NO_LEADER

if TYPE_CHECKING:
    from kafkatx.config.links import LinkSettings

RESPONSE_BYTES = 10 << 20
"""The size of a fetch's answer, unless fetch.max.bytes is set: as of a follower's."""

FIRST_PAUSE_MS = 100


def client_settings(
    settings: LinkSettings, broker_id: int, link_objects: dict[str, object]
) -> ClientSettings:
    """Return the settings of a client of a link's source.

    :param link_objects: settings that are objects, for tests.
    :raises SettingError: a client setting is not allowed.
    """
    values: dict[str, object] = {
        "client.id": f"mirror-{settings.name}-broker-{broker_id}",
        consumer.FETCH_MAX_BYTES.name: RESPONSE_BYTES,
        **settings.client,
        **link_objects,
        common.BOOTSTRAP_SERVERS.name: ",".join(settings.bootstrap_servers),
        consumer.ALLOW_AUTO_CREATE_TOPICS.name: False,
    }
    return ClientSettings.load("consumer", values)


class Link:
    """The source of one link, and what is fetched from it.

    :ivar settings: the link's settings.
    :ivar error: why the source is not reached, for a person; empty if it is.
    """

    _log = Logger()

    def __init__(
        self,
        settings: LinkSettings,
        client: ClientSettings,
        epochs: LeaderEpochs,
        clock: IReactorTime,
        limited_log: LimitedLog,
    ) -> None:
        self.settings = settings
        self.error = ""
        self._clock = clock
        self._epochs = epochs
        self._limited_log = limited_log
        self._rate = RateLimit(settings.rate_bytes)
        longest_ms = client[common.RECONNECT_BACKOFF_MAX_MS]
        self._backoff = Backoff(first_ms=FIRST_PAUSE_MS, longest_ms=longest_ms, jitter=JITTER)
        self._limits = FetchLimits(
            client[consumer.FETCH_MAX_WAIT_MS],
            client[consumer.FETCH_MIN_BYTES],
            client[consumer.MAX_PARTITION_FETCH_BYTES],
            client[consumer.FETCH_MAX_BYTES],
            client[common.REQUEST_TIMEOUT_MS] / 1000,
        )
        self.cluster = Cluster(client, clock)
        self._mirrored: dict[MirroredPartition, SourceFetcher | None] = {}
        self._topics: dict[str, int] = {}
        self._fetchers: dict[int, SourceFetcher] = {}
        self._starting: Deferred[None] | None = None
        self._is_up = False
        self._start_error = ""
        self.cluster.on_metadata(self._metadata_changed)

    def use(self, settings: LinkSettings) -> None:
        """Use other settings, with the same source and client."""
        self.settings = settings
        self._rate.rate = settings.rate_bytes

    # --- partitions

    def add(self, one: MirroredPartition) -> None:
        """Copy a partition from now on."""
        self._mirrored[one] = None
        one.on_moved = self.cluster.stale
        self._track(one.partition.topic_partition.topic, 1)
        if self._starting is None:
            self._starting = Deferred()
            self._starting = Deferred.fromCoroutine(self._start())
        elif self._is_up:
            self._place(one)
            if one.source is None:
                self.cluster.stale()

    def remove(self, one: MirroredPartition) -> None:
        """Copy a partition no more."""
        self._take_from(one)
        del self._mirrored[one]
        one.lead_from(None)
        self._track(one.partition.topic_partition.topic, -1)

    def look_at_producers(self) -> None:
        """Take note of the producers in all logs, before they expire."""
        for one in self._mirrored:
            one.look_at_producers_in_time()

    def _track(self, topic: str, change: int) -> None:
        """Ask for the metadata of the topics that have partitions here."""
        count = self._topics.get(topic, 0) + change
        self._topics[topic] = count
        if not count:
            del self._topics[topic]
        if count == 0 or count == change:
            self.cluster.track(self._topics, self)

    def _take_from(self, one: MirroredPartition) -> None:
        fetcher = self._mirrored.get(one)
        self._mirrored[one] = None
        if fetcher is not None:
            fetcher.remove(one)
            if not fetcher.mirrored:
                self._clock.callLater(0, self._close_unused, fetcher)

    def _close_unused(self, fetcher: SourceFetcher) -> None:
        """End a fetcher without partitions, unless it has got some again."""
        if not fetcher.mirrored and self._fetchers.get(fetcher.node_id) is fetcher:
            del self._fetchers[fetcher.node_id]
            fetcher.stop()
            self._look_at_errors()

    # --- the source

    async def _start(self) -> None:
        """Get the source's metadata for the first time, however long that takes."""
        failures = 0
        while True:
            try:
                await self.cluster.start()
                break
            except CancelledError:
                raise
            except KafkaTXError as error:
                self._start_error = str(error)
            except Exception:
                self._limited_log.failure("asking for the metadata of a mirror's source failed")
                self._start_error = "see the failure in the log"
            self._look_at_errors()
            await deferLater(self._clock, self._backoff.pause_s(failures))
            failures += 1
        self._start_error = ""
        self._is_up = True
        self._look_at_errors()
        self._place_all()
        self.cluster.stale()  # for topics that have come meanwhile

    def _metadata_changed(self, old: ClusterMetadata, new: ClusterMetadata) -> None:
        if self._is_up:
            self._place_all()

    def _place_all(self) -> None:
        for one in tuple(self._mirrored):
            self._place(one)

    def _place(self, one: MirroredPartition) -> None:
        """Give a partition to the fetcher of its leader at the source."""
        source, reason = self._leader_of(one)
        fetcher = self._mirrored[one]
        if source == one.source and (source is None) == (fetcher is None):
            if source is None:
                one.explain(reason)
            return
        self._take_from(one)
        one.lead_from(source)
        if source is None:
            one.explain(reason)
            return
        fetcher = self._mirrored[one] = self._fetcher(source.leader)
        fetcher.add(one)

    def _leader_of(self, one: MirroredPartition) -> tuple[Source | None, str]:
        """Return the leader of a partition at the source; if there is none, the reason for people."""
        name, number = one.partition.topic_partition
        known = self.cluster.metadata.topics.get(name)
        if known is None:
            return None, one.reason  # it has not been asked for yet
        if not known.usable:
            return None, _unusable(known)
        if one.record.source_id not in (NO_TOPIC_ID, known.topic_id):
            return None, (
                f"the topic was made anew at the source: its id was {one.record.source_id} and is"
                f" {known.topic_id} now; its records stay as they are here"
            )
        found = known.partitions.get(number)
        if found is None:
            return None, f"the topic has {len(known.partitions)} partitions at the source, not this one"
        if found.leader == NO_LEADER or found.leader not in self.cluster.metadata.brokers:
            return None, "the partition has no leader at the source"
        return Source(found.leader, found.leader_epoch), ""

    def _topic_id(self, name: str) -> uuid.UUID:
        known = self.cluster.metadata.topics.get(name)
        return NO_TOPIC_ID if known is None else known.topic_id

    def _fetcher(self, node_id: int) -> SourceFetcher:
        fetcher = self._fetchers.get(node_id)
        if fetcher is None:
            fetcher = self._fetchers[node_id] = SourceFetcher(
                node_id,
                self.cluster,
                self._topic_id,
                self._epochs,
                self._limits,
                self._rate,
                self._clock,
                self._backoff,
                self._limited_log,
                self._look_at_errors,
            )
        return fetcher

    # --- what people are told

    def _look_at_errors(self) -> None:
        """Tell once when the source is not reached, and once when it is again."""
        errors = [self._start_error, *(fetcher.error for fetcher in self._fetchers.values())]
        error = next(filter(None, errors), "")
        was, self.error = self.error, error
        if error and not was:
            self._log.warn(
                "the source of the mirror link {link} is not reached: {error}; it is tried again and again",
                link=self.settings.name,
                error=error,
            )
        elif was and not error:
            self._log.info("the source of the mirror link {link} is reached again", link=self.settings.name)

    def status(self) -> LinkStatus:
        """Return the status, now."""
        return LinkStatus(self.settings.name, ",".join(self.settings.bootstrap_servers), self.error)

    # --- the end

    def stop(self) -> Deferred[None]:
        """End all fetches, close the connections; fires when they are closed."""
        for one in self._mirrored:
            one.lead_from(None)
        self._mirrored.clear()
        for fetcher in self._fetchers.values():
            fetcher.stop()
        self._fetchers.clear()
        if self._starting is not None:
            self._starting.addErrback(lambda failure: failure.trap(CancelledError, KafkaTXError) and None)
            self._starting.cancel()
        return self.cluster.close()


def _unusable(topic: TopicMetadata) -> str:
    if topic.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"there is no topic {topic.name} at the source; its records stay as they are here"
    return f"the source says of its topic {topic.name}: {describe(topic.error)}"
