"""Disks of log dirs."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import Mock

from twisted.internet.defer import execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.cluster.disks import KEPT_S, Disks


class DisksTests(SynchronousTestCase):
    def test_found(self) -> None:
        """Disks are asked in a worker, once in a while; failed log dirs and missing ones are left out."""
        asked: list[str] = []

        def workers(name: str) -> Any:
            asked.append(name)
            return execute

        broker: Any = Mock(clock=Clock(), workers=workers)
        broker.store.dirs = [
            Mock(path=os.getcwd(), error=None),
            Mock(path="/nowhere/at/all", error=None),
            Mock(path="/", error=OSError("broken")),
        ]
        disks = Disks(broker)
        for _ in range(3):
            (disk,) = self.successResultOf(disks.get())
        self.assertEqual((disk.path, asked), (os.getcwd(), ["volumes"]))
        self.assertTrue(0 < disk.free_share <= 1)
        broker.clock.advance(KEPT_S)
        self.successResultOf(disks.get())
        self.assertEqual(len(asked), 2)
