"""A session of a tree on ZooKeeper: calls and events cross between kazoo's threads and the reactor's.

Three threads meet here: the reactor's, kazoo's connection thread (states, results, watch events) and a worker
for the calls of kazoo that block: starting and stopping.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar, cast

from kazoo.protocol.states import KazooState, WatchedEvent, ZnodeStat
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.interfaces.nodes import (
    Check,
    NodeStat,
    Operation,
    OperationError,
    Outcome,
    SessionExpired,
    TreeError,
)
from kafkatx.interfaces.tree import Watch
from kafkatx.interfaces.workers import Worker
from kafkatx.metadata.tree.client import SessionEvents
from kafkatx.metadata.tree.zookeeper.answers import CHANGES, node_stat, outcomes, tree_error
from kafkatx.metadata.tree.zookeeper.kazoo_client import Client, Result, Watcher
from kafkatx.metadata.tree.zookeeper.requests import acl, add
from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings
from kafkatx.metadata.tree.zookeeper.start import ClientStart, connected_client

T = TypeVar("T")

PIPELINE = 100
"""Requests under way at once; others wait. kazoo writes a byte per request to a socket whose buffer holds
some 270 of them, and would block the reactor when it is full."""


class KazooSession:
    """One session by one kazoo client (``client.Session``).

    kazoo starts another session by itself when one has expired. No request may get into it whose caller
    believes to be in the old one: :attr:`_over` is set in the connection thread before kazoo fails what is
    queued and begins anew, and requests are queued under the same lock.

    :param reactor: the reactor whose thread gets results and events.
    :param worker: runs blocking calls; the same one for all sessions of a tree.
    """

    _log = Logger()

    def __init__(
        self, settings: ZooKeeperSettings, reactor: IReactorFromThreads, worker: Worker, events: SessionEvents
    ) -> None:
        self._settings = settings
        self._reactor = reactor
        self._worker = worker
        self._events = events
        self._lock = threading.Lock()
        self._over = False
        self._closed = False
        self._started = False
        self._state: str | None = None
        self._timeout_s = settings.session_timeout_s
        self._under_way = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._start = ClientStart(settings, settings.connect, self._negotiated)
        self.client: Client = self._start.client
        self.client.add_listener(self._changed)
        worker(self._connect).addCallbacks(self._begin, self._fail)

    def read(self, path: str, watch: Watch | None) -> Deferred[tuple[bytes, NodeStat]]:
        """Read a node."""

        def convert(value: object) -> tuple[bytes, NodeStat]:
            data, stat = cast("tuple[bytes | None, ZnodeStat]", value)
            return data or b"", node_stat(stat)  # the data of many nodes of Apache Kafka are null

        return self._ask(path, lambda: self.client.get_async(path, self._watcher(watch)), convert)

    def children(self, path: str, watch: Watch | None) -> Deferred[Sequence[str]]:
        """List the children of a node."""

        def convert(value: object) -> Sequence[str]:
            return cast("Sequence[str]", value)

        return self._ask(path, lambda: self.client.get_children_async(path, self._watcher(watch)), convert)

    def exists(self, path: str, watch: Watch | None) -> Deferred[NodeStat | None]:
        """Look for a node."""

        def convert(value: object) -> NodeStat | None:
            return None if value is None else node_stat(value)

        return self._ask(path, lambda: self.client.exists_async(path, self._watcher(watch)), convert)

    def multi(self, operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
        """Make all of some operations, or none."""
        operations = tuple(operations)

        def convert(value: object) -> tuple[Outcome, ...]:
            return outcomes(operations, cast("Sequence[object]", value))

        return self._ask(operations[0].path, lambda: self._commit(operations), convert)

    def sync(self, path: str) -> Deferred[None]:
        """Catch up with a transaction that checks a node and changes nothing.

        ZooKeeper's own ``sync`` is not enough. A server that leads answers it at once, though followers may
        have answered for writes that it has not applied yet itself (``matchSyncs`` in its
        ``LeaderZooKeeperServer``); and one that has been deposed and does not know it answers, too
        (ZOOKEEPER-1675, ZOOKEEPER-2136). A transaction needs a quorum, and its reply comes from a server that
        has applied all before it; what the check finds does not matter.
        """
        operations = (Check(path),)

        def convert(value: object) -> None:
            with suppress(OperationError):
                outcomes(operations, cast("Sequence[object]", value))

        return self._ask(path, lambda: self._commit(operations), convert)

    def _commit(self, operations: Sequence[Operation]) -> Result:
        transaction = self.client.transaction()
        for operation in operations:
            add(transaction, operation, self._settings.set_acl)
        return transaction.commit_async()

    def close(self) -> Deferred[None]:
        """End the session, in the worker. The Deferred fires also if the server could not be told."""
        with self._lock:
            self._over = self._closed = True
        self._start.stop()
        self._waiting.clear()

        def logged(failure: Failure) -> None:
            self._log.warn("ZooKeeper session not closed: {error}", error=failure.getErrorMessage())

        return self._worker(self._stop).addErrback(logged)

    def _connect(self) -> None:
        """Connect, and make the chroot if it is missing and that is wanted. In the worker."""
        if not self._start.run() and self._settings.make_chroot:
            with connected_client(self._settings, self._settings.hosts) as client:
                chroot = self._settings.chroot
                client.ensure_path(chroot, acl(chroot, self._settings.set_acl))

    def _stop(self) -> None:
        """Stop kazoo's threads. In the worker."""
        self.client.stop()
        self.client.close()

    def _negotiated(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    def _changed(self, state: str) -> None:
        """Hand a state over to the reactor. In the connection thread."""
        if state == KazooState.LOST:
            with self._lock:
                self._over = True
        self._reactor.callFromThread(self._enter, state)

    def _begin(self, result: None) -> None:
        """Tell the state that was reached while starting."""
        self._started = True
        if self._state is not None and self._state != KazooState.SUSPENDED:
            self._enter(self._state)

    def _fail(self, failure: Failure) -> None:
        error = failure.value
        if isinstance(error, TreeError):
            self._events.lost(error)
        else:
            self._log.failure("ZooKeeper session not started.", failure)
            cause = error if isinstance(error, Exception) else RuntimeError("no ZooKeeper session")
            self._events.lost(tree_error(cause, self._settings.chroot or "/"))

    def _enter(self, state: str) -> None:
        """Take over a state. In the reactor thread."""
        self._state = state
        if not self._started or self._closed:
            return
        if state == KazooState.CONNECTED:
            identity = self.client.client_id
            if identity is not None:  # else it is gone again, and SUSPENDED is on its way
                self._log.info(
                    "ZooKeeper {hosts}: connected with session {session:#x}, time-out {timeout_s:g} s",
                    hosts=self._settings.hosts,
                    session=identity[0],
                    timeout_s=self._timeout_s,
                )
                self._events.connected(identity[0], self._timeout_s)
        elif state == KazooState.SUSPENDED:
            self._waiting.clear()
            self._events.suspended()
        else:
            self._waiting.clear()
            self._events.lost(SessionExpired("the session has expired"))

    def _watcher(self, watch: Watch | None) -> Watcher | None:
        if watch is None:
            return None
        local = watch

        def report(event: WatchedEvent) -> None:
            change = CHANGES.get(event.type)
            if change is not None:
                self._reactor.callFromThread(local, change)

        return report

    def _ask(self, path: str, call: Callable[[], Result], convert: Callable[[object], T]) -> Deferred[T]:
        asked: Deferred[T] = Deferred()

        def reply(value: object, error: Exception | None) -> None:
            """Take over a result. In the reactor thread."""
            if asked.called:  # kazoo sets some results twice when it is closed
                return
            self._under_way -= 1
            try:
                if error is not None:
                    raise tree_error(error, path)
                converted = convert(value)
            except Exception:
                asked.errback()
            else:
                asked.callback(converted)
            self._send_waiting()

        def send() -> None:
            with self._lock:
                result = None if self._over else call()
            if result is None:
                asked.errback(SessionExpired("the session has ended"))
            else:
                self._under_way += 1
                result.rawlink(
                    lambda result: self._reactor.callFromThread(reply, result.value, result.exception)
                )

        self._waiting.append(send)
        self._send_waiting()
        return asked

    def _send_waiting(self) -> None:
        while self._waiting and self._under_way < PIPELINE:
            self._waiting.popleft()()
