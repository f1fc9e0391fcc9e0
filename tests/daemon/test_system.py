"""Messages to systemd, and the limit of open files."""

from __future__ import annotations

import os
import resource
import socket
import tempfile

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.daemon.system import FEW_FILES, READY, allow_open_files, notify
from kafkatx.testing import EmbeddedBroker


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


class OpenFilesTests(SynchronousTestCase):
    def test_few_open_files(self) -> None:
        """A low limit of open files is logged; a high limit, or none, is not."""
        for hard, warnings in ((FEW_FILES - 1, 1), (FEW_FILES, 0), (resource.RLIM_INFINITY, 0)):
            self.patch(resource, "getrlimit", lambda _, hard=hard: (10, hard))
            self.patch(resource, "setrlimit", lambda *_: None)
            with capturedLogs() as events:
                allow_open_files()
            self.assertEqual(len(events), warnings, hard)

    def test_open_files(self) -> None:
        """A broker may open as many files as the system lets it, whatever the shell began with."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with EmbeddedBroker(run_in="process") as broker:
            self.assertEqual(resource.prlimit(broker.pid or 0, resource.RLIMIT_NOFILE), (hard, hard))
