"""The tree of one machine keeps the contract of trees, on a real socket and file."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import Any, TypeVar

from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from kafkatx.interfaces import ITree
from kafkatx.metadata.tree.local import LocalSettings, LocalTree
from kafkatx.metadata.tree.local.listener import TreeListener
from kafkatx.net.workers import ThreadWorkers
from kafkatx.testing.contracts.tree import TreeContract
from tests.metadata.tree.local.proxy import Proxy

reactor: Any = installed
DEADLINE_S = 20.0

T = TypeVar("T")
Error = TypeVar("Error", bound=Exception)


class LocalTreeCase(TestCase):
    """A server in this process. Its files are in a directory with a short path."""

    timeout = 60

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        """Start the server."""
        self.folder = tempfile.mkdtemp(prefix="kafkatx-tree-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.workers = ThreadWorkers(reactor)
        self.addCleanup(self.workers.stop)
        self.file = os.path.join(self.folder, "tree.sqlite3")
        self.socket = os.path.join(self.folder, "tree.sock")
        self.listener = self.new_listener()
        self.addCleanup(lambda: self.listener.stop())
        return self.listener.start()

    def new_listener(self) -> TreeListener:
        """Return a server over the test's file and socket."""
        return TreeListener(self.file, self.socket, reactor, self.workers("tree"))

    async def failure(self, error: type[Error], deferred: Deferred[T]) -> Error:
        """Return the error with which a Deferred fails."""
        try:
            result = await deferred
        except error as found:
            return found
        raise self.failureException(f"{error.__name__} expected, but the result is {result!r}")

    async def restart(self) -> None:
        """Stop the server, and start another over the same file."""
        await self.listener.stop()
        self.listener = self.new_listener()
        await self.listener.start()

    def new_tree(self, path: str, timeout_s: float = DEADLINE_S) -> LocalTree:
        """Return a tree without a session."""
        settings = LocalSettings(path, timeout_s, DEADLINE_S)
        return LocalTree(settings, reactor, lambda: time.clock_gettime(time.CLOCK_BOOTTIME))


class LocalTreeTests(TreeContract, LocalTreeCase):
    """The contract, each client behind a proxy of its own."""

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        """Start the server."""
        self.proxies: dict[ITree, Proxy] = {}
        return super().setUp()

    def make_tree(self) -> LocalTree:
        """Return a tree behind a proxy."""
        proxy = Proxy(reactor, os.path.join(self.folder, f"{len(self.proxies)}.sock"), self.socket)
        self.addCleanup(proxy.stop)
        tree = self.new_tree(proxy.path)
        self.proxies[tree] = proxy
        return tree

    async def hold(self, tree: ITree, applied: bool) -> None:
        """Hold replies or requests."""
        if applied:
            self.proxies[tree].hold_replies = True
        else:
            self.proxies[tree].hold_requests = True

    async def cut(self, tree: ITree) -> None:
        """Cut the proxy."""
        self.proxies[tree].cut()

    async def heal(self, tree: ITree) -> None:
        """Heal the proxy."""
        self.proxies[tree].heal()

    async def expire(self, tree: ITree) -> None:
        """Expire the session."""
        assert tree.session_id is not None
        self.listener.server.expire(tree.session_id)
