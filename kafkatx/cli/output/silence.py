"""Lines on stderr while a command waits for a broker that accepts connections and does not answer.

:class:`kafkatx.blocking.Cluster` reports brokers that refuse connections, but its calls block while one is
silent. So a thread watches for how long the main thread has waited.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kafkatx.blocking import Connection
from kafkatx.blocking.security import Dial

EVERY_S = 5.0
LOOK_S = 0.5


class Watch:
    """Reports every EVERY_S how long a call has been waiting.

    :param tell: called with a line, in a thread of the watch's own.
    """

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._waiting: tuple[str, float] | None = None
        self._told = 0.0
        self._thread: threading.Thread | None = None

    @contextmanager
    def waiting(self, what: str) -> Iterator[Watch]:
        """Watch inside of this context until :meth:`over` is called; *what* begins the line."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kafkatx watch", daemon=True)
            self._thread.start()
        self._told = self._clock()
        self._waiting = what, self._told
        try:
            yield self
        finally:
            self.over()

    def over(self) -> None:
        """Stop watching: the call has an answer."""
        self._waiting = None

    def look(self) -> None:
        """Report the waiting call, if it is time to."""
        found, now = self._waiting, self._clock()
        if found is not None and now - self._told >= EVERY_S:
            self._told = now
            self._tell(f"{found[0]} for {now - found[1]:.0f} s")

    def _run(self) -> None:
        while True:
            time.sleep(LOOK_S)
            self.look()


class WatchedConnection(Connection):
    """A connection that reports to a :class:`Watch` while it waits."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        watch: Watch,
        timeout_s: float,
        connect_timeout_s: float,
        dial: Dial = socket.create_connection,
    ) -> None:
        super().__init__(host, port, timeout_s=timeout_s, connect_timeout_s=connect_timeout_s, dial=dial)
        self._watch = watch

    def open(self) -> None:
        """Connect and negotiate, unless that is done."""
        if self.fileno() < 0:
            with self._watch.waiting(f"no broker at {self.address}"):
                super().open()

    def receive(self, ticket: int) -> object:
        """Wait for the reply of one :meth:`send`."""
        with self._watch.waiting(f"no reply from the broker at {self.address}"):
            return super().receive(ticket)
