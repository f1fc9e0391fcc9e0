"""Every interface that plugins provide has a contract, and the page of plugins names it."""

from __future__ import annotations

import importlib
import re

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.plugins import builtin
from tests.test_readme import ROOT

ROW = re.compile(r"^\| (.+?) \| (`[\w.]+\.\w+Contract`.*) \|$", re.MULTILINE)


class ContractTests(SynchronousTestCase):
    def test_every_interface(self) -> None:
        """For each interface with a built-in plugin the page names contracts that can be imported."""
        named: set[str] = set()
        for interfaces, contracts in ROW.findall((ROOT / "docs/plugins.md").read_text()):
            named.update(re.findall(r"`[\w.]*?(I[A-Z]\w+)`", interfaces))
            for module, name in re.findall(r"`([\w.]+)\.(\w+)`", contracts):
                found = importlib.import_module(f"kafkatx.testing.contracts.{module}")
                self.assertTrue(hasattr(found, name), f"{module}.{name}")
        provided = {found.provides.__name__ for found in vars(builtin).values() if hasattr(found, "provides")}
        self.assertEqual(provided - named, set())
