"""The common part of the contracts of stores and logs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.log.retention import SizeRetention
from kafkatx.records.batch import parse_header
from kafkatx.records.conversion import iter_any
from kafkatx.testing.contracts.store_case import NOW_MS, batch, bytes_of, find_retention


class StoreCaseTests(SynchronousTestCase):
    def test_batch(self) -> None:
        """A batch has the values, the time and the producer that it was made with."""
        made = batch([b"a", b"b"], producer=(7, 1, 4))
        header = parse_header(made)
        self.assertEqual((header.producer_id, header.producer_epoch, header.base_sequence), (7, 1, 4))
        found = [(record.value, record.timestamp) for record in iter_any(made)]
        self.assertEqual(found, [(b"a", NOW_MS), (b"b", NOW_MS)])

    def test_find_retention(self) -> None:
        """Policies are found by name; an unknown one is refused as a broker does."""
        self.assertIsInstance(find_retention("size"), SizeRetention)
        self.assertRaisesRegex(SettingError, "kafkatx.retention=nothing", find_retention, "nothing")

    def test_bytes_of(self) -> None:
        """Records in memory are their own bytes."""
        self.assertEqual(bytes_of(memoryview(b"abc")), b"abc")
