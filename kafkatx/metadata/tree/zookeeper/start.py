"""The start of a client of kazoo, in a thread that may block; and kazoo's log, which goes into ours."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kazoo import exceptions
from kazoo.protocol.states import KeeperState
from twisted.logger import Logger

from kafkatx.interfaces.nodes import ConnectionLost, NotAuthenticated, SessionExpired
from kafkatx.metadata.tree.zookeeper.kazoo_client import Client, make_client
from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings

REPORT_S = 10.0
"""Interval of lines in the log about a server that does not answer."""

_RETRIED = (exceptions.ConnectionLoss, exceptions.ConnectionClosedError, exceptions.SessionExpiredError)


_twisted_log = Logger()


class KazooLog(logging.Logger):
    """The log of one client of kazoo. Its warnings are of level debug here: a lost connection has many.

    :ivar last_warning: the last one; empty if there was none.
    """

    def __init__(self) -> None:
        super().__init__("kazoo", logging.WARNING)
        self.last_warning = ""

    def handle(self, record: logging.LogRecord) -> None:
        """Log a record."""
        message = record.getMessage()
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info)
            _twisted_log.error("kazoo: {text}\n{trace}", text=message, trace=trace)
        else:
            _twisted_log.debug("kazoo: {text}", text=message)
            self.last_warning = message


class ClientStart:
    """Starts a client, and waits until a server answers it.

    :ivar wake: set by the client's listener for each state, and by those who stop the start.
    """

    def __init__(
        self, settings: ZooKeeperSettings, connect: str, negotiated: Callable[[float], None]
    ) -> None:
        self._settings = settings
        self._kazoo_log = KazooLog()
        self._stopped = False
        self._is_refused = False
        self.wake = threading.Event()
        self.client: Client = make_client(settings, connect, negotiated, self._kazoo_log)
        self.client.add_listener(self._changed)

    def _changed(self, state: str) -> None:
        """Take note of a new state, in the connection thread: AUTH_FAILED becomes CLOSED in a moment."""
        if self.client.client_state == KeeperState.AUTH_FAILED:
            self._is_refused = True
        self.wake.set()

    def stop(self) -> None:
        """Make :meth:`run` fail with SessionExpired. From any thread."""
        self._stopped = True
        self.wake.set()

    def run(self) -> bool:
        """Return when a server has answered: True if there is a node at the client's root, its chroot.

        :raises ConnectionLost: no server answered in time.
        :raises NotAuthenticated: a server refuses the credentials.
        :raises SessionExpired: :meth:`stop` was called.
        """
        if self._stopped:
            raise SessionExpired("the session was closed")
        self.client.start_async()
        began_s = reported_s = time.monotonic()
        while True:
            there = self._ask()
            if there is not None:
                return there
            now_s = time.monotonic()
            left_s = began_s + self._settings.connection_timeout_s - now_s
            if left_s <= 0:
                raise ConnectionLost(self._waited(now_s - began_s))
            if now_s - reported_s >= REPORT_S:
                reported_s = now_s
                _twisted_log.warn(
                    "{waited}; waiting for {left:.0f} s more",
                    waited=self._waited(now_s - began_s),
                    left=left_s,
                )
            self.wake.wait(min(left_s, reported_s + REPORT_S - now_s))
            self.wake.clear()

    def _ask(self) -> bool | None:
        """Return True if the root exists, None while no server answers.

        The answer comes through the connection thread, which has told the client's listeners before.
        """
        if self._stopped:
            raise SessionExpired("the session was closed")
        if self._is_refused or self.client.client_state == KeeperState.AUTH_FAILED:
            raise self._refused()
        if not self.client.connected:
            return None
        try:
            return self.client.exists("/") is not None
        except exceptions.AuthFailedError:
            raise self._refused() from None
        except _RETRIED:
            return None

    def _refused(self) -> NotAuthenticated:
        return NotAuthenticated(
            f"ZooKeeper {self._settings.hosts} refuses this program: its user name or password is wrong, or "
            "the server has no SASL with DIGEST-MD5"
        )

    def _waited(self, waited_s: float) -> str:
        cause = f" ({self._kazoo_log.last_warning})" if self._kazoo_log.last_warning else ""
        return f"no ZooKeeper server of {self._settings.hosts} has answered for {waited_s:.0f} s{cause}"


@contextmanager
def connected_client(settings: ZooKeeperSettings, connect: str) -> Iterator[Client]:
    """Connect a client for a few calls that block.

    :param connect: servers and chroot.
    :raises TreeError: as :meth:`ClientStart.run`.
    """
    start = ClientStart(settings, connect, lambda timeout_s: None)
    try:
        start.run()
        yield start.client
    finally:
        start.client.stop()
        start.client.close()
