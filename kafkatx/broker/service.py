"""The broker's life: open the logs, register, listen; and in reverse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import attrs
from twisted.application.service import Service
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IDelayedCall, IListeningPort
from twisted.internet.task import Cooperator, LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import SERVED
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import bracketed
from kafkatx.errors import RequestError, SettingError
from kafkatx.interfaces import Workers
from kafkatx.net.reactors import WallClock
from kafkatx.net.readahead import ReadAhead
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.net.workers import ThreadWorkers
from kafkatx.types import BrokerNode

IDLE_CHECK_S = 5.0
RECORD_S = 0.1
"""How long after new logs were made their places are written down: many at once cost as much as one."""


@attrs.frozen
class Parts:
    """The factories that settings choose by name; their arguments stand in ``kafkatx.interfaces``."""

    log_store: Callable[..., Any]
    coordinator: Callable[..., Any]
    find_retention: Callable[[str], Any]


class BrokerService(Service):
    """One broker.

    :ivar started: fires with this service when clients can connect, or fails with what prevented it:
        ``SettingError`` for what a person can mend.
    :ivar halted: fires with why, for a person, if the broker can serve nothing any more: every log dir has
        failed. Whoever started the service should end it.
    :ivar bootstrap: ``host:port`` that a client on this machine can use; set when started.
    :ivar advertised: ``host:port`` that clients are told to connect to; set when started.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, parts: Parts, reactor: Any) -> None:
        self.config = config
        self.started: Deferred[BrokerService] = Deferred()
        self.bootstrap = self.advertised = ""
        self._reactor = reactor
        self._threads = ThreadWorkers(reactor)
        self.broker = _make_broker(config, parts, reactor, self._threads)
        self.halted = self.broker.replicas.halted
        self._dispatch = Dispatch(self.broker, SERVED)
        self._factory = KafkaServerFactory(self._dispatch, _limits(config), reactor, ReadAhead(self._threads))
        self.broker.config_listeners.append(self._use)
        self._ports: list[IListeningPort] = []
        self._chores: list[LoopingCall] = []
        self._cleaning: LoopingCall | None = None
        self._recording: IDelayedCall | None = None
        self._sharing = Cooperator(scheduler=partial(reactor.callLater, 0))
        self._opening: Deferred[None] | None = None
        self._registered = self._opened = False

    def startService(self) -> None:
        """Start; :attr:`started` tells how it went."""
        super().startService()
        for warning in self.config.warnings:
            self._log.warn("{warning}", warning=warning)
        self._opening = Deferred.fromCoroutine(self._start())

    async def _start(self) -> None:
        """Open, and tell how it went; whoever is told may stop the broker at once."""
        try:
            await self._open()
        except BaseException:
            self._failed(Failure())
        else:
            self.started.callback(self)

    async def _open(self) -> None:
        try:
            self._listen()
            ports = [port.getHost().port for port in self._ports]  # type: ignore[attr-defined]
            host, port = self.config.advertised(ports)
            node = BrokerNode(self.broker.node_id, host, port, self.config.get("broker.rack"))
            await self.broker.coordinator.start(node)
            self._registered = True
            await self.broker.open()
            self._opened = True  # from now on, not before: what is not ours must get no marker from us
            await self.broker.groups.open()
        except BaseException:
            await self._stop_listening()
            raise
        listener = self.config.listeners()[0]
        local = "127.0.0.1" if listener.host in ("", "0.0.0.0", "::") else listener.host
        self.bootstrap = f"{bracketed(local)}:{ports[0]}"
        self.advertised = f"{bracketed(node.host)}:{node.port}"
        for listening in self._ports:
            listening.startReading()  # type: ignore[attr-defined]
        self._start_chores()
        self.broker.topics.placements.on_change = self._record_soon
        self._log.info(
            "kafkatx is ready: broker {id} at {bootstrap}, {topics} topics, cluster {cluster}",
            id=self.broker.node_id,
            bootstrap=self.bootstrap,
            topics=len(self.broker.topics.partitions),
            cluster=self.broker.coordinator.state.cluster_id,
        )

    def _listen(self) -> None:
        """Take the ports; connections wait in the kernel until the logs are open.

        :raises SettingError: a port is in use, or not ours to use.
        """
        for listener in self.config.listeners():
            host = listener.host
            try:
                port = self._reactor.listenTCP(
                    listener.port, self._factory, 1024, "127.0.0.1" if host == "localhost" else host
                )
            except CannotListenError as error:
                raise SettingError(
                    f"listeners={listener}: cannot listen there: {error.socketError};"
                    " stop what uses the port, or choose another"
                ) from None
            port.stopReading()
            self._ports.append(port)

    def _failed(self, failure: Failure) -> None:
        if not failure.check(SettingError):
            self._log.failure("the broker could not start", failure)
        self.started.errback(failure)

    def load_rest(self) -> Deferred[Any]:
        """Import what a start leaves for later; fires when that is done."""
        return self._sharing.cooperate(self._dispatch.load_rest()).whenDone()

    def _start_chores(self) -> None:
        """Start what is done again and again."""
        chores: list[tuple[Callable[[], Any], float]] = [
            (self._retain, self.config.get("log.retention.check.interval.ms") / 1000),
            (self._checkpoint, self.config.get("log.flush.offset.checkpoint.interval.ms") / 1000),
            (self._factory.close_idle, IDLE_CHECK_S),
            (self._expire_offsets, self.config.get("offsets.retention.check.interval.ms") / 1000),
        ]
        for chore, seconds in chores:
            self._start_chore(LoopingCall(chore), seconds)
        if self.config.get("log.cleaner.enable"):
            self._cleaning = LoopingCall(self._clean)
            self._start_chore(self._cleaning, _cleaner_backoff_s(self.broker.config))

    def _start_chore(self, call: LoopingCall, seconds: float) -> None:
        call.clock = self._reactor
        call.start(seconds, now=False).addErrback(
            lambda failure: self._log.failure("a chore of the broker has ended", failure)
        )
        self._chores.append(call)

    def _use(self, config: BrokerConfig) -> None:
        """Take over settings that have changed while the broker runs."""
        self._factory.limits = _limits(config)
        if self._cleaning is not None:
            self._cleaning.interval = _cleaner_backoff_s(config)  # from the next round on

    def _retain(self) -> Deferred[Any]:
        """Roll and retain every log, some at a time; what fails in one must not keep the others."""
        return self._sharing.cooperate(self._retain_each(self.broker.now_ms())).whenDone()

    def _retain_each(self, now_ms: int) -> Iterator[None]:
        logs = self.broker.store.logs
        for name in list(logs):
            log = logs.get(name)  # it may have been deleted meanwhile
            if log is None:
                continue
            if not self.running:
                return
            for work in (log.roll_if_due, log.retain):  # what has no room to roll may make some
                try:
                    work(now_ms)
                except OSError as error:
                    self.broker.limited_log.warn(
                        "retention of {partition} failed: {error}", partition=name, error=error
                    )
                except Exception:
                    self._log.failure("retention of {partition} failed", partition=name)
            yield

    def _expire_offsets(self) -> Deferred[Any]:
        """Let old offsets go, a group at a time."""
        return self._sharing.cooperate(self.broker.expiry.expire_each(self.broker.now_ms())).whenDone()

    def _clean(self) -> Deferred[None]:
        """Compact logs until none is due; what fails is tried again the next time."""
        return Deferred.fromCoroutine(self._clean_all()).addErrback(
            lambda failure: self._log.failure("compaction failed", failure)
        )

    async def _clean_all(self) -> None:
        while await self.broker.store.clean(self.broker.now_ms()):
            pass

    def _checkpoint(self) -> Deferred[None]:
        """Write checkpoints, and which logs are gone; the next time is another chance."""

        def failed(failure: Failure) -> None:
            if failure.check(OSError):
                self.broker.limited_log.warn("writing checkpoints failed: {error}", error=failure.value)
            else:
                self._log.failure("writing checkpoints failed", failure)

        writing: Deferred[None] = self.broker.store.checkpoint()
        return writing.addErrback(failed).addCallback(lambda _: self._record())

    def _record_soon(self) -> None:
        """Write down where new logs are, in a moment."""
        if self._recording is None and self.running:
            self._recording = self._reactor.callLater(RECORD_S, self._record)

    def _record(self) -> Deferred[None]:
        """Write down where new logs are; the next time is another chance."""

        def failed(failure: Failure) -> None:
            if failure.check(OSError, RequestError):
                self.broker.limited_log.warn(
                    "recording the log dirs of partitions failed: {error}", error=failure.value
                )
            else:
                self._log.failure("recording the log dirs of partitions failed", failure)

        if self._recording is not None and self._recording.active():
            self._recording.cancel()
        self._recording = None
        return Deferred.fromCoroutine(self.broker.topics.placements.record()).addErrback(failed)

    def stopService(self) -> Deferred[None]:
        """Stop: no new connections, flush, markers, let go. Fires when all is done."""
        super().stopService()
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        if self._opening is not None:
            await self._opening  # the threads that open logs cannot be called back
        for chore in self._chores:
            if chore.running:
                chore.stop()
        await self._stop_listening()
        self._factory.close_all()
        try:
            if self._opened:
                self.broker.groups.stop()
                await self.broker.topics.settled()
                self.broker.flushes.stop()
                await self._record()
                await self.broker.store.close()
                self.broker.topics.partitions.clear()  # the files close when nobody holds the logs
                if not self.broker.replicas.halted.called:
                    self._log.info("kafkatx has stopped: every log is flushed")
        finally:
            if self._registered:
                await self.broker.coordinator.stop()
            self._threads.stop()

    async def _stop_listening(self) -> None:
        ports, self._ports = self._ports, []
        await DeferredList([Deferred.fromCoroutine(_stopped(port)) for port in ports])


