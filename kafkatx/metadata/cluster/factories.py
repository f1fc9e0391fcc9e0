"""The metadata stores of clusters as plugins: on ZooKeeper, and on the tree of one machine.

They read the settings and the clocks, and use the broker's reactor. No connection is opened before the
store's start: a daemon forks before that.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kafkatx.config import BrokerConfig
from kafkatx.config.table import zookeeper as z
from kafkatx.interfaces import ITree, Workers
from kafkatx.metadata.cluster.control.options import ControllerOptions
from kafkatx.metadata.cluster.store import ClusterMetadataStore, ClusterOptions

if TYPE_CHECKING:
    from twisted.internet.interfaces import IReactorTime

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def zookeeper_store(
    config: BrokerConfig, workers: Workers, durable: bool = True, reactor: Any = None
) -> ClusterMetadataStore:
    """Return the store of a cluster on ZooKeeper. It outlives the process, whatever *durable* says.

    :param reactor: the reactor of the broker; None: that of the process.
    :raises SettingError: a file that the settings name cannot be used.
    """
    from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings, ZooKeeperTree

    reactor = reactor or _process_reactor()
    settings = ZooKeeperSettings.of(config)
    tree = ZooKeeperTree(settings, reactor, workers("zookeeper"), boottime_s)
    return _store(config, tree, reactor, f"{z.ZOOKEEPER_CONNECT.name}={settings.connect}")


def local_store(
    config: BrokerConfig, workers: Workers, durable: bool = True, reactor: Any = None
) -> ClusterMetadataStore:
    """Return the store of a cluster on one machine. It outlives the process, whatever *durable* says.

    :param reactor: as for :func:`zookeeper_store`.
    """
    from kafkatx.metadata.tree.local import LocalSettings, LocalTree

    reactor = reactor or _process_reactor()
    path = config[z.KAFKATX_LOCAL_SOCKET] or ""
    settings = LocalSettings(path, config[z.ZOOKEEPER_SESSION_TIMEOUT_MS] / 1000)
    tree = LocalTree(settings, reactor, boottime_s)
    return _store(config, tree, reactor, f"{z.KAFKATX_LOCAL_SOCKET.name}={path}")


def _process_reactor() -> Any:
    from twisted.internet import reactor

    return reactor


def boottime_s() -> float:
    """Return seconds that count on while the machine is suspended, where the system has such a clock."""
    return time.clock_gettime(_BOOTTIME)


def now_ms() -> int:
    """Return the time of day."""
    return int(time.time() * 1000)


def _store(config: BrokerConfig, tree: ITree, clock: IReactorTime, where: str) -> ClusterMetadataStore:
    options = ClusterOptions(
        where,
        controller_eligible=config[z.KAFKATX_CONTROLLER_ELIGIBLE],
        broker_version=config[z.KAFKATX_ZOOKEEPER_BROKER_VERSION],
        controller=ControllerOptions.of(config),
    )
    return ClusterMetadataStore(tree, clock, options, now_ms)
