"""Connections of clients that do not keep to the protocol, or do not read."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred, DeferredQueue
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.protocol import Factory, connectionDone
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from kafkatx.interfaces.nodes import Create, SetData
from kafkatx.metadata.tree.local import connection as module
from kafkatx.metadata.tree.local.requests import Request
from kafkatx.metadata.tree.local.server import Session
from tests.metadata.tree.local.test_tree import LocalTreeCase, reactor

HELLO = b'["hello",1,null,"",5000]'


class RawClient(Int32StringReceiver):
    """A client that sends what a test says."""

    MAX_LENGTH = 1 << 30

    def __init__(self) -> None:
        self.received: DeferredQueue[Any] = DeferredQueue()
        self.ended: Deferred[None] = Deferred()

    def stringReceived(self, string: bytes) -> None:
        """Keep a message."""
        self.received.put(json.loads(string))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell the end."""
        self.ended.callback(None)


class ConnectionTests(LocalTreeCase):
    async def raw(self) -> RawClient:
        """Return a connection that has said nothing yet."""
        connecting: Deferred[RawClient] = UNIXClientEndpoint(reactor, self.socket).connect(
            Factory.forProtocol(RawClient)
        )
        client = await connecting

        def stop() -> Deferred[None]:
            client.transport.abortConnection()  # type: ignore[union-attr]
            return client.ended

        self.addCleanup(stop)
        return client

    async def test_malformed(self) -> None:
        """A malformed message ends its connection, and no other; the session lives on."""
        tree = self.new_tree(self.socket)
        await tree.connect()
        self.addCleanup(tree.close)
        for messages in (
            [b"GET / HTTP/1.1"],
            [b'[1,"sync"]'],
            [b'["ping"]'],
            [HELLO, HELLO],
            [HELLO, b'[1,"write","/a"]'],
            [HELLO, b'[1,"read","/a/../b",false]'],
            [b'["hello",2,null,"",5000]'],
        ):
            client = await self.raw()
            for message in messages:
                client.sendString(message)
            await client.ended
            await tree.sync()

    async def test_too_long(self) -> None:
        """A frame beyond the limit is refused by its size alone."""
        client = await self.raw()
        assert client.transport is not None
        client.transport.write(HELLO[:0] + b"\x7f\xff\xff\xff")
        await client.ended

    async def test_no_hello(self) -> None:
        """A connection that says nothing is ended after a while."""
        self.patch(module, "HELLO_S", 0.05)
        client = await self.raw()
        await client.ended

    async def test_too_many(self) -> None:
        """There is a limit of connections; one that ends makes room."""
        self.patch(module, "MAX_CONNECTIONS", 1)
        first = await self.raw()
        first.sendString(HELLO)
        await first.received.get()
        second = await self.raw()
        await second.ended
        first.transport.loseConnection()  # type: ignore[union-attr]
        await first.ended
        tree = self.new_tree(self.socket)  # tries again until there is room
        await tree.connect()
        await tree.close()

    async def test_client_that_does_not_read(self) -> None:
        """Replies to a client that does not read are not heaped up: its requests wait in the socket."""
        tree = self.new_tree(self.socket)
        await tree.connect()
        self.addCleanup(tree.close)
        await tree.multi([Create("/a", b"x" * 200_000)])
        client = await self.raw()
        client.sendString(HELLO)
        await client.received.get()
        client.transport.pauseProducing()  # type: ignore[union-attr]
        for number in range(200):
            client.sendString(b'[%d,"read","/a",false]' % number)
        for _ in range(3):
            await tree.multi([SetData("/a", b"y" * 200_000)])
        (mine,) = [each for each in self.listener._connections.connections if each.paused]
        self.assertTrue(mine._unprocessed)
        client.transport.resumeProducing()  # type: ignore[union-attr]
        for number in range(200):
            reply = await client.received.get()
            self.assertEqual(reply[:2], [number, "ok"])

    async def test_many_writes(self) -> None:
        """Far more writes than may wait for the disk are all answered, in order; few wait at once."""
        self.patch(module, "MAX_WAITING", 10)
        waiting: list[int] = []
        make = self.listener.server.request

        def request(session: Session, request: Request) -> None:
            make(session, request)
            assert session.peer is not None
            waiting.append(session.peer.waiting)

        self.patch(self.listener.server, "request", request)
        client = await self.raw()
        client.sendString(HELLO)
        await client.received.get()
        for number in range(500):
            client.sendString(b'[%d,"multi",["create","/n%d","",false,false]]' % (number, number))
        for number in range(500):
            self.assertEqual(await client.received.get(), [number, "ok", [f"/n{number}"]])
        self.assertEqual((len(waiting), max(waiting)), (500, 10))
