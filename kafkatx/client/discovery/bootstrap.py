"""Makes the addresses for the first connection of a client as its settings say. Opens no connection."""

from __future__ import annotations

from typing import Any

from kafkatx.client.discovery.connection import open_tree
from kafkatx.clientcore.bootstrap import Addresses, static_addresses, uses_zookeeper
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import zookeeper


def bootstrap_addresses(settings: ClientSettings, reactor: Any) -> Addresses:
    """Return the addresses of ``bootstrap.servers``, ``zookeeper.connect`` or ``broker.list``.

    :param reactor: for ``zookeeper.connect`` it must have threads.
    :raises SettingError: none of them is set, one is malformed, or ``kafkatx[zookeeper]`` is not installed.
    """
    return _in_zookeeper(settings, reactor) if uses_zookeeper(settings) else static_addresses(settings)


def _in_zookeeper(settings: ClientSettings, reactor: Any) -> Addresses:
    tree, end = open_tree(settings, reactor)
    from kafkatx.client.discovery.zookeeper_brokers import ZooKeeperBrokers  # other clients do without it

    name = zookeeper.ZOOKEEPER_CONNECT
    return ZooKeeperBrokers(tree, reactor, f"{name.name}={settings[name]}", settings[zookeeper.LISTENER], end)
