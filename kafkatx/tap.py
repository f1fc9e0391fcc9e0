"""``twistd kafkatx``: its options, and the service that they ask for.

``kafkatx up`` starts the same service without twistd: :mod:`kafkatx.daemon.foreground`.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from twisted.application.service import IService, Service
from twisted.logger import Logger
from twisted.python import usage

from kafkatx import __version__
from kafkatx.daemon.hang_up import Reactor
from kafkatx.daemon.process_file import ProcessNote
from kafkatx.daemon.service import ProcessService, installed_parts
from kafkatx.daemon.settings_source import SettingsSource
from kafkatx.daemon.system import allow_open_files
from kafkatx.daemon.twistd_parent import TwistdParent
from kafkatx.errors import SettingError
from kafkatx.net.reactors import make_monotonic

__all__ = ["Options", "installed_parts", "makeService"]

NEXT = (
    "echo hello | kafkatx produce greetings -b {bootstrap}",
    "kafkatx consume greetings -o beginning -e -b {bootstrap}",
)

_log = Logger()


class Options(usage.Options):
    """A Kafka broker that any Kafka client can talk to."""

    synopsis = "[--config FILE] [--set name=value]..."
    optParameters = (("config", "c", None, "A settings file; an Apache Kafka server.properties will do."),)

    def __init__(self) -> None:
        super().__init__()
        self["overrides"] = []

    def opt_set(self, pair: str) -> None:
        """Set one setting: name=value. May be given many times; goes before the file."""
        name, equals, value = pair.partition("=")
        if not equals:
            raise usage.UsageError(f"--set {pair}: must be name=value")
        self["overrides"].append((name.strip(), value.strip()))

    opt_s = opt_set


class _TwistdService(ProcessService):
    """The broker of a process that twistd has started."""

    def __init__(self, source: SettingsSource, parent: TwistdParent, reactor: Reactor) -> None:
        super().__init__(source, reactor, reloads=parent.waits)
        self._parent = parent

    def privilegedStartService(self) -> None:
        """Take twistd's status pipe, and install the handler of SIGHUP."""
        self._parent.take_over()
        super().privilegedStartService()


class _FailedStart(Service):
    """Stands in for a broker that cannot be made: a daemon can only say why once its log is open."""

    def __init__(self, why: str, parent: TwistdParent, reactor: Reactor) -> None:
        self._why, self._parent, self._reactor = why, parent, reactor

    def privilegedStartService(self) -> None:
        """Log the reason, and end the process."""
        self._parent.take_over()
        _give_up(self._why, self._parent, self._reactor)


def makeService(options: Options) -> IService:
    """Make the broker for ``twistd``; wrong settings end the process with status 1 and one line."""
    import twisted.internet.reactor  # installed by twistd

    reactor: Any = twisted.internet.reactor  # Twisted's own type lacks callFromThread
    make_monotonic(reactor)
    allow_open_files()
    parent = TwistdParent(options.parent)
    try:
        source = SettingsSource.of(options["config"], options["overrides"]).without_file()
        service = _TwistdService(source, parent, reactor)
    except SettingError as error:
        if parent.waits:
            return _FailedStart(str(error), parent, reactor)
        raise SystemExit(f"kafkatx: {error}") from None
    service.started.addCallbacks(
        lambda _: _started(service, parent),
        lambda failure: _give_up(failure.getErrorMessage(), parent, reactor),
    )
    service.halted.addCallback(_give_up, parent, reactor)
    return service


def _started(service: ProcessService, parent: TwistdParent) -> None:
    """Tell the parent, and log what to type in another terminal."""
    parent.started()
    service.settle()
    service.write_note(ProcessNote(os.getpid(), __version__, service.bootstrap), pid_file=False)
    for command in NEXT:
        _log.info("try: {command}", command=command.format(bootstrap=service.bootstrap))


def _give_up(why: str, parent: TwistdParent, reactor: Reactor) -> None:
    """End the process with status 1 through twistd's normal shutdown; print why."""
    if parent.waits:
        _log.critical("kafkatx: {why}", why=why)
    print(f"kafkatx: {why}", file=sys.__stderr__, flush=True)
    parent.failed(why)
    atexit.register(os._exit, 1)
    reactor.callWhenRunning(reactor.stop)  # a start that fails at once does so before the reactor runs
