"""What the handlers share: the parts of one running broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.coordinator.groups import Groups
from kafkatx.broker.coordinator.offset_commits import Commits, settle, stage
from kafkatx.broker.coordinator.offset_expiry import OffsetExpiry
from kafkatx.broker.producer_ids import ProducerIds
from kafkatx.broker.quotas import ClientQuotas
from kafkatx.broker.replica.flushes import Flushes
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.record_validation import Judging
from kafkatx.broker.replica.topics import Topics
from kafkatx.broker.requests.down_conversion import DownConversions
from kafkatx.broker.requests.quotation import quoted
from kafkatx.broker.requests.slices import Slices
from kafkatx.broker.transactions import Transactions
from kafkatx.config import BrokerConfig
from kafkatx.config.alter import usable_broker_configs
from kafkatx.interfaces import Workers
from kafkatx.net.limited_log import LimitedLog
from kafkatx.types import ALL_BROKERS, ClusterState

SAY_FAILED_EVERY_S = 10.0
"""Clients try again and again what fails: one line of the log in so long says so."""


class Broker:
    """The parts, handed in; and the produce round that is under way.

    :ivar config: the settings; another object after a change of the dynamic ones.
    :ivar config_listeners: called with the new settings after such a change, by whoever keeps values of them.
    :ivar coordinator: the ``ICoordinator``.
    :ivar store: the ``ILogStore``.
    :ivar offered: the versions of each API key that ApiVersions shows.
    :ivar features_epoch: the epoch of the finalized features: it rises with each start of the broker.
    :ivar staged: the partitions with records that are staged and not yet written.
    :ivar commits: the commits of offsets that are not staged yet: they are put together first.
    :ivar groups: the groups that this broker coordinates.
    :ivar judging: what looks into produced records.
    :ivar expiry: what takes old offsets away.
    :ivar transactions: what refuses them.
    :ivar quotas: how much clients may produce and fetch.
    :ivar limited_log: for lines that clients can cause.
    :ivar slices: makes long lists of answers some at a time.
    :ivar down_conversions: converts what old clients fetch.
    :ivar halted: fires with the reason, for a person, when the broker can serve nothing any more.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        coordinator: Any,
        store: Any,
        clock: IReactorTime,
        workers: Workers,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self.config = config
        self.coordinator = coordinator
        self.store = store
        self.clock = clock
        self.workers = workers
        self.now_ms = now_ms
        self.node_id: int = config.get("broker.id")
        self.flushes = Flushes(clock)
        self.topics = Topics(config, coordinator, store, self.flushes)
        self.config_listeners: list[Callable[[BrokerConfig], None]] = [self.topics.use, store.reconfigure]
        self.producer_ids = ProducerIds(coordinator)
        self.offered: dict[int, range] = {}
        self.features_epoch = now_ms()
        self.staged: dict[Partition, None] = {}
        self.commits: Commits = {}
        self.quotas = ClientQuotas(config, coordinator, clock)
        self.slices = Slices(clock)
        self.limited_log = LimitedLog(self._log, clock, config.get("kafkatx.log.lines.per.minute"))
        self.transactions = Transactions(self.limited_log)
        self.down_conversions = DownConversions(
            clock, lambda: workers("down-conversion"), config.get("kafkatx.downconversion.max.bytes")
        )
        self.groups = Groups(self)
        self.judging = Judging(self)
        self.expiry = OffsetExpiry(self)
        self.halted: Deferred[str] = Deferred()
        self._written: list[Partition] = []
        self._said_failed_s = -SAY_FAILED_EVERY_S
        store.on_offline = self._log_dir_failed
        coordinator.subscribe(self._cluster_changed)

    async def open(self) -> None:
        """Open every log; what a crash left unflushed is flushed in time, too."""
        await self.topics.open()
        for partitions in self.topics.partitions.values():
            for partition in partitions:
                self.flushes.replan(partition)

    def _cluster_changed(self, old: ClusterState, new: ClusterState) -> None:
        """The coordinator has another state: its dynamic settings hold at once, from the start on, too."""
        if new.broker_configs == old.broker_configs:
            return
        dynamic = []
        for whose in (ALL_BROKERS, str(self.node_id)):
            usable, complaints = usable_broker_configs(new.broker_configs.get(whose, {}))
            for complaint in complaints:
                self._log.warn("a stored setting is not used: {complaint}", complaint=quoted(complaint))
            dynamic.append(usable)
        self._use(self.config.with_dynamic(*dynamic))

    def _use(self, config: BrokerConfig) -> None:
        self.config = config
        for listener in self.config_listeners:
            listener(config)

    def reload(self, read: BrokerConfig) -> None:
        """Use the settings that were read again as far as they may change, and say which may not."""
        reloaded = self.config.reloaded(read)
        if reloaded.fixed:
            self._log.warn(
                "settings were read again; these have changed and need a restart: {names}",
                names=", ".join(reloaded.fixed),
            )
        if reloaded.changed:
            self._use(reloaded.config)
        self._log.info(
            "settings were read again: {changes}",
            changes=f"{', '.join(reloaded.changed)} changed"
            if reloaded.changed
            else "nothing that may change while the broker runs has changed",
        )

    def write_staged(self) -> dict[object, OSError]:
        """Write what is staged in every partition; give those where that failed, and why.

        The fetches that wait for it are woken by :meth:`wake_waiting`, later: what they set off must not
        run between two writes of one round.
        """
        commits = self.commits
        if commits:
            self.commits = {}
            stage(commits, self.groups.topic)
            self.staged.update(dict.fromkeys(commits))
        staged, self.staged = self.staged, {}
        failed = self._write(staged)
        if commits:
            settle(commits, failed, self.groups.offsets)
        return failed

    def write_own(self, partition: Partition) -> dict[object, OSError]:
        """Write what the broker itself has staged in one partition; as :meth:`write_staged`."""
        failed = self._write((partition,))
        if self._written:
            # this may be in the middle of a round of writing
            self.clock.callLater(0, self.wake_waiting)
        return failed

    def _write(self, staged: Iterable[Partition]) -> dict[object, OSError]:
        failed: dict[object, OSError] = {}
        for partition in staged:
            try:
                partition.log.write()
            except OSError as error:
                failed[partition] = error
            else:
                partition.advance()
                if partition.flush_s is not None and partition.flush_timer is None:
                    self.flushes.plan(partition)
                if partition.parked:
                    self._written.append(partition)
        if failed:
            self._say_failed(failed)
        return failed

    def _say_failed(self, failed: dict[object, OSError]) -> None:
        now_s = self.clock.seconds()
        if now_s - self._said_failed_s >= SAY_FAILED_EVERY_S:
            self._said_failed_s = now_s
            partition, error = next(iter(failed.items()))
            self._log.error(
                "appending to {partition} failed: {error}; nothing of it was acknowledged",
                partition=partition.topic_partition,  # type: ignore[attr-defined]  # the keys are Partitions
                error=error,
            )

    def wake_waiting(self) -> None:
        """Let the fetches look again that wait for a partition that was written to."""
        if self._written:
            written, self._written = self._written, []
            for partition in written:
                partition.wake()

    def _log_dir_failed(self, log_dir: Any) -> None:
        """An ``ILogDir`` has gone offline: its partitions answer KAFKA_STORAGE_ERROR from now on."""
        for name, log in log_dir.logs.items():
            partition = self.topics.find(*name)
            if partition is not None and partition.log is log:
                partition.go_offline()
                self._written.append(partition)
        # this may be in the middle of a round of writing
        self.clock.callLater(0, self.wake_waiting)
        if not self.halted.called and all(one.error is not None for one in self.store.dirs):
            self.halted.callback(f"log.dirs: every directory is offline, {log_dir.path} was the last")
