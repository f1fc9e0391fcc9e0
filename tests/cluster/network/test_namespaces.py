"""Blackhole routes cut one direction of a network of namespaces. Skipped without root or ``ip``."""

from __future__ import annotations

import socket
import threading

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from tests.cluster.network.namespaces import NamespaceNetwork, NamespaceNotMade
from tests.cluster.network.places import CLIENT


class NamespacesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a network with a server that echoes, as broker 1."""
        try:
            self.network = NamespaceNetwork()
        except NamespaceNotMade as error:
            raise SkipTest(str(error)) from error
        self.addCleanup(self.network.close)
        host, _, port = self.network.place_broker(1).listen.rpartition(":")
        with self.network.inside("1"):
            listening = socket.create_server((host, int(port)))
        self.addCleanup(listening.close)
        self.got = b""
        connection = socket.create_connection((host, int(port)), 20)
        self.addCleanup(connection.close)
        server, _ = listening.accept()
        self.addCleanup(server.close)
        self.client, self.server = connection, server
        threading.Thread(target=self.echo, daemon=True).start()

    def echo(self) -> None:
        """Answer each byte by itself."""
        while data := self.server.recv(10):
            self.got += data
            self.server.sendall(data)

    def test_one_way(self) -> None:
        """A request is lost until the direction is free; then it arrives, and so does the reply."""
        self.client.sendall(b"a")
        self.assertEqual(self.client.recv(1), b"a")
        self.network.cut([(CLIENT, "1")])
        self.client.sendall(b"b")
        self.client.settimeout(0.3)
        self.assertRaises(TimeoutError, self.client.recv, 1)
        self.assertEqual(self.got, b"a")
        self.network.heal([(CLIENT, "1")])
        self.client.settimeout(20)
        self.assertEqual(self.client.recv(1), b"b")

    def test_replies(self) -> None:
        """A reply is lost until the direction is free."""
        self.network.cut([("1", CLIENT)])
        self.client.sendall(b"b")
        self.client.settimeout(0.3)
        self.assertRaises(TimeoutError, self.client.recv, 1)
        self.assertEqual(self.got, b"b")
        self.network.heal([("1", CLIENT)])
        self.client.settimeout(20)
        self.assertEqual(self.client.recv(1), b"b")
