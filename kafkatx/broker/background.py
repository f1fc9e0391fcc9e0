"""The background tasks of a broker: retention, checkpoints, expiry of offsets, compaction.

Each runs at an interval from the settings; a task that walks through all logs or groups gives the reactor's
other work its turn. What fails is logged and tried again the next time. It touches the clock that it is
handed, and logs through the log store. :mod:`kafkatx.broker.service` starts and stops the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import Cooperator, LoopingCall
from twisted.logger import Logger

from kafkatx.broker.broker import Broker
from kafkatx.broker.replica.logs.deletions import RetentionRound
from kafkatx.config import BrokerConfig
from kafkatx.config.table import groups, replication
from kafkatx.errors import RequestError
from kafkatx.types import ClusterDelta

IDLE_CHECK_INTERVAL_S = 5.0
LEARNED_INTERVAL_S = 10.0
RECORD_DELAY_S = 0.1
"""The log dirs of new logs are recorded this long after their creation: many at once cost as much as one."""
NOTE_DELAY_S = 0.5
"""A change of the cluster's state is noted in the log dirs this long after it, with those that follow."""


class BackgroundTasks:
    """The tasks of one broker.

    :param close_idle: closes idle connections.
    :ivar running: True between :meth:`start` and :meth:`stop`.
    """

    _log = Logger()

    def __init__(self, broker: Broker, clock: IReactorTime, close_idle: Callable[[], None]) -> None:
        self._broker = broker
        self._clock = clock
        self._close_idle = close_idle
        self._cooperator = Cooperator(scheduler=partial(clock.callLater, 0))
        self._calls: list[LoopingCall] = []
        self._cleaning: LoopingCall | None = None
        self._recording: IDelayedCall | None = None
        self._noting: IDelayedCall | None = None
        self.running = False

    def start(self) -> None:
        """Begin to call the tasks at their intervals, for the first time after one interval."""
        self.running = True
        config = self._broker.config
        get = config.get
        self._repeat(self.retain, get("log.retention.check.interval.ms") / 1000)
        self._repeat(self.checkpoint, get("log.flush.offset.checkpoint.interval.ms") / 1000)
        if self._broker.metadata.lease_remaining_s is not None:  # partitions may have several replicas
            interval_ms = self._broker.config[replication.REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS]
            self._repeat(self.checkpoint_high_watermarks, interval_ms / 1000)
            self._broker.metadata.subscribe(self._note_soon)
            self._note_soon()
        self._repeat(self._close_idle, IDLE_CHECK_INTERVAL_S)
        self._repeat(self.expire_offsets, get("offsets.retention.check.interval.ms") / 1000)
        self._repeat(self.abort_transactions, config[groups.TRANSACTION_ABORT_INTERVAL_MS] / 1000)
        self._repeat(self.expire_transactions, config[groups.TRANSACTION_EXPIRY_INTERVAL_MS] / 1000)
        learned = self._broker.learned
        if learned is not None:
            self._repeat(learned.write, LEARNED_INTERVAL_S)
        if get("log.cleaner.enable"):
            self._cleaning = self._repeat(self.clean, _cleaner_backoff_s(self._broker.config))
        self._broker.config_listeners.append(self._use)

    def _repeat(self, task: Callable[[], object], seconds: float) -> LoopingCall:
        call = LoopingCall(task)
        call.clock = self._clock
        call.start(seconds, now=False).addErrback(
            lambda failure: self._log.failure("a background task of the broker has ended", failure)
        )
        self._calls.append(call)
        return call

    def _use(self, config: BrokerConfig) -> None:
        if self._cleaning is not None:
            self._cleaning.interval = _cleaner_backoff_s(config)  # from the next round on

    def stop(self) -> None:
        """Begin no task any more; a round of retention in progress ends before its next log."""
        self.running = False
        if self._noting is not None:
            self._noting.cancel()
            self._noting = None
        for call in self._calls:
            if call.running:
                call.stop()

    def cooperate(self, steps: Iterator[None]) -> Deferred[None]:
        """Run *steps* to their end, between the reactor's other work.

        :return: fires with None, or fails with what a step raised.
        """
        done: Deferred[None] = Deferred()
        self._cooperator.cooperate(steps).whenDone().addCallback(lambda _: None).chainDeferred(done)
        return done

    # --- the tasks

    def retain(self) -> Deferred[None]:
        """Roll and retain every log; a failure of one does not affect the others."""
        return self.cooperate(self._retain_each(self._broker.now_ms()))

    def _retain_each(self, now_ms: int) -> Iterator[None]:
        logs, retention = self._broker.store.logs, RetentionRound(now_ms)
        for name in list(logs):
            log = logs.get(name)  # it may have been deleted meanwhile
            if log is None:
                continue
            if not self.running:
                break
            # a log that has no room to roll may make some
            for work in (partial(log.roll_if_due, now_ms), partial(retention.retain, name, log)):
                try:
                    work()
                except OSError as error:
                    self._broker.limited_log.warn(
                        "retention of {partition} failed: {error}", partition=name, error=error
                    )
                except Exception:
                    self._log.failure("retention of {partition} failed", partition=name)
            yield
        retention.end()

    def expire_offsets(self) -> Deferred[None]:
        """Delete old committed offsets, one group at a time."""
        return self.cooperate(self._broker.expiry.expire_each(self._broker.now_ms()))

    def abort_transactions(self) -> Deferred[None]:
        """Abort the transactions whose time-out has passed."""
        from kafkatx.broker.coordinator.transactions.sweeps import abort_each

        return self.cooperate(abort_each(self._broker.transactions))

    def expire_transactions(self) -> Deferred[None]:
        """Forget transactional ids that were not used for long."""
        from kafkatx.broker.coordinator.transactions.sweeps import expire_each

        return self.cooperate(expire_each(self._broker.transactions))

    def clean(self) -> Deferred[None]:
        """Compact logs until none needs it."""
        return Deferred.fromCoroutine(self._clean_all()).addErrback(
            lambda failure: self._log.failure("compaction failed", failure)
        )

    async def _clean_all(self) -> None:
        while await self._broker.store.clean(self._broker.now_ms()):
            pass

    def checkpoint(self) -> Deferred[None]:
        """Write the checkpoints of all logs, and record which logs were deleted."""
        return Deferred.fromCoroutine(self._checkpoint())

    async def _checkpoint(self) -> None:
        try:
            await self._broker.store.checkpoint()
        except OSError as error:
            self._broker.limited_log.warn("writing checkpoints failed: {error}", error=error)
        except Exception:
            self._log.failure("writing checkpoints failed")
        await self._record()

    async def _checkpoint_high_watermarks(self) -> None:
        try:
            await self._broker.replicas.checkpoint_high_watermarks()
        except OSError as error:
            self._broker.limited_log.warn("writing high watermarks failed: {error}", error=error)
        except Exception:
            self._log.failure("writing high watermarks failed")

    def checkpoint_high_watermarks(self) -> Deferred[None]:
        """Write the high watermarks of partitions with several replicas."""
        return Deferred.fromCoroutine(self._checkpoint_high_watermarks())

    def _note_soon(self, delta: ClusterDelta | None = None) -> None:
        if self._noting is None and self.running:
            self._noting = self._clock.callLater(NOTE_DELAY_S, self._note)

    def _note(self) -> None:
        self._noting = None
        self._broker.store.note_generation().addErrback(
            lambda failure: self._broker.limited_log.warn(
                "noting the generation of the cluster's state failed: {error}", error=failure.value
            )
        )

    def record_soon(self) -> None:
        """Record the log dirs of new logs, in a moment."""
        if self._recording is None and self.running:
            self._recording = self._clock.callLater(RECORD_DELAY_S, self.record)

    def record(self) -> Deferred[None]:
        """Record the log dirs of created and deleted logs."""
        return Deferred.fromCoroutine(self._record())

    async def _record(self) -> None:
        if self._recording is not None and self._recording.active():
            self._recording.cancel()
        self._recording = None
        try:
            await self._broker.topics.placements.record()
        except (OSError, RequestError) as error:
            self._broker.limited_log.warn("recording the log dirs of partitions failed: {error}", error=error)
        except Exception:
            self._log.failure("recording the log dirs of partitions failed")


def _cleaner_backoff_s(config: BrokerConfig) -> float:
    milliseconds: int = config.get("log.cleaner.backoff.ms")
    return max(milliseconds, 1) / 1000
