"""The contract of logs notices bad ones."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.batch_log import BatchLog
from kafkatx.testing.contracts.partition_log import PartitionLogContract
from tests.log.fakes import memory_store
from tests.testing.contracts.failures import failed_in


class LogCase(SynchronousTestCase):
    def failed(self) -> set[str]:
        """Return the tests that fail for the log in memory, patched as it is now."""

        class Case(PartitionLogContract, SynchronousTestCase):
            def make_store(self) -> Any:
                return memory_store(self.clock)

        return failed_in(Case)


class PartitionLogContractTests(LogCase):
    def test_good(self) -> None:
        """The log in memory keeps it."""
        self.assertEqual(self.failed(), set())

    def test_no_cut(self) -> None:
        """A log that does not cut is noticed."""
        self.patch(BatchLog, "truncate_to", lambda log, offset: None)
        self.assertIn("test_truncate", self.failed())

    def test_wrong_count(self) -> None:
        """A log that says that there is always something to read is noticed."""
        self.patch(BatchLog, "readable_bytes", lambda log, offset, end_offset: 1)
        self.assertIn("test_readable_bytes", self.failed())

    def test_no_retention(self) -> None:
        """A log that keeps everything is noticed."""
        self.patch(BatchLog, "retain", lambda log, now_ms: 0)
        self.assertIn("test_retention_by_size", self.failed())
