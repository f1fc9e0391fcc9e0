"""The socket of a server, and servers and clients that are killed or frozen."""

from __future__ import annotations

import os
import signal
import socket
import stat

from twisted.internet.defer import DeferredQueue

from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import Change, Create, SessionState, SetData, TreeError
from kafkatx.metadata.tree.local import LocalTree
from kafkatx.metadata.tree.local.listener import TreeListener
from tests.metadata.tree.local.processes import Child
from tests.metadata.tree.local.test_tree import LocalTreeCase, reactor


class ListenerTests(LocalTreeCase):
    def other(self, path: str) -> TreeListener:
        """Return a listener with a file of its own."""
        return TreeListener(path + ".sqlite3", path, reactor, self.workers(path))

    async def refused(self, path: str) -> str:
        """Return why a listener cannot start; check that it has closed its file."""
        listener = self.other(path)
        error = await self.failure(SettingError, listener.start())
        await self.failure(SettingError, listener.start())
        return str(error)

    async def test_private(self) -> None:
        """Only the owner may connect; the socket goes with the server."""
        found = os.stat(self.socket)
        self.assertTrue(stat.S_ISSOCK(found.st_mode))
        self.assertEqual(stat.S_IMODE(found.st_mode), 0o600)
        await self.listener.stop()
        self.assertFalse(os.path.lexists(self.socket))

    async def test_stale(self) -> None:
        """The socket of a dead server is replaced."""
        path = os.path.join(self.folder, "stale.sock")
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(path)
        listener = self.other(path)
        await listener.start()
        await listener.stop()

    async def test_second(self) -> None:
        """A socket that is served is left alone; the message names the process."""
        self.assertIn(f"{self.socket}: process {os.getpid()} serves", await self.refused(self.socket))
        tree = self.new_tree(self.socket)
        await tree.connect()
        await tree.close()

    async def test_no_socket(self) -> None:
        """A file that is no socket is left alone."""
        path = os.path.join(self.folder, "file")
        with open(path, "wb"):
            pass
        self.assertIn(f"{path}: this is no socket", await self.refused(path))
        self.assertTrue(os.path.exists(path))

    async def test_no_directory(self) -> None:
        """A directory that cannot be used is named."""
        path = os.path.join(self.folder, "missing", "tree.sock")
        listener = TreeListener(os.path.join(self.folder, "x.sqlite3"), path, reactor, self.workers("x"))
        error = await self.failure(SettingError, listener.start())
        self.assertIn(path, str(error))

    async def test_removed(self) -> None:
        """A server whose socket was removed stops nevertheless."""
        os.unlink(self.socket)
        await self.listener.stop()

    async def test_long_path(self) -> None:
        """A path that is too long for a socket is reached in another way."""
        folder = os.path.join(self.folder, *("x" * 50,) * 4)
        os.makedirs(folder)
        path = os.path.join(folder, "tree.sock")
        listener = self.other(path)
        await listener.start()
        self.addCleanup(listener.stop)
        tree = self.new_tree(path)
        await tree.connect()
        await tree.multi([Create("/a")])
        await tree.close()
        await listener.stop()
        self.assertFalse(os.path.lexists(path))


