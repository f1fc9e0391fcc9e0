"""The server of a local tree in a thread of this process: it keeps the state of a test's cluster.

It listens on a Unix socket in the cluster's directory; brokers in threads and in processes connect to it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from twisted.python.failure import Failure

from kafkatx.metadata.layout import paths
from kafkatx.net.reactors import close_reactor, new_reactor
from kafkatx.net.workers import ThreadWorkers
from kafkatx.testing.errors import BrokerDidNotStart

if TYPE_CHECKING:
    from twisted.internet.posixbase import PosixReactorBase

    from kafkatx.metadata.tree.local.listener import TreeListener

STOP_S = 30.0


class TreeThread:
    """One server that can be started and stopped again and again.

    :param file: path of its SQLite file.
    :param socket: path of its Unix socket.
    """

    def __init__(self, file: str, socket: str) -> None:
        self._file = file
        self._socket = socket
        self._thread: threading.Thread | None = None
        self._reactor: PosixReactorBase | None = None
        self._workers: ThreadWorkers | None = None
        self._listener: TreeListener | None = None

    def start(self, timeout_s: float) -> None:
        """Start the server and wait until brokers can connect.

        :raises BrokerDidNotStart: the file or the socket cannot be used.
        """
        from kafkatx.metadata.tree.local.listener import TreeListener

        ready = threading.Event()
        outcome: list[Failure | None] = []

        def settled(result: Failure | None) -> None:
            outcome.append(result)
            ready.set()

        self._reactor = reactor = new_reactor()
        self._workers = ThreadWorkers(reactor)
        self._listener = listener = TreeListener(self._file, self._socket, reactor, self._workers("tree"))
        reactor.callWhenRunning(lambda: listener.start().addBoth(settled))
        self._thread = threading.Thread(target=reactor.run, args=(False,), name="kafkatx tree", daemon=True)
        self._thread.start()
        if not ready.wait(timeout_s):
            self.stop()
            raise BrokerDidNotStart(f"the cluster's state was not open within {timeout_s:g} s")
        failure = outcome[0]
        if failure is not None:
            self.stop()
            raise BrokerDidNotStart(failure.getErrorMessage())

    def expire(self, broker_id: int) -> None:
        """End the session of a broker, as its time-out does. Does nothing if the broker is not registered."""
        reactor, listener = self._reactor, self._listener
        if reactor is None or listener is None:
            return
        done = threading.Event()

        def expire() -> None:
            try:
                owner = listener.server.owner(paths.broker(broker_id))
                if owner:
                    listener.server.expire(owner)
            finally:
                done.set()

        reactor.callFromThread(expire)
        done.wait(STOP_S)

    def stop(self) -> None:
        """Stop the server and wait for its thread to end. Does nothing if it is not running."""
        thread, reactor, workers = self._thread, self._reactor, self._workers
        if thread is None or reactor is None or workers is None:
            return
        reactor.callFromThread(self._stop, reactor)
        thread.join(STOP_S)
        workers.stop()
        if not thread.is_alive():
            close_reactor(reactor)
        self._thread = self._reactor = self._workers = self._listener = None

    def _stop(self, reactor: PosixReactorBase) -> None:
        assert self._listener is not None
        self._listener.stop().addBoth(lambda _: reactor.stop())
