"""Makes a client's connection to the ZooKeeper that its settings name; reads keystores and JAAS files.

kazoo is imported only by clients that use it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import zookeeper
from kafkatx.errors import SettingError
from kafkatx.interfaces import ITree


def open_tree(settings: ClientSettings, reactor: Any) -> tuple[ITree, Callable[[], None]]:
    """Return a tree that is not connected, and a function to call after it was closed.

    :param reactor: it must have threads.
    :raises SettingError: ``kafkatx[zookeeper]`` is not installed, or a file cannot be read.
    """
    if importlib.util.find_spec("kazoo") is None:
        name = zookeeper.ZOOKEEPER_CONNECT.name
        raise SettingError(f"{name} needs kazoo: pip install 'kafkatx[zookeeper]'")
    from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings, ZooKeeperTree
    from kafkatx.net.workers import ThreadWorkers

    workers = ThreadWorkers(reactor, daemon=True)
    # The clock is for leases, which clients do not use.
    tree = ZooKeeperTree(
        ZooKeeperSettings.of_client(settings), reactor, workers("zookeeper"), reactor.seconds
    )
    return tree, workers.stop
