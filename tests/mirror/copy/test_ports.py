"""Tests of kafkatx.mirror.copy.ports: the real parts and those of tests have the ports' methods."""

from __future__ import annotations

import inspect

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror.copy.ports import SourcePort, TargetPort
from kafkatx.mirror.copy.source import Source
from kafkatx.mirror.copy.target import Target
from tests.mirror.copy.fakes import MemorySource, MemoryTarget


class PortsTests(SynchronousTestCase):
    def test_methods(self) -> None:
        """Each has all methods of its port, with the same parameters."""
        for port, made in (
            (SourcePort, (Source, MemorySource)),
            (TargetPort, (Target, MemoryTarget)),
        ):
            methods = {name: method for name, method in vars(port).items() if inspect.isfunction(method)}
            wanted = {name: method for name, method in methods.items() if not name.startswith("_")}
            self.assertGreater(len(wanted), 4)
            for each in made:
                for name, method in wanted.items():
                    self.assertEqual(
                        list(inspect.signature(getattr(each, name)).parameters),
                        list(inspect.signature(method).parameters),
                        (each, name),
                    )
