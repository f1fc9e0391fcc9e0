"""The metadata stores of clusters as plugins: on ZooKeeper, and on the tree of one machine.

They read the settings and the clocks, and use the process's reactor, which is imported when a store is made.
No connection is opened before the store's start: a daemon forks before that.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from kafkatx.config import BrokerConfig
from kafkatx.config.table import zookeeper as z
from kafkatx.interfaces import ITree, Workers
from kafkatx.metadata.cluster.store import ClusterMetadataStore, ClusterOptions

if TYPE_CHECKING:
    from twisted.internet.interfaces import IReactorFromThreads, IReactorTime

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def zookeeper_store(config: BrokerConfig, workers: Workers, durable: bool = True) -> ClusterMetadataStore:
    """Return the store of a cluster on ZooKeeper. It outlives the process, whatever *durable* says.

    :raises SettingError: a file that the settings name cannot be used.
    """
    from twisted.internet import reactor

    from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings, ZooKeeperTree

    settings = ZooKeeperSettings.of(config)
    tree = ZooKeeperTree(settings, cast("IReactorFromThreads", reactor), workers("zookeeper"), boottime_s)
    return _store(config, tree, f"{z.ZOOKEEPER_CONNECT.name}={settings.connect}")


def local_store(config: BrokerConfig, workers: Workers, durable: bool = True) -> ClusterMetadataStore:
    """Return the store of a cluster on one machine. It outlives the process, whatever *durable* says."""
    from twisted.internet import reactor

    from kafkatx.metadata.tree.local import LocalSettings, LocalTree

    path = config[z.KAFKATX_LOCAL_SOCKET] or ""
    tree = LocalTree(LocalSettings(path), reactor, boottime_s)
    return _store(config, tree, f"{z.KAFKATX_LOCAL_SOCKET.name}={path}")


def boottime_s() -> float:
    """Return seconds that count on while the machine is suspended, where the system has such a clock."""
    return time.clock_gettime(_BOOTTIME)


def now_ms() -> int:
    """Return the time of day."""
    return int(time.time() * 1000)


def _store(config: BrokerConfig, tree: ITree, where: str) -> ClusterMetadataStore:
    from twisted.internet import reactor

    options = ClusterOptions(
        where,
        controller_eligible=config[z.KAFKATX_CONTROLLER_ELIGIBLE],
        broker_version=config[z.KAFKATX_ZOOKEEPER_BROKER_VERSION],
    )
    return ClusterMetadataStore(tree, cast("IReactorTime", reactor), options, now_ms)
