"""The contract of stores notices bad ones."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.memory import MemoryLogStore
from kafkatx.testing.contracts.log_store import LogStoreContract
from tests.log.fakes import memory_store
from tests.testing.contracts.failures import failed_in


class LogStoreContractTests(SynchronousTestCase):
    def failed(self, durable: bool = False) -> set[str]:
        """Return the tests that fail for the store in memory, patched as it is now."""
        promised = durable

        class Case(LogStoreContract, SynchronousTestCase):
            durable = promised

            def make_store(self) -> Any:
                return memory_store(self.clock)

        return failed_in(Case)

    def test_good(self) -> None:
        """The store in memory keeps it."""
        self.assertEqual(self.failed(), set())

    def test_not_durable(self) -> None:
        """A store that says that it is durable, and is not, is noticed."""
        self.assertIn("test_reopen", self.failed(durable=True))

    def test_no_deletion(self) -> None:
        """A store that does not delete is noticed."""
        self.patch(MemoryLogStore, "delete", lambda store, *arguments: succeed(None))
        self.assertIn("test_delete", self.failed())
