"""``twistd kafkatx``: options, and the service that they ask for."""

from __future__ import annotations

import atexit
import functools
import gc
import os
import sys
from contextlib import suppress
from functools import partial
from typing import Any

from twisted.application.service import IService, Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python import usage
from twisted.python.failure import Failure
from zope.interface.interface import InterfaceClass

from kafkatx.broker import BrokerService, Parts
from kafkatx.config import BrokerConfig
from kafkatx.daemon import Parent, Process
from kafkatx.errors import SettingError
from kafkatx.extension import check_own_settings, find, own_settings
from kafkatx.interfaces import ICoordinator, ILogStore, IRetentionPolicy
from kafkatx.net.buffers import keep_freed_memory
from kafkatx.net.reactors import make_monotonic

NEXT = (
    "echo hello | kafkatx produce greetings -b {bootstrap}",
    "kafkatx consume greetings -o beginning -e -b {bootstrap}",
)
FEW_FILES = 4096
SETTLE_S = 1.0
"""How long after its start a broker loads what its first clients have not asked for."""

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


def installed_parts(config: BrokerConfig) -> Parts:
    """The parts that the settings name, among the installed plugins.

    :raises SettingError: a setting names a plugin that is not installed or cannot be used.
    """
    check_own_settings(config.explicit, ILogStore, ICoordinator, IRetentionPolicy)

    def chosen(provides: InterfaceClass, name: str, setting: str) -> Any:
        return find(provides, name, setting, own_settings(name, config.explicit))

    @functools.cache  # policies are pure, and the plugins of ten thousand logs are looked up in seconds
    def find_retention(name: str) -> Any:
        return chosen(IRetentionPolicy, name, "kafkatx.retention")()

    find_retention(config.get("kafkatx.retention"))
    return Parts(
        chosen(ILogStore, config.get("kafkatx.storage"), "kafkatx.storage"),
        chosen(ICoordinator, config.get("kafkatx.coordinator"), "kafkatx.coordinator"),
        find_retention,
    )


class _TwistdService(BrokerService):
    """The broker of a process that twistd has started."""

    def __init__(self, config: BrokerConfig, options: Options, parent: Parent, reactor: Any) -> None:
        super().__init__(config, installed_parts(config), reactor)
        path = options["config"]
        self._path = None if path is None else os.path.abspath(path)  # a daemon may go elsewhere
        self._overrides = options["overrides"]
        self._process = Process(parent, self._reload, reactor)

    def privilegedStartService(self) -> None:
        """Hear signals from now on."""
        super().privilegedStartService()
        self._process.start()

    def stopService(self) -> Deferred[None]:
        """Stop; SIGHUP does again what it did before."""
        self._process.stop()
        return super().stopService()

    def _reload(self) -> None:
        """Read the settings again."""
        reading = self.broker.workers("settings")(partial(BrokerConfig.load, self._path, self._overrides))
        reading.addCallback(self.broker.reload).addErrback(_not_reloaded)


def _not_reloaded(failure: Failure) -> None:
    if failure.check(SettingError):
        _log.error("SIGHUP: every setting stays as it is: {error}", error=failure.getErrorMessage())
    else:
        _log.failure("SIGHUP: the settings could not be read again", failure)


class _Mistake(Service):
    """What stands for a broker that cannot be made: a daemon ends only when it has a log to say why in."""

    def __init__(self, why: str, parent: Parent, reactor: Any) -> None:
        self._why, self._parent, self._reactor = why, parent, reactor

    def privilegedStartService(self) -> None:
        """Say why, and end."""
        self._parent.take_over()
        _give_up(self._why, self._parent, self._reactor)


def makeService(options: Options) -> IService:
    """Make the broker for ``twistd``; a person's mistake ends the process with status 1 and one line."""
    from twisted.internet import reactor  # twistd's own, installed by now

    make_monotonic(reactor)
    _allow_open_files()
    parent = Parent(options.parent)
    try:
        config = BrokerConfig.load(options["config"], options["overrides"])
        service = _TwistdService(config, options, parent, reactor)
    except SettingError as error:
        if parent.waits:
            return _Mistake(str(error), parent, reactor)
        raise SystemExit(f"kafkatx: {error}") from None
    service.started.addCallbacks(
        lambda service: _welcome(service, parent, reactor),
        lambda failure: _give_up(failure.getErrorMessage(), parent, reactor),
    )
    service.halted.addCallback(_give_up, parent, reactor)
    return service


def _allow_open_files() -> None:
    """Let the process open as many files as it may: a shell's usual 1024 are few for logs and connections."""
    with suppress(ImportError, OSError, ValueError):  # no such limits here, or none that may be changed
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if 0 <= most < FEW_FILES:  # RLIM_INFINITY is -1
            _log.warn(
                "this process may open {most} files: half of them are for logs, which are closed and opened"
                " again where that is too few; raise it (ulimit -n) for many partitions or connections",
                most=most,
            )


def _welcome(service: BrokerService, parent: Parent, reactor: Any) -> None:
    """Tell whoever started the broker what to type in another terminal."""
    parent.started()
    keep_freed_memory()
    for command in NEXT:
        _log.info("try: {command}", command=command.format(bootstrap=service.bootstrap))
    reactor.callLater(SETTLE_S, _settle, service)


def _settle(service: BrokerService) -> None:
    """Begin the broker's long life: import what it can do beside what it was asked for first.

    An installation may be renewed under a running broker, and must not be mixed with the one that it was
    started from. What is in memory then stays: the collector need not walk through it again and again.
    """
    service.load_rest().addCallbacks(
        lambda _: gc.freeze(),
        lambda failure: _log.failure("the installation was changed, or is damaged: restart kafkatx", failure),
    )


def _give_up(why: str, parent: Parent, reactor: Any) -> None:
    """End the process with status 1, by twistd's own way out; say why where a person looks."""
    if parent.waits:
        _log.critical("kafkatx: {why}", why=why)
    print(f"kafkatx: {why}", file=sys.__stderr__, flush=True)
    parent.failed(why)
    atexit.register(os._exit, 1)
    reactor.callWhenRunning(reactor.stop)  # a start that fails at once does so before the reactor runs
