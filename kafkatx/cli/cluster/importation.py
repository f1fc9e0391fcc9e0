"""The import of a stopped broker's data into ZooKeeper. It touches ZooKeeper.

:mod:`kafkatx.daemon.embedded_data` reads the data, :mod:`kafkatx.metadata.transfer` writes the nodes.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import TreeError
from kafkatx.metadata.transfer.content import Content
from kafkatx.metadata.transfer.importer import Found, import_content, look
from kafkatx.net.reactors import new_reactor
from kafkatx.net.workers import ThreadWorkers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings

T = TypeVar("T")


def look_at(settings: ZooKeeperSettings, cluster_id: str) -> Found:
    """Return what is in ZooKeeper.

    :raises KafkaTXError: it has another cluster, or cannot be reached.
    """
    where = _where(settings)
    return _with_tree(settings, lambda tree: look(tree, where, cluster_id))


def import_into(settings: ZooKeeperSettings, content: Content) -> None:
    """Write the nodes of a cluster into ZooKeeper.

    :raises KafkaTXError: it has another cluster, or cannot be reached, or the connection is lost.
    """
    where = _where(settings)
    _with_tree(settings, lambda tree: import_content(tree, where, content))


def _where(settings: ZooKeeperSettings) -> str:
    return f"zookeeper.connect={settings.connect}"


def _with_tree(settings: ZooKeeperSettings, work: Callable[[ITree], Coroutine[Any, Any, T]]) -> T:
    """Run *work* with a session, in a reactor of its own, and return its result.

    :raises KafkaTXError: as *work* does; or ZooKeeper cannot be reached.
    :raises KeyboardInterrupt: a signal came.
    """
    from kafkatx.metadata.tree.zookeeper import ZooKeeperTree  # needs an extra

    reactor = new_reactor()
    workers = ThreadWorkers(reactor)
    outcome: list[T | Failure] = []

    async def run() -> T:
        tree = ZooKeeperTree(settings, reactor, workers("zookeeper"), _boottime_s)
        await tree.connect()
        try:
            return await work(tree)
        finally:
            await tree.close()

    def begin() -> None:
        Deferred.fromCoroutine(run()).addBoth(outcome.append).addBoth(lambda _: reactor.stop())

    before = signal.getsignal(signal.SIGINT)
    reactor.callWhenRunning(begin)
    try:
        reactor.run()
    finally:
        signal.signal(signal.SIGINT, before)
        workers.stop()
    if not outcome:
        raise KeyboardInterrupt
    result = outcome[0]
    if isinstance(result, Failure):
        if result.check(TreeError):
            raise KafkaTXError(f"{_where(settings)}: {result.getErrorMessage()}; import again")
        result.raiseException()
    return result


def _boottime_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
