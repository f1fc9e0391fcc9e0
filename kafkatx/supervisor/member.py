"""The service of one of several brokers, in its own process; it stops with the supervisor."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone, ReactorNotRunning
from twisted.internet.interfaces import IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from kafkatx.daemon.foreground import DaemonService, MainReactor, run
from kafkatx.daemon.process_file import ProcessNote
from kafkatx.daemon.service import ProcessService
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.supervisor.status import Order

STDIN = 0
CHUNK_BYTES = 4096

_log = Logger()


@implementer(IReadDescriptor)
class Lifeline:
    """Standard input, a pipe whose other end the supervisor holds.

    :param ended: called when it ends, once.
    """

    def __init__(self, ended: Callable[[], object], descriptor: int = STDIN) -> None:
        self._ended = ended
        self._descriptor = descriptor

    def attach(self, reactor: Any) -> None:
        """Watch it."""
        os.set_blocking(self._descriptor, False)
        self._reactor = reactor
        reactor.addReader(self)

    def doRead(self) -> None:
        """Drop what comes; notice the end."""
        try:
            data = os.read(self._descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._reactor.removeReader(self)
            self._ended()

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def connectionLost(self, reason: Failure) -> None:
        """Notice the end, as some reactors tell it; a reactor that stops gives another reason."""
        if reason.check(ConnectionDone):
            self._ended()

    def logPrefix(self) -> str:
        """Return the name of this reader."""
        return "supervisor"


class MemberService(ProcessService):
    """A broker that a supervisor has started."""

    def __init__(self, order: Order, reactor: MainReactor, *, reloads: bool) -> None:
        super().__init__(SettingsSource(order.config, order.overrides), reactor, reloads=reloads)
        self._notes = order.note

    def write_note(self, note: ProcessNote, *, pid_file: bool) -> Deferred[None]:
        """Write the note, unless the supervisor's is in the same directory."""
        return super().write_note(note, pid_file=False) if self._notes else succeed(None)


def run_member(order: Order, ready: Callable[[str, str | None], None]) -> str | None:
    """Run a broker until it is stopped; return why it failed, or None.

    :param ready: called when clients can connect, with ``host:port`` that it advertises, and the URL of its
        HTTP listener.
    :raises SettingError: the settings are wrong.
    """

    def make(reactor: MainReactor, reloads: bool) -> MemberService:
        def stop() -> None:
            _log.warn("The supervisor has ended, and this broker stops, too.")
            with suppress(ReactorNotRunning):  # a signal came before
                reactor.stop()

        lifeline = Lifeline(stop)
        reactor.callWhenRunning(lifeline.attach, reactor)
        return MemberService(order, reactor, reloads=reloads)

    def on_ready(service: DaemonService) -> None:
        ready(service.advertised, service.http_url)

    return run(make, log_file=order.log_file, on_ready=on_ready)
