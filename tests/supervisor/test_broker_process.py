"""The process of a broker: it reports, and ends with its supervisor. With real processes."""

from __future__ import annotations

import os
import signal
from typing import Any

from twisted.internet import reactor as installed
from twisted.internet.defer import DeferredQueue
from twisted.trial.unittest import TestCase

from kafkatx.supervisor.child import Child, spawn
from kafkatx.supervisor.status import Order, Report

reactor: Any = installed


class BrokerProcessTests(TestCase):
    timeout = 60

    def child(self, **settings: str) -> Child:
        """Start a broker that keeps nothing."""
        self.reports: DeferredQueue[Report] = DeferredQueue()
        self.ends: DeferredQueue[str] = DeferredQueue()
        named = {"kafkatx.storage": "memory", "listeners": "PLAINTEXT://127.0.0.1:0"}
        named |= {name.replace("_", "."): value for name, value in settings.items()}
        self.log = os.path.abspath(self.mktemp())
        order = Order("7", None, list(named.items()), "info", "text", None, False)
        child = Child(order, self.reports.put, self.ends.put)
        with open(self.log, "wb") as log:
            own = os.dup(2)
            os.dup2(log.fileno(), 2)
            try:
                spawn(reactor, child)
            finally:
                os.dup2(own, 2)
                os.close(own)
        self.addCleanup(child.signal, signal.SIGKILL)
        return child

    def logged(self) -> str:
        """Return what the process has logged."""
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    async def test_life(self) -> None:
        """A broker reports that it is ready, and stops at SIGTERM; SIGINT is for the supervisor alone."""
        child = self.child()
        report = await self.reports.get()
        self.assertRegex(report.address, r"^127\.0\.0\.1:\d+$")
        child.signal(signal.SIGINT)
        child.signal(signal.SIGTERM)
        self.assertEqual(await self.ends.get(), "status 0")
        lines = self.logged().splitlines()
        self.assertTrue(all(line.startswith("[7] ") for line in lines), lines)
        self.assertIn("kafkatx has stopped", lines[-1])

    async def test_supervisor_ends(self) -> None:
        """A broker whose supervisor is gone stops as at SIGTERM, and says why."""
        child = self.child()
        await self.reports.get()
        transport: Any = child.transport
        transport.closeStdin()
        self.assertEqual(await self.ends.get(), "status 0")
        self.assertIn("The supervisor has ended", self.logged())
        self.assertIn("kafkatx has stopped", self.logged())

    async def test_cannot_start(self) -> None:
        """A broker that cannot start reports the reason."""
        self.child(log_dirs="", broker_id="x")
        report = await self.reports.get()
        self.assertIn("broker.id=x", report.failure or "")
        self.assertEqual(await self.ends.get(), "status 1")
