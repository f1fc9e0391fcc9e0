"""The connection to ZooKeeper that a consumer's settings name, and the id of a new member.

Starts a thread; reads the wall clock and the host's name for the id.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable
from typing import Any

from kafkatx.client.discovery.connection import open_tree
from kafkatx.clientcore.legacy.zookeeper import nodes
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import zookeeper as table
from kafkatx.errors import SettingError
from kafkatx.interfaces import ITree


def open_zookeeper(settings: ClientSettings, reactor: Any) -> tuple[ITree, Callable[[], None]]:
    """Return a tree on ZooKeeper that is not connected, and a function to call after it was closed.

    :raises SettingError: ``zookeeper.connect`` is not set, kazoo is not installed, or a file cannot be read.
    """
    if not settings[table.ZOOKEEPER_CONNECT]:
        raise SettingError("kafkatx.balancer=zookeeper: set zookeeper.connect to the brokers' ZooKeeper")
    return open_tree(settings, reactor)


def now_ms() -> int:
    """Return the time of day."""
    return int(time.time() * 1000)


def new_member_id(group: str) -> str:
    """Return an id that no other member has."""
    return nodes.member_id(group, socket.gethostname(), now_ms(), random.getrandbits(32))
