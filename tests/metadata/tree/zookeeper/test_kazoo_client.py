"""Tests of how clients of kazoo are made; none connects."""

from __future__ import annotations

import logging

from kazoo.client import KazooClient
from kazoo.protocol.states import Callback, EventType, KeeperState, WatchedEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings
from kafkatx.metadata.tree.zookeeper.kazoo_client import InlineHandler, make_client

LOG = logging.getLogger("test")


class InlineHandlerTests(SynchronousTestCase):
    def test_order(self) -> None:
        """Watch events and results are called in the order in which the connection thread gives them."""
        handler = InlineHandler()
        handler.start()
        self.addCleanup(handler.stop)
        heard: list[object] = []
        result = handler.async_result()
        result.rawlink(lambda found: heard.append(found.value))
        event = WatchedEvent(EventType.CHANGED, KeeperState.CONNECTED, "/a")
        handler.dispatch_callback(Callback("watch", heard.append, (event,)))
        result.set("reply")
        handler.dispatch_callback(Callback("watch", heard.append, (event,)))
        self.assertEqual(heard, [event, "reply", event])


class ClientTests(SynchronousTestCase):
    def test_handler(self) -> None:
        """A client has this handler, without which a watch could come after the reply with its change."""
        settings = ZooKeeperSettings("a:1")
        client = make_client(settings, settings.connect, lambda timeout_s: None, LOG)
        assert isinstance(client, KazooClient)
        self.assertIsInstance(client.handler, InlineHandler)

    def test_negotiated(self) -> None:
        """The session's time-out, of which kazoo returns two thirds, is told at each connection."""
        heard: list[float] = []
        settings = ZooKeeperSettings("a:1/x", session_timeout_s=18.0)
        client = make_client(settings, settings.connect, heard.append, LOG)
        assert isinstance(client, KazooClient)
        self.assertEqual((client.chroot, client._session_timeout), ("/x", 18000))
        self.patch(type(client._connection), "_connect", lambda connection, *where: (4000.0, 6000.0))
        again = make_client(settings, settings.connect, heard.append, LOG)
        assert isinstance(again, KazooClient)
        self.assertEqual(again._connection._connect("a", "127.0.0.1", 1), (4000.0, 6000.0))
        self.assertEqual(heard, [6.0])
