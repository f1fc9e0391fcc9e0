"""The store in memory keeps the contracts."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing.contracts.partition_log import LogStoreContract, PartitionLogContract
from tests.log.fakes import memory_store


class MemoryLogTests(PartitionLogContract, SynchronousTestCase):
    """The log."""

    def make_store(self) -> Any:
        """Return a store in memory."""
        return memory_store(self.clock)


class MemoryLogStoreTests(LogStoreContract, SynchronousTestCase):
    """The store."""

    durable = False

    def make_store(self) -> Any:
        """Return a store in memory."""
        return memory_store(self.clock)
