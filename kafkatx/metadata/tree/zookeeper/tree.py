"""A client of a tree on ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IReactorFromThreads

from kafkatx.interfaces.workers import Worker
from kafkatx.metadata.tree.client import SessionEvents, TreeClient
from kafkatx.metadata.tree.zookeeper.session import KazooSession
from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings


class ZooKeeperTree(TreeClient):
    """A tree on ZooKeeper. It must be made after a fork, since kazoo has threads.

    :param worker: runs calls that block; one of its own for each tree.
    :param boottime_s: the clock of the lease: ``time.clock_gettime(time.CLOCK_BOOTTIME)``.
    """

    def __init__(
        self,
        settings: ZooKeeperSettings,
        reactor: IReactorFromThreads,
        worker: Worker,
        boottime_s: Callable[[], float],
    ) -> None:
        def open_session(events: SessionEvents) -> KazooSession:
            return KazooSession(settings, reactor, worker, events)

        super().__init__(open_session, boottime_s)
