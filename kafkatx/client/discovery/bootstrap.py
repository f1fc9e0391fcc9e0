"""Makes the addresses for the first connection of a client as its settings say. Opens no connection."""

from __future__ import annotations

import importlib.util
from typing import Any

from kafkatx.clientcore.bootstrap import Addresses, static_addresses, uses_zookeeper
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import zookeeper
from kafkatx.errors import SettingError


def bootstrap_addresses(settings: ClientSettings, reactor: Any) -> Addresses:
    """Return the addresses of ``bootstrap.servers``, ``zookeeper.connect`` or ``broker.list``.

    :param reactor: for ``zookeeper.connect`` it must have threads.
    :raises SettingError: none of them is set, one is malformed, or ``kafkatx[zookeeper]`` is not installed.
    """
    return _in_zookeeper(settings, reactor) if uses_zookeeper(settings) else static_addresses(settings)


def _in_zookeeper(settings: ClientSettings, reactor: Any) -> Addresses:
    name = zookeeper.ZOOKEEPER_CONNECT.name
    if importlib.util.find_spec("kazoo") is None:
        raise SettingError(f"{name} needs kazoo: pip install 'kafkatx[zookeeper]'")
    # kazoo is imported only by clients that use it.
    from kafkatx.client.discovery.zookeeper_brokers import ZooKeeperBrokers
    from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings, ZooKeeperTree
    from kafkatx.net.workers import ThreadWorkers

    chosen = ZooKeeperSettings.of_client(settings)
    workers = ThreadWorkers(reactor, daemon=True)
    # The clock is for leases, which this client does not use.
    tree = ZooKeeperTree(chosen, reactor, workers("zookeeper"), reactor.seconds)
    return ZooKeeperBrokers(
        tree, reactor, f"{name}={chosen.connect}", settings[zookeeper.LISTENER], workers.stop
    )
