"""SIGHUP: stop a broker whose terminal has closed, or reload the settings of one in the background."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger

if TYPE_CHECKING:
    SignalHandler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None

_log = Logger()


class Reactor(Protocol):
    """The methods of a reactor that this module calls."""

    def callFromThread(self, function: Callable[..., object], *arguments: object) -> object:
        """Call *function* in the reactor's thread."""

    def callWhenRunning(self, function: Callable[..., object], *arguments: object) -> object:
        """Call *function* now, or as soon as the reactor runs."""

    def stop(self) -> None:
        """Stop the reactor."""


class HangUp:
    """The handler of SIGHUP while a broker runs."""

    def __init__(self, reload: Callable[[], object] | None, reactor: Reactor) -> None:
        """Keep the parameters; :meth:`start` installs the handler.

        :param reload: called in the reactor's thread on SIGHUP; None: SIGHUP stops the reactor.
        """
        self._reload = reload
        self._reactor = reactor
        self._before: SignalHandler = None

    def start(self) -> None:
        """Install the handler, unless SIGHUP is ignored or this is not the main thread."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
            return
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup has it
            self._before = signal.signal(signal.SIGHUP, self._received)

    def stop(self) -> None:
        """Restore the handler that was there before."""
        before, self._before = self._before, None
        if before is not None:
            signal.signal(signal.SIGHUP, before)

    def _received(self, *_: object) -> None:
        self._reactor.callFromThread(self._reload or self._end)

    def _end(self) -> None:
        _log.info("Received SIGHUP, shutting down.")
        self._reactor.callWhenRunning(_stop, self._reactor)


def _stop(reactor: Reactor) -> None:
    with suppress(ReactorNotRunning):  # another signal came before
        reactor.stop()
