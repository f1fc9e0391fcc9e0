"""Connections to a server that comes late, is silent, or is none."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.defer import DeferredQueue
from twisted.internet.protocol import Factory, Protocol

from kafkatx.interfaces.nodes import ConnectionLost, SessionState
from kafkatx.metadata.tree.local import LocalSettings, LocalTree
from tests.metadata.tree.local.proxy import Proxy
from tests.metadata.tree.local.test_tree import LocalTreeCase, reactor

SHORT_S = 0.2


def no_lease() -> float:
    """Return no time."""
    return 0.0


class ClientConnectionTests(LocalTreeCase):
    async def test_no_server(self) -> None:
        """A session that reaches no server fails after its time, and names the socket."""
        path = os.path.join(self.folder, "nothing.sock")
        tree = LocalTree(LocalSettings(path, 5.0, SHORT_S), reactor, no_lease)
        error = await self.failure(ConnectionLost, tree.connect())
        self.assertIn(path, str(error))
        self.assertIs(tree.state, SessionState.CLOSED)

    async def test_server_comes_late(self) -> None:
        """A client that starts before its server waits for it."""
        await self.listener.stop()
        tree = self.new_tree(self.socket)
        connecting = tree.connect()
        self.listener = self.new_listener()
        await self.listener.start()
        await connecting
        await tree.close()

    async def test_silent_server(self) -> None:
        """A server that accepts and says nothing counts as a lost connection."""
        path = os.path.join(self.folder, "proxy.sock")
        proxy = Proxy(reactor, path, self.socket)
        self.addCleanup(proxy.stop)
        tree = LocalTree(LocalSettings(path, 3 * SHORT_S, 20.0), reactor, no_lease)
        await tree.connect()
        self.addCleanup(tree.close)
        states: DeferredQueue[SessionState] = DeferredQueue()
        tree.subscribe(states.put)
        proxy.hold_replies = True
        self.assertIs(await states.get(), SessionState.SUSPENDED)
        proxy.cut()
        proxy.heal()
        self.assertIn(await states.get(), (SessionState.CONNECTED, SessionState.LOST))

    async def test_wrong_server(self) -> None:
        """A server that speaks another protocol is no server."""
        path = os.path.join(self.folder, "other.sock")

        class Other(Protocol):
            def dataReceived(self, data: bytes) -> None:
                self.transport.write(b"\0\0\0\4oops")  # type: ignore[union-attr]

        port: Any = reactor.listenUNIX(path, Factory.forProtocol(Other))
        self.addCleanup(port.stopListening)
        tree = LocalTree(LocalSettings(path, 5.0, SHORT_S), reactor, no_lease)
        await self.failure(ConnectionLost, tree.connect())
