"""The mirror as a Twisted service: sources, the target, and what is done from time to time.

An application that runs a mirror beside other services adds a :class:`MirrorService` to its own::

    MirrorService(MirrorSettings.read("mirror.properties"), reactor).setServiceParent(application)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.extension import check_own_settings, find, own_settings
from kafkatx.interfaces import IRecordFilter
from kafkatx.mirror import table
from kafkatx.mirror.copy.checkpoints import MirrorMakerTopics
from kafkatx.mirror.copy.gather import gather
from kafkatx.mirror.copy.source import Keep, Source
from kafkatx.mirror.copy.stream import StreamOptions
from kafkatx.mirror.copy.target import Target
from kafkatx.mirror.core.status import StreamStatus, Totals
from kafkatx.mirror.settings import MirrorSettings, SourceSettings
from kafkatx.records.compression import codec_named
from kafkatx.types import TopicPartition

STOP_S = 10.0
"""The longest wait for batches in flight at the end."""

FORGET_S = 600.0
"""Interval at which offsets of records are forgotten that the target has deleted."""

FORGET_PARTITIONS = 1000
LEAST_BATCH_BYTES = 16 << 10
"""With a low rate a batch takes about a second, but is not smaller than this."""

MAX_BATCH_BYTES = 1 << 30


class MirrorService(Service):
    """Copies topics of the sources to the target.

    :ivar status_at_end: the status when the service was stopped.
    :ivar started: fires when both ends are connected and the first topics are found; fails if a setting is
        wrong for the clusters, or a broker refuses something. While no broker answers it waits.
    """

    name = "kafkatx mirror"
    _log = Logger()

    def __init__(self, settings: MirrorSettings, reactor: Any = None) -> None:
        """Make the service.

        :param reactor: None: the installed one.
        :raises SettingError: a filter is not installed, or its settings are wrong.
        """
        if reactor is None:
            from twisted.internet import reactor
        self.settings = settings
        self.started: Deferred[None] = Deferred()
        self.status_at_end: Sequence[StreamStatus] = ()
        self._reactor: IReactorTime = reactor
        self._target = Target(settings, self._reactor)
        rate = settings[table.RATE_BYTES]
        options = StreamOptions(
            min(settings[table.BATCH_BYTES], max(rate, LEAST_BATCH_BYTES) if rate else MAX_BATCH_BYTES),
            settings[table.BATCH_RECORDS],
            codec_named(settings[table.COMPRESSION_TYPE]),
        )
        check_own_settings(settings.explicit, IRecordFilter)
        self._sources = [
            Source(
                one,
                self._target,
                _filter(one, settings),
                options,
                settings[table.BUFFER_BYTES] // len(settings.sources),
                settings[table.TOPIC_CONFIGS],
                self._reactor,
            )
            for one in settings.sources
        ]
        self._topics = [MirrorMakerTopics(settings, one, self._target) for one in self._sources]
        self._tasks: list[Deferred[None]] = []
        self._stopping: Deferred[None] | None = None

    # -- the service

    def startService(self) -> None:
        """Start; :attr:`started` tells the outcome."""
        super().startService()
        self._run(self._start())

    def stopService(self) -> Deferred[None]:
        """Finish what is in flight, write positions and offsets, and disconnect; fires when that is done."""
        super().stopService()
        if self._stopping is None:
            self._stopping = Deferred.fromCoroutine(self._stop())
        return self._stopping

    async def _start(self) -> None:
        try:
            await self._target.start([one.alias for one in self._sources])
            await gather([Deferred.fromCoroutine(one.start()) for one in self._sources])
            for one in self._sources:
                await one.refresh()
        except (CancelledError, ClientClosed):
            if not self.started.called:
                self.started.errback(ClientClosed("the mirror was stopped before it had started"))
            return
        except Exception as error:
            self.started.errback(error)
            return
        self._log.info(
            "mirror of {sources} to {target}: {line}",
            sources=", ".join(one.alias for one in self._sources),
            target=self.settings[table.TARGET_ALIAS],
            line=self.totals().line(),
        )
        settings = self.settings
        self._every(settings[table.REFRESH_INTERVAL_MS] / 1000, self.refresh, "looking for topics")
        self._every(settings[table.PROGRESS_INTERVAL_MS] / 1000, self.flush, "writing positions")
        self._every(FORGET_S, self._forget_deleted, "forgetting offsets")
        for topics in self._topics:
            self._every(
                settings[table.CHECKPOINTS_INTERVAL_MS] / 1000, topics.write_checkpoints, "checkpoints"
            )
            self._every(settings[table.HEARTBEATS_INTERVAL_MS] / 1000, topics.write_heartbeat, "heartbeats")
        self._every(settings[table.REPORT_INTERVAL_MS] / 1000, self._report, "reporting")
        self.started.callback(None)

    async def _stop(self) -> None:
        if self._tasks and not self.started.called:
            self._tasks[0].cancel()
        for task in self._tasks:
            task.cancel()
        self.status_at_end = self.status()
        await gather([Deferred.fromCoroutine(one.stop(STOP_S)) for one in self._sources])
        try:
            if self._target.cluster_id:
                await Deferred.fromCoroutine(self.flush()).addTimeout(STOP_S, self._reactor)
        except Exception as error:  # they are read from the log at the next start
            self._log.warn("positions were not written: {error}", error=str(error) or type(error).__name__)
        await self._target.stop()
        self._log.info("mirror stopped: {line}", line=Totals.of(self.status_at_end).line())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task: Deferred[None] = Deferred.fromCoroutine(work)
        task.addErrback(lambda failure: failure.trap(CancelledError, ClientClosed) and None)
        task.addErrback(lambda failure: self._log.failure("a mirror", failure))
        self._tasks.append(task)

    def _every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]], what: str) -> None:
        """Do something again and again; errors are logged once until it succeeds. 0: never."""

        async def repeat() -> None:
            told = ""
            while True:
                await deferLater(self._reactor, seconds)
                try:
                    await work()
                    told = ""
                except (CancelledError, ClientClosed):
                    raise
                except KafkaTXError as error:
                    if str(error) != told:
                        self._log.warn("{what}: {error}; trying again", what=what, error=error)
                    told = str(error)
                except Exception:
                    self._log.failure("{what}", what=what)

        if seconds > 0:
            self._run(repeat())

    # -- work

    async def refresh(self) -> None:
        """Look for new topics and partitions of the sources now.

        :raises KafkaTXError: a cluster does not answer.
        """
        self._target.forget_topics()
        await self._target.ensure_notes()
        for one in self._sources:
            await one.refresh()

    async def flush(self) -> None:
        """Write positions, pairs of offsets and offset syncs now.

        :raises KafkaTXError: the target does not take them.
        """
        for one, topics in zip(self._sources, self._topics, strict=True):
            positions = {stream.id: stream.position for stream in one.streams.values()}
            await self._target.notes(one.alias).flush(positions)
            if self.settings[table.OFFSET_SYNCS]:
                await topics.write_syncs()

    async def _forget_deleted(self) -> None:
        for one in self._sources:
            streams = list(one.streams.values())
            for at in range(0, len(streams), FORGET_PARTITIONS):
                some = streams[at : at + FORGET_PARTITIONS]
                starts = await self._target.log.starts({stream.target_place for stream in some})
                self._target.notes(one.alias).forget_deleted([stream.id for stream in some], starts)

    async def _report(self) -> None:
        totals = self.totals()
        self._log.info("{line}", line=totals.line())

    # -- status

    def status(self) -> Sequence[StreamStatus]:
        """Return the status of all streams."""
        for one in self._sources:
            one.update_ends()
        return [stream.status for one in self._sources for stream in one.streams.values()]

    def totals(self) -> Totals:
        """Return the sums over all streams."""
        return Totals.of(self.status())

    async def source_ends(self) -> dict[tuple[str, TopicPartition], int]:
        """Return the end of each partition that is copied, by the source's alias and partition.

        :raises KafkaTXError: a source does not answer.
        """
        found: dict[tuple[str, TopicPartition], int] = {}
        for one in self._sources:
            ends = await one.ends()
            found |= {(one.alias, place): end for place, end in ends.items()}
        return found

    async def copied_up_to(self, ends: dict[tuple[str, TopicPartition], int]) -> bool:
        """Return True if all partitions are copied up to these ends, as :meth:`source_ends` returns them."""
        by_alias = {one.alias: one for one in self._sources}
        for (alias, place), end in ends.items():
            if not await by_alias[alias].copied_up_to(place, end):
                return False
        return True


def _filter(source: SourceSettings, settings: MirrorSettings) -> Keep | None:
    if not source.filter:
        return None
    own = own_settings(source.filter, settings.explicit)
    made: IRecordFilter = find(IRecordFilter, source.filter, "filter", own)()
    keep: Keep = made.keep
    return keep
