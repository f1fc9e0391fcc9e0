"""The contract of appends notices bad logs."""

from __future__ import annotations

from kafkatx.log.batch_log import BatchLog
from tests.testing.contracts.test_partition_log import LogCase


class AppendContractTests(LogCase):
    def test_never_written(self) -> None:
        """A log that never writes what is staged is noticed."""
        self.patch(BatchLog, "write", lambda log: None)
        self.assertIn("test_offsets_are_dense", self.failed())

    def test_producers_forgotten(self) -> None:
        """A log that lists no producers is noticed."""
        self.patch(BatchLog, "active_producers", lambda log: [])
        self.assertIn("test_active_producers", self.failed())