class ProcessesTests(LocalTreeCase):
    async def serving(self) -> Child:
        """Return a process that serves the test's socket."""
        await self.listener.stop()
        server = Child(self, reactor, "server_process", self.file, self.socket)
        self.assertEqual(await server.lines.get(), "ready")
        return server

    async def client(self, timeout_s: float) -> Child:
        """Return a process with a session and the node ``/e``."""
        client = Child(self, reactor, "client_process", self.socket, str(timeout_s), "/e")
        self.assertEqual([await client.lines.get() for _ in range(2)], ["CONNECTED", "made"])
        return client

    async def connected(self) -> LocalTree:
        """Return a tree with a session."""
        tree = self.new_tree(self.socket)
        await tree.connect()
        self.addCleanup(tree.close)
        return tree

    async def test_killed_between_writes(self) -> None:
        """A server that is killed at any time has everything that it has acknowledged."""
        acknowledged = 0
        await self.serving()
        server = Child(self, reactor, "server_process", self.file + "2", self.socket + "2")
        await server.lines.get()
        tree = self.new_tree(self.socket + "2")
        await tree.connect()
        self.addCleanup(tree.close)
        states: DeferredQueue[SessionState] = DeferredQueue()
        tree.subscribe(states.put)
        await tree.multi([Create("/n"), Create("/e", ephemeral=True)])
        for round_number in range(6):
            writes = [tree.multi([Create("/n/c-", sequential=True), SetData("/n", b"x")]) for _ in range(40)]
            for write in writes[: 5 * round_number + 1]:
                await write
                acknowledged += 1
            await server.end()
            for write in writes[5 * round_number + 1 :]:
                try:
                    await write
                    acknowledged += 1
                except TreeError:
                    pass
            server = Child(self, reactor, "server_process", self.file + "2", self.socket + "2")
            self.assertEqual(await server.lines.get(), "ready")
            self.assertIs(await states.get(), SessionState.SUSPENDED)
            self.assertIs(await states.get(), SessionState.CONNECTED)
            names = await tree.children("/n")
            _, stat = await tree.read("/n")
            self.assertEqual(names, [f"c-{number:010d}" for number in range(len(names))])
            self.assertEqual(stat.version, len(names))
            self.assertGreaterEqual(len(names), acknowledged)
            acknowledged = len(names)
            self.assertIsNotNone(await tree.exists("/e"))

    async def test_damaged(self) -> None:
        """A server does not start with a damaged file, and says which."""
        server = await self.serving()
        tree = await self.connected()
        await tree.multi([Create(f"/{number}", b"x" * 500) for number in range(50)])
        await server.end()
        os.truncate(self.file, os.path.getsize(self.file) - 4096)
        damaged = Child(self, reactor, "server_process", self.file, self.socket)
        line = await damaged.lines.get()
        self.assertIn(self.file, line)
        self.assertIn("is damaged", line)
        await damaged.ended

    async def test_second_process(self) -> None:
        """A second server is refused."""
        await self.serving()
        second = Child(self, reactor, "server_process", self.file, self.socket)
        self.assertIn("in use by another broker", await second.lines.get())

    async def test_killed_client(self) -> None:
        """The session of a killed client ends at once, long before its time-out."""
        client = await self.client(600.0)
        tree = await self.connected()
        changes: DeferredQueue[Change] = DeferredQueue()
        await tree.exists("/e", changes.put)
        client.send(signal.SIGKILL)
        self.assertIs(await changes.get(), Change.DELETED)

    async def test_frozen_client(self) -> None:
        """The session of a frozen client expires; when it goes on, it learns that."""
        client = await self.client(0.5)
        tree = await self.connected()
        changes: DeferredQueue[Change] = DeferredQueue()
        await tree.exists("/e", changes.put)
        client.send(signal.SIGSTOP)
        self.assertIs(await changes.get(), Change.DELETED)
        client.send(signal.SIGCONT)
        self.assertEqual([await client.lines.get() for _ in range(2)], ["SUSPENDED", "LOST"])

    async def test_frozen_server(self) -> None:
        """A server that stood still for longer than the time-outs ends no session by that."""
        server = await self.serving()
        tree = self.new_tree(self.socket, 0.5)
        await tree.connect()
        self.addCleanup(tree.close)
        states: DeferredQueue[SessionState] = DeferredQueue()
        tree.subscribe(states.put)
        await tree.multi([Create("/e", ephemeral=True)])
        server.send(signal.SIGSTOP)
        self.assertIs(await states.get(), SessionState.SUSPENDED)
        server.send(signal.SIGCONT)
        self.assertIs(await states.get(), SessionState.CONNECTED)
        self.assertIsNotNone(await tree.exists("/e"))
