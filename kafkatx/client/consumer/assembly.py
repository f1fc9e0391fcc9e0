"""The parts of a consumer, and the calls between them.

The parts do not know each other: each gets callbacks from here.
"""

from __future__ import annotations

from collections.abc import Iterable

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.logger import Logger

from kafkatx.client.consumer.audit import consumer_auditor
from kafkatx.client.consumer.fetcher import Fetcher
from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.consumer.group.membership import Membership
from kafkatx.client.consumer.group.rebalance import RebalanceCallbacks
from kafkatx.client.consumer.offset_resolver import OffsetResolver
from kafkatx.client.consumer.poll import Poller
from kafkatx.client.consumer.preparation import decode_settings
from kafkatx.client.consumer.processor import Processor
from kafkatx.client.registry.access import RegistryAccess
from kafkatx.clientcore.consumer.fetch_buffer import FetchBuffer
from kafkatx.clientcore.consumer.fetch_requests import FetchRequests
from kafkatx.clientcore.consumer.partition_state import COMMITTED, TopicPartitionState
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import KafkaTXError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition

POLLS = 100
"""Calls per ``max.poll.interval.ms``, at most, by which the membership hears of polls."""


class ConsumerAssembly:
    """The parts of one consumer.

    :ivar auditor: None if ``audit.interval.ms`` is 0.
    :ivar membership: None if there is no ``group.id``.
    """

    _log = Logger()

    def __init__(self, settings: ClientSettings, cluster: Cluster) -> None:
        self.cluster = cluster
        self.reactor = cluster.reactor
        self._processor: Processor | None = None
        self.membership: Membership | None = None
        self.auto_commit: AutoCommit | None = None
        buffer: FetchBuffer[TopicPartitionState] = FetchBuffer(
            settings[consumer.READAHEAD_BYTES], settings[consumer.MAX_PARTITION_FETCH_BYTES]
        )
        self.auditor = consumer_auditor(settings, cluster)
        self.subscriptions = SubscriptionState(buffer, None if self.auditor is None else self.auditor.count)
        self.subscriptions.on_error_raised = self.partitions_changed
        self.poller = Poller(self.reactor, self.subscriptions, self._on_poll)
        if settings[consumer.GROUP_ID] is not None:
            self._join(settings)
        self.rebalance_callbacks = RebalanceCallbacks(
            self.subscriptions, self.poller, self.auto_commit, self.partitions_changed
        )
        committed = None if self.membership is None else self.membership.fetch_committed
        self.offset_resolver = OffsetResolver(
            cluster, settings, self.subscriptions, committed, self._offsets_resolved
        )
        self.registry = RegistryAccess(settings, self.reactor)
        decoding = decode_settings(settings, self.registry, self.poller.notify)
        self.fetcher = Fetcher(
            cluster,
            settings,
            self.subscriptions,
            FetchRequests(settings, buffer, decoding),
            self.poller.notify,
            self.offset_resolver.out_of_range,
            self.offset_resolver.validate_positions,
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
            self.auto_commit = AutoCommit(
                self.reactor, interval_ms, self.subscriptions, self.membership.commit
            )

    # -- start and end

    def start(self) -> None:
        """Start to join the group, to fetch and to commit."""
        if self._started:
            return
        self._started = True
        self.offset_resolver.start()
        self.fetcher.start()
        if self.membership is not None:
            self.membership.start()
        if self.auto_commit is not None:
            self.auto_commit.start()
        if self.auditor is not None:
            self.auditor.start()
        self.partitions_changed()

    async def close(self, timeout_s: float) -> None:
        """Stop fetching, wait for the application to finish, commit, and leave the group."""
        until_s = self.reactor.seconds() + timeout_s
        self.poller.close()
        self.fetcher.stop()
        ending = Deferred.fromCoroutine(self._end())
        ending.addTimeout(timeout_s, self.reactor)
        try:
            await ending
        except TimedOut:
            self._log.warn("the consumer was not closed cleanly within {seconds} s", seconds=timeout_s)
        finally:
            self.offset_resolver.close()
            if self.auto_commit is not None:
                self.auto_commit.stop()
            if self.membership is not None:
                self.membership.close()
            if self._processor is not None and self._processor.running:
                self._processor.cancel()
            self.subscriptions.remove_partitions(self.subscriptions.assigned_partitions)
            await self.registry.close()
            if self.auditor is not None:
                await self.auditor.close(max(0.0, until_s - self.reactor.seconds()))

    async def _end(self) -> None:
        if self._processor is not None and self._processor.running:
            await self._processor.wait_ended()
        else:
            self.subscriptions.mark_processed()
        self.poller.processed.fire(None)
        if self.auto_commit is not None:
            await self.auto_commit.try_commit()
        if self.membership is not None:
            await self.membership.leave()
        await self.fetcher.end_sessions()

    def process(self, processor: Processor) -> Deferred[None]:
        """Start a processor; see :meth:`Processor.start`."""
        if self._processor is None or not self._processor.running:
            self._processor = processor
        return processor.start()

    # -- callbacks between parts

    def partitions_changed(self) -> None:
        """Resolve offsets and fetch after partitions were assigned, unassigned, sought, paused or resumed."""
        if self._started:
            self.offset_resolver.resolve()
            self.fetcher.partitions_changed()
        self.poller.notify()

    def _offsets_resolved(self) -> None:
        self.fetcher.partitions_changed()
        self.poller.notify()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Assign partitions without a group."""
        self.subscriptions.add_partitions(partitions, COMMITTED)
        self.partitions_changed()

    async def _assigned(self, partitions: set[TopicPartition]) -> None:
        await self.rebalance_callbacks.assigned(partitions)

    async def _revoked(self, partitions: set[TopicPartition]) -> None:
        await self.rebalance_callbacks.revoked(partitions)

    async def _lost(self, partitions: set[TopicPartition]) -> None:
        await self.rebalance_callbacks.lost(partitions)

    def _failed(self, error: KafkaTXError) -> None:
        self.poller.fail(error, permanent=True)

    # -- max.poll.interval.ms

    def _on_poll(self, waiting: bool) -> None:
        """Report that the application asks for records: it has to wait, or is given some."""
        self.report_activity(None if waiting else self.reactor.seconds())

    def report_activity(self, since: float | None) -> None:
        """Tell the membership since when the application has been processing records; None: it waits."""
        if self.membership is None:
            return
        waiting = since is None
        if waiting == self._waiting and (since is None or since - self._polled < self._poll_every_s):
            return
        if since is not None and self.reactor.seconds() - since >= self._poll_interval_s:
            return  # the membership's own timer has expired
        self._waiting = waiting
        self._polled = float("-inf") if since is None else since
        self.membership.poll(waiting, since)
