"""Options of ``kafkatx up`` that stand for settings, and the data directory of ``status`` and ``stop``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafkatx.names import TREE_FILE

if TYPE_CHECKING:
    from kafkatx.config import BrokerConfig
    from kafkatx.config.listeners import Listener

MEMORY = "memory"


def overrides(
    sets: Sequence[tuple[str, str]],
    *,
    config: str | None,
    port: int | None,
    data: str | None,
    memory: bool,
    zookeeper: str | None = None,
    brokers: int | None = None,
) -> list[tuple[str, str]]:
    """Return names and values of settings that go before the settings file.

    :param sets: those of ``--set``.
    :param config: path of the settings file; its listener keeps its host if *port* is given.
    :raises click.UsageError: two options contradict each other.
    :raises SettingError: the settings file is wrong; only checked if *port* is given.
    """
    found = list(sets)
    names = {name for name, _ in sets}
    if port is not None:
        _refuse_twice("--port", names, "listeners", "port")
        found.append(("listeners", str(_listener(config, found, port))))
    if data is not None:
        _refuse_twice("--data", names, "log.dirs", "log.dir")
        if memory:
            raise click.UsageError("--memory keeps nothing on disk: leave out --data")
        found.append(("log.dirs", data))
    if zookeeper is not None:
        _refuse_twice("--zookeeper", names, "zookeeper.connect", "zk.connect")
        found.append(("zookeeper.connect", zookeeper))
    if brokers is not None and "kafkatx.local.socket" not in names:
        # kafkatx.metadata.store=local asks for it; the supervisor puts its own in place of this
        found.insert(0, ("kafkatx.local.socket", TREE_FILE))
    if memory:
        _refuse_twice("--memory", names, "kafkatx.storage")
        found.append(("kafkatx.storage", MEMORY))
    return found


def _refuse_twice(option: str, names: set[str], *settings: str) -> None:
    for setting in settings:
        if setting in names:
            raise click.UsageError(f"{option} and --set {setting} mean the same: give one of them")


def _listener(config: str | None, sets: list[tuple[str, str]], port: int) -> Listener:
    """Return the one listener that there is, on another port.

    :raises click.UsageError: there are several.
    """
    from kafkatx.config import BrokerConfig

    listeners = BrokerConfig.load(config, sets).listeners()
    if len(listeners) > 1:
        raise click.UsageError(
            f"--port is for one listener and {config} has {len(listeners)}: use --set listeners=..."
        )
    return listeners[0]._replace(port=port)


def log_dirs(config: BrokerConfig) -> list[str]:
    """Return the absolute paths of ``log.dirs``; none for a broker that keeps records in memory."""
    if config.get("kafkatx.storage") == MEMORY:
        return []
    return [os.path.abspath(path) for path in config.get("log.dirs")]


def data_directory(data: str | None, config: str | None) -> str:
    """Return the directory that ``--data`` or the first of ``log.dirs`` in a settings file names.

    :raises click.UsageError: both options are given, or the file's broker keeps records in memory.
    :raises SettingError: the settings file is wrong.
    """
    if data is not None:
        if config is not None:
            raise click.UsageError("--data and --config both name a data directory: give one of them")
        return os.path.abspath(data)
    from kafkatx.config import BrokerConfig

    found = log_dirs(BrokerConfig.load(config))
    if not found:
        raise click.UsageError(f"{config}: kafkatx.storage=memory has no data directory")
    return found[0]
