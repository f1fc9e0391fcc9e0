"""Tests of the records that a copy lacks."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.mirror_check import superseded
from kafkatx.clientcore.admin.mirror_check.superseded import KEY_BYTES, Superseded
from kafkatx.records.batch import Record

LONG = b"k" * 2 * KEY_BYTES


def record(offset: int, key: bytes | None, value: bytes | None = b"v") -> Record:
    """Return a record."""
    return Record(offset, 0, key, value, [])


class SupersededTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Begin."""
        self.missing = Superseded()

    def test_later_record(self) -> None:
        """A record with the same key and a larger offset explains a missing one; others do not."""
        for key in (b"a", LONG):
            self.missing.lacks(record(5, key))
            self.missing.sees([record(4, key), record(5, key), record(6, b"b"), record(7, LONG[:-1])])
            self.assertEqual(self.missing.offsets(), [5])
            self.missing.sees([record(6, key, None)])
            self.assertEqual((self.missing.offsets(), len(self.missing)), ([], 0))

    def test_newest_counts(self) -> None:
        """The newest of the missing records with a key has to be explained."""
        self.missing.lacks(record(1, b"a"))
        self.missing.lacks(record(5, b"a"))
        self.missing.sees([record(3, b"a")])
        self.assertEqual(self.missing.offsets(), [5])

    def test_without_value(self) -> None:
        """A record without a value or a key is not followed."""
        self.missing.lacks(record(1, b"a", None))
        self.missing.lacks(record(2, None))
        self.assertEqual(len(self.missing), 0)

    def test_bound(self) -> None:
        """Records beyond the number of keys are counted only; known keys go on."""
        self.patch(superseded, "MOST_KEYS", 2)
        for offset, key in enumerate((b"a", b"b", b"c", b"a")):
            self.missing.lacks(record(offset, key))
        self.assertEqual((self.missing.offsets(), self.missing.too_many), ([1, 3], 1))
