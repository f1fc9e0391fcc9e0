"""``twistd kafkatx``: options, and the service that they ask for."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from twisted.application.service import IService
from twisted.logger import Logger
from twisted.python import usage

from kafkatx.broker import BrokerService, Parts
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.extension import find
from kafkatx.interfaces import ICoordinator, ILogStore, IRetentionPolicy

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


def installed_parts(config: BrokerConfig) -> Parts:
    """The parts that the settings name, among the installed plugins.

    :raises SettingError: a setting names a plugin that is not installed.
    """

    def find_retention(name: str) -> Any:
        return find(IRetentionPolicy, name, "kafkatx.retention")()

    find_retention(config.get("kafkatx.retention"))
    return Parts(
        find(ILogStore, config.get("kafkatx.storage"), "kafkatx.storage"),
        find(ICoordinator, config.get("kafkatx.coordinator"), "kafkatx.coordinator"),
        find_retention,
    )


def makeService(options: Options) -> IService:
    """Make the broker for ``twistd``; a person's mistake ends the process with status 1 and one line."""
    from twisted.internet import reactor  # twistd's own, installed by now

    try:
        config = BrokerConfig.load(options["config"], options["overrides"])
        service = BrokerService(config, installed_parts(config), reactor)
    except SettingError as error:
        raise SystemExit(f"kafkatx: {error}") from None
    service.started.addCallbacks(_say_what_next, _give_up, errbackArgs=(reactor,))
    return service


def _say_what_next(service: BrokerService) -> None:
    """Tell whoever started it what to type in another terminal."""
    for command in NEXT:
        _log.info("try: {command}", command=command.format(bootstrap=service.bootstrap))


def _give_up(failure: Any, reactor: Any) -> None:
    """End the process with status 1, by twistd's own way out."""
    print(f"kafkatx: {failure.getErrorMessage()}", file=sys.__stderr__, flush=True)
    atexit.register(os._exit, 1)
    reactor.stop()
