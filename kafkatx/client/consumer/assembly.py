"""What a consumer is made of, and how its parts work together."""

from __future__ import annotations

from collections.abc import Iterable

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.logger import Logger

from kafkatx.client.consumer.audit import consumer_auditor
from kafkatx.client.consumer.fetcher import Fetching
from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.consumer.group.membership import Membership
from kafkatx.client.consumer.group.rebalance import Rebalancing
from kafkatx.client.consumer.offset_resolver import Locating
from kafkatx.client.consumer.poll import Reading
from kafkatx.client.consumer.processor import Processor
from kafkatx.client.plugins import decoder
from kafkatx.clientcore.consumer.completed_fetch import Decoding
from kafkatx.clientcore.consumer.fetch_buffer import Shelf
from kafkatx.clientcore.consumer.fetch_requests import Fetches
from kafkatx.clientcore.consumer.partition_state import COMMITTED
from kafkatx.clientcore.consumer.subscription_state import Positions
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition

POLLS = 100
"""How often within ``max.poll.interval.ms`` the membership hears, at most, that the application asks."""


class Consuming:
    """The parts of one consumer.

    :ivar auditor: None where ``audit.interval.ms`` is 0.
    :ivar membership: None where there is no ``group.id``.
    """

    _log = Logger()

    def __init__(self, settings: ClientSettings, cluster: Cluster) -> None:
        self.cluster = cluster
        self.reactor = cluster.reactor
        self._processor: Processor | None = None
        self.membership: Membership | None = None
        self.auto_commit: AutoCommit | None = None
        shelf = Shelf(settings[consumer.READAHEAD_BYTES], settings[consumer.MAX_PARTITION_FETCH_BYTES])
        self.auditor = consumer_auditor(settings, cluster)
        self.positions = Positions(shelf, None if self.auditor is None else self.auditor.count)
        self.positions.on_told = self.changed
        self.reading = Reading(self.reactor, self.positions, self._asks)
        if settings[consumer.GROUP_ID] is not None:
            self._join(settings)
        self.rebalancing = Rebalancing(self.positions, self.reading, self.auto_commit, self.changed)
        committed = None if self.membership is None else self.membership.fetch_committed
        self.locating = Locating(cluster, settings, self.positions, committed, self._located)
        decoding = Decoding(
            settings[consumer.CHECK_CRCS],
            decoder(settings, consumer.KEY_DESERIALIZER),
            decoder(settings, consumer.VALUE_DESERIALIZER),
        )
        self.fetching = Fetching(
            cluster,
            settings,
            self.positions,
            Fetches(settings, shelf, decoding),
            self.reading.arrived,
            self.locating.out_of_range,
            self.locating.compare,
        )
        self._started = False
        self._poll_every_s = settings[consumer.MAX_POLL_INTERVAL_MS] / 1000 / POLLS
        self._poll_interval_s = settings[consumer.MAX_POLL_INTERVAL_MS] / 1000
        self._waiting = False
        self._polled = float("-inf")

    def _join(self, settings: ClientSettings) -> None:
        self.membership = Membership(
            self.cluster, settings, self._assigned, self._revoked, self._lost, self._failed
        )
        if settings[consumer.ENABLE_AUTO_COMMIT]:
            interval_ms = settings[consumer.AUTO_COMMIT_INTERVAL_MS]
            self.auto_commit = AutoCommit(self.reactor, interval_ms, self.positions, self.membership.commit)

    # -- beginning and end

    def start(self) -> None:
        """Begin to join, to fetch and to commit."""
        if self._started:
            return
        self._started = True
        self.locating.start()
        self.fetching.start()
        if self.membership is not None:
            self.membership.start()
        if self.auto_commit is not None:
            self.auto_commit.start()
        if self.auditor is not None:
            self.auditor.start()
        self.changed()

    async def close(self, timeout_s: float) -> None:
        """End: let the application finish, commit, leave the group."""
        until_s = self.reactor.seconds() + timeout_s
        self.reading.close()
        self.fetching.stop()
        ending = Deferred.fromCoroutine(self._end())
        ending.addTimeout(timeout_s, self.reactor)
        try:
            await ending
        except TimedOut:
            self._log.warn("the consumer was not done within {seconds} s of its closing", seconds=timeout_s)
        finally:
            self.locating.close()
            if self.auto_commit is not None:
                self.auto_commit.stop()
            if self.membership is not None:
                self.membership.close()
            if self._processor is not None and self._processor.running:
                self._processor.cancel()
            self.positions.remove(self.positions.places)
            if self.auditor is not None:
                await self.auditor.close(max(0.0, until_s - self.reactor.seconds()))

    async def _end(self) -> None:
        if self._processor is not None and self._processor.running:
            await self._processor.ended()
        else:
            self.positions.settle()
        self.reading.settled.fire(None)
        if self.auto_commit is not None:
            await self.auto_commit.last()
        if self.membership is not None:
            await self.membership.leave()

    def process(self, processor: Processor) -> Deferred[None]:
        """Have a processor give out the records; as :meth:`Processor.start`."""
        if self._processor is None or not self._processor.running:
            self._processor = processor
        return processor.start()

    # -- what parts tell each other

    def changed(self) -> None:
        """Other positions are there, or they want other things than before."""
        if self._started:
            self.locating.look()
            self.fetching.changed()
        self.reading.arrived()

    def _located(self) -> None:
        self.fetching.changed()
        self.reading.arrived()

    def begin(self, places: Iterable[TopicPartition]) -> None:
        """Have partitions that no group has given."""
        self.positions.add(places, COMMITTED)
        self.changed()

    async def _assigned(self, places: set[TopicPartition]) -> None:
        await self.rebalancing.assigned(places)

    async def _revoked(self, places: set[TopicPartition]) -> None:
        await self.rebalancing.revoked(places)

    async def _lost(self, places: set[TopicPartition]) -> None:
        await self.rebalancing.lost(places)

    def _failed(self, error: KafkaTXError) -> None:
        self.reading.fail(error, for_good=True)

    # -- that the application lives

    def _asks(self, waiting: bool) -> None:
        """The application asks for records, and gets some unless it has to wait."""
        self.works(None if waiting else self.reactor.seconds())

    def works(self, since: float | None) -> None:
        """The application is at work since then; None: it waits."""
        if self.membership is None:
            return
        waiting = since is None
        if waiting == self._waiting and (since is None or since - self._polled < self._poll_every_s):
            return
        if since is not None and self.reactor.seconds() - since >= self._poll_interval_s:
            return  # the membership knows by itself
        self._waiting = waiting
        self._polled = float("-inf") if since is None else since
        self.membership.poll(waiting, since)
