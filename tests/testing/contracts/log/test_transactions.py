"""The contract of logs with transactions notices bad logs."""

from __future__ import annotations

from typing import Any

from kafkatx.log.append.staged_appends import StagedAppends
from kafkatx.log.producer_state import ProducerStateManager
from kafkatx.log.transactions.aborted import AbortedTransactions
from kafkatx.log.transactions.ended import EndedTransactions
from tests.testing.contracts.test_partition_log import LogCase


class TransactionContractTests(LogCase):
    def test_no_transactions(self) -> None:
        """A log that shows readers of committed records everything is noticed."""
        self.patch(StagedAppends, "last_stable_offset", lambda appends, high_watermark, start: high_watermark)
        failed = self.failed()
        for name in ("test_transaction", "test_staged_marker", "test_followed", "test_cut_marker"):
            self.assertIn(name, failed)

    def test_markers_count_at_once(self) -> None:
        """A log that trusts markers above the high watermark is noticed."""
        self.patch(EndedTransactions, "_add_unstable", lambda known, one: None)
        self.assertEqual(self.failed(), {"test_marker_above_the_high_watermark"})

    def test_forgets_aborted(self) -> None:
        """A log that knows no aborted transactions is noticed, and one that returns all of them."""
        self.patch(AbortedTransactions, "among", lambda known, offset, end, most: (end, []))
        self.assertIn("test_aborted", self.failed())

    def test_deleted_records(self) -> None:
        """A log whose stable end lies below its start is noticed."""

        def unclipped(appends: Any, high_watermark: int, start: int) -> int:
            firsts: list[int] = [high_watermark, *appends.producers.open.values()]
            return min(firsts)

        self.patch(StagedAppends, "last_stable_offset", unclipped)
        self.assertIn("test_records_deleted", self.failed())

    def test_expires_open_transactions(self) -> None:
        """A log that forgets producers with open transactions is noticed."""

        def expire(producers: ProducerStateManager, now_ms: int, expiration_ms: int) -> None:
            producers.states.clear()

        self.patch(ProducerStateManager, "expire", expire)
        self.assertIn("test_expiry", self.failed())

    def test_takes_old_markers(self) -> None:
        """A log that takes markers of any epoch is noticed."""
        self.patch(ProducerStateManager, "check_marker", lambda *arguments: None)
        failed = self.failed()
        self.assertIn("test_old_markers", failed)
        self.assertIn("test_bumped_epochs", failed)
