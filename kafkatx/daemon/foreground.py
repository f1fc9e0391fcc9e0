"""Run a broker in this process until a signal ends it: what twistd does for ``twistd kafkatx``.

SIGINT and SIGTERM stop the broker. SIGHUP stops it if the process has a controlling terminal, which has then
closed; otherwise the settings are read again. SIGUSR1 begins a new log file after the old one was renamed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.error import ReactorNotRunning
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx import __version__
from kafkatx.daemon.hang_up import Reactor
from kafkatx.daemon.log_file import reopen_log_file
from kafkatx.daemon.process_file import ProcessNote
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.daemon.system import READY, STOPPING, allow_open_files, notify
from kafkatx.net.reactors import make_monotonic

if TYPE_CHECKING:
    from kafkatx.daemon.service import ProcessService

_log = Logger()


class MainReactor(Reactor, Protocol):
    """The reactor of the process, which this module runs."""

    def run(self) -> None:
        """Run until :meth:`stop` is called and the system event triggers are done."""

    def addSystemEventTrigger(self, phase: str, eventType: str, callable: Callable[..., object]) -> object:
        """Call a function at an event."""


class DaemonService(Protocol):
    """The service of a process: that of one broker, or of all brokers of a machine.

    :ivar started: fires when clients can connect, or fails with the reason.
    :ivar halted: fires with the reason when the service can serve nothing any more.
    :ivar bootstrap: ``host:port`` that a client on this machine can use; set when started.
    :ivar advertised: ``host:port`` that clients are told to connect to first; set when started.
    """

    started: Deferred[Any]
    halted: Deferred[str]
    bootstrap: str
    advertised: str

    @property
    def http_url(self) -> str | None:
        """The URL of the HTTP listener."""

    def privilegedStartService(self) -> None:
        """Install signal handlers."""

    def startService(self) -> None:
        """Start; :attr:`started` tells the outcome."""

    def stopService(self) -> Deferred[None]:
        """Stop; fires when that is done."""

    def write_note(self, note: ProcessNote, *, pid_file: bool) -> Deferred[None]:
        """Write the note about this process to its directories."""

    def settle(self) -> None:
        """Prepare for a long life."""

    def rotate(self) -> None:
        """Note that the log file was opened anew."""


Service = TypeVar("Service", bound=DaemonService)


class ForegroundBroker(Generic[Service]):
    """A broker, the reactor of its process, and their signals.

    :ivar failure: why the broker could not start or had to stop; None if a signal ended it.
    """

    def __init__(
        self,
        make_service: Callable[[MainReactor, bool], Service],
        reactor: MainReactor,
        *,
        log_file: str | None = None,
        on_ready: Callable[[Service], object],
    ) -> None:
        """Read the settings and make the broker.

        :param make_service: makes the service; it is told whether SIGHUP has the settings read again, or
            stops the process.
        :param log_file: absolute path of the file that standard error is; a process id file is written then.
        :param on_ready: called when clients can connect.
        :raises SettingError: the settings are wrong.
        """
        self.failure: str | None = None
        self._reactor = reactor
        self._log_file = log_file
        self._on_ready = on_ready
        self._stopping = False
        self._service = make_service(reactor, not has_terminal())
        self._service.started.addCallbacks(self._started, self._not_started)
        self._service.started.addErrback(self._broken)
        self._service.halted.addCallback(self.fail)

    def run(self) -> None:
        """Start the broker, and return when it has stopped."""
        self._service.privilegedStartService()
        self._service.startService()
        self._reactor.addSystemEventTrigger("before", "shutdown", self._service.stopService)
        self._reactor.callWhenRunning(self._install_signals)  # after the reactor's own
        self._reactor.run()

    def _started(self, service: object) -> Deferred[None]:
        note = ProcessNote(os.getpid(), __version__, self._service.bootstrap, self._log_file)
        noted = self._service.write_note(note, pid_file=self._log_file is not None)
        return noted.addCallback(lambda _: self._ready())

    def _not_started(self, failure: Failure) -> None:
        if not self._stopping:  # else a signal came before, which is no failure
            self.fail(failure.getErrorMessage())

    def _ready(self) -> None:
        if self._stopping:
            return
        self._service.settle()
        self._on_ready(self._service)
        notify(READY)

    def _broken(self, failure: Failure) -> None:
        _log.failure("the broker is ready, and what follows has failed", failure)
        self.fail(failure.getErrorMessage())

    def fail(self, why: str) -> None:
        """Stop with an error."""
        self.failure = self.failure or why
        self._reactor.callWhenRunning(self.stop)

    def stop(self) -> None:
        """Stop the broker; a second call only logs that the first is not done."""
        if self._stopping:
            _log.warn("the broker is stopping already: it writes its logs to the disk")
            return
        self._stopping = True
        notify(STOPPING)
        with suppress(ReactorNotRunning):  # SIGHUP came before
            self._reactor.stop()

    def _install_signals(self) -> None:
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as a shell's background job has it
            signal.signal(signal.SIGINT, self._stop_signal)
        signal.signal(signal.SIGTERM, self._stop_signal)
        if hasattr(signal, "SIGUSR1"):
            signal.signal(signal.SIGUSR1, self._rotate_signal)

    def _stop_signal(self, number: int, frame: FrameType | None) -> None:
        self._reactor.callFromThread(self.stop)

    def _rotate_signal(self, number: int, frame: FrameType | None) -> None:
        if self._log_file is not None:
            self._reactor.callFromThread(self._rotate, self._log_file)

    def _rotate(self, log_file: str) -> None:
        reopen_log_file(log_file)
        self._service.rotate()


def has_terminal() -> bool:
    """Return True if this process has a controlling terminal, which sends SIGHUP when it closes."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def one_broker(source: SettingsSource) -> Callable[[MainReactor, bool], ProcessService]:
    """Return what makes the service of one broker."""
    from kafkatx.daemon.service import ProcessService  # a supervisor of several needs none

    def make(reactor: MainReactor, reloads: bool) -> ProcessService:
        return ProcessService(source, reactor, reloads=reloads)

    return make


def run(
    make_service: Callable[[MainReactor, bool], Service],
    *,
    log_file: str | None,
    on_ready: Callable[[Service], object],
) -> str | None:
    """Run a broker with the process's reactor; return why it failed, or None after a signal.

    :param make_service: :func:`one_broker`, for example.
    :raises SettingError: the settings are wrong.
    """
    import twisted.internet.reactor

    reactor: Any = twisted.internet.reactor  # Twisted's own type lacks callFromThread
    make_monotonic(reactor)
    allow_open_files()
    broker = ForegroundBroker(make_service, reactor, log_file=log_file, on_ready=on_ready)
    broker.run()
    return broker.failure


def log_failure(why: str) -> None:
    """Log why a broker in the background has ended."""
    _log.critical("{why}", why=why)