async def _stopped(port: IListeningPort) -> None:
    stopping = port.stopListening()
    if stopping is not None:
        await stopping


def _make_broker(config: BrokerConfig, parts: Parts, reactor: Any, workers: Workers) -> Broker:
    store = parts.log_store(config, workers, WallClock(reactor), parts.find_retention)
    coordinator = parts.coordinator(config, workers, store.durable)
    broker = Broker(config, coordinator, store, reactor, workers)
    broker.offered = {served.api.key: served.api.versions for served in SERVED}
    return broker


def _cleaner_backoff_s(config: BrokerConfig) -> float:
    milliseconds: int = config.get("log.cleaner.backoff.ms")
    return max(milliseconds, 1) / 1000


def _limits(config: BrokerConfig) -> Limits:
    return Limits(
        max_request_bytes=config.get("socket.request.max.bytes"),
        max_queued_bytes=config.get("queued.max.request.bytes"),
        max_idle_ms=config.get("connections.max.idle.ms"),
        max_connections=config.get("max.connections"),
        max_connections_per_ip=config.get("max.connections.per.ip"),
        send_buffer_bytes=config.get("socket.send.buffer.bytes"),
        receive_buffer_bytes=config.get("socket.receive.buffer.bytes"),
        min_request_bytes_s=config.get("kafkatx.request.min.bytes.per.second"),
        max_turn_ms=config.get("kafkatx.request.turn.max.ms"),
        log_lines=config.get("kafkatx.log.lines.per.minute"),
    )
