"""The description of the machine."""

from __future__ import annotations

import os
from types import SimpleNamespace

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare import machine as measured
from benchmarks.compare.machine import TICKS, Watch, machine, stolen_s


class MachineTests(SynchronousTestCase):
    def test_machine(self) -> None:
        """Its cores, as the system counts them."""
        self.assertEqual(machine()["cores"], os.cpu_count())

    def test_watch(self) -> None:
        """One and a half of two cores were taken."""
        told = iter(((10.0, 100.0), (14.0, 106.0)))
        seconds: list[float] = []

        def monotonic() -> float:
            now_s, stolen = next(told)
            seconds.append(stolen)
            return now_s

        self.patch(measured, "time", SimpleNamespace(monotonic=monotonic))
        self.patch(measured, "stolen_s", lambda: seconds[-1])
        self.assertEqual(Watch().stolen_percent(), 150.0)

    def test_stolen(self) -> None:
        """The steal of /proc/stat: the sum over the cores, in seconds, and nothing else of that line."""
        before = stolen_s()
        with open("/proc/stat", encoding="ascii") as file:
            lines = [line.split() for line in file if line.startswith("cpu")]
        cores = sum(int(line[8]) for line in lines[1:]) / TICKS
        self.assertTrue(before - 0.5 <= cores <= stolen_s() + 0.5, (before, cores))
