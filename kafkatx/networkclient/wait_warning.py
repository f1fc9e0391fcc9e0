"""Warnings while a client waits for a broker that does not answer. Touches a timer and the log."""

from __future__ import annotations

from types import TracebackType

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

FIRST_WARNING_S = 5.0
"""Seconds of waiting before the first warning; the next ones follow when the wait has doubled."""


class WaitWarning:
    """A context in which a client waits for an answer from any broker; leaving it stops the warnings.

    Logs a warning after FIRST_WARNING_S, then whenever the wait has doubled: 5, 10, 20, 40 s. Leaving it
    without an exception after a warning logs that a broker has answered.

    :ivar error: the last failure, for the next warning; None: no broker has refused, they are silent.
    """

    _log = Logger()

    def __init__(self, reactor: IReactorTime, servers: str) -> None:
        """:param servers: the addresses of the brokers, for the message."""
        self.error: Exception | None = None
        self._reactor = reactor
        self._servers = servers
        self._began_s = 0.0
        self._warned = False
        self._timer: IDelayedCall | None = None

    def __enter__(self) -> WaitWarning:
        self._began_s = self._reactor.seconds()
        self._timer = self._reactor.callLater(FIRST_WARNING_S, self._warn)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self._warned and kind is None:
            waited_s = self._reactor.seconds() - self._began_s
            self._log.info("a broker has answered after {seconds:.0f} s", seconds=waited_s)

    def _warn(self) -> None:
        self._warned = True
        waited_s = self._reactor.seconds() - self._began_s
        self._timer = self._reactor.callLater(waited_s, self._warn)
        if self.error is None:
            text = "no broker at {servers} for {seconds:.0f} s; still waiting for an answer"
        else:
            text = "no broker at {servers} for {seconds:.0f} s; trying until one answers: {error}"
        self._log.warn(text, servers=self._servers, seconds=waited_s, error=self.error)
