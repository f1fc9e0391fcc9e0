"""Messages to systemd."""

from __future__ import annotations

import os
import socket
import tempfile

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.notify import READY, notify


class NotifyTests(SynchronousTestCase):
    def receiver(self, address: str) -> socket.socket:
        """Bind a socket as systemd does."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(bound.close)
        bound.bind(address)
        bound.setblocking(False)
        return bound

    def test_sends(self) -> None:
        """The message arrives at a socket in the file system, and at an abstract one."""
        folder = tempfile.mkdtemp()  # a socket's path must be short
        path = os.path.join(folder, "notify")
        self.addCleanup(os.rmdir, folder)
        self.addCleanup(os.remove, path)
        for address, name in ((path, path), (f"\0kafkatx-{os.getpid()}", f"@kafkatx-{os.getpid()}")):
            systemd = self.receiver(address)
            notify(READY, {"NOTIFY_SOCKET": name})
            self.assertEqual(systemd.recv(100), b"READY=1")

    def test_nobody(self) -> None:
        """Without a receiver, or without a socket's name, nothing happens."""
        for environment in ({}, {"NOTIFY_SOCKET": "/nowhere/at/all"}, {"NOTIFY_SOCKET": "relative"}):
            notify(READY, environment)

    def test_full(self) -> None:
        """A receiver that reads nothing does not hold the broker up."""
        name = f"kafkatx-full-{os.getpid()}"
        self.receiver(f"\0{name}")
        for _ in range(2000):
            notify(READY, {"NOTIFY_SOCKET": f"@{name}"})
