"""The contract of a mirror's filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zope.interface.verify import verifyObject

from kafkatx.clientcore.consumer.record import Record
from kafkatx.interfaces import IRecordFilter

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

RECORDS = [
    Record("t", 0, number, 1000, 0, key, value, headers)
    for number, (key, value, headers) in enumerate(
        [
            (None, None, b""),
            (b"", b"", b""),
            (b"key", b"a value", b""),
            (b"\xff\x00", bytes(100_000), b"\x02\x02h\x02v"),
        ]
    )
]
"""Records with and without key, value and headers."""


class RecordFilterContract(_Case):
    """For an :class:`~kafkatx.interfaces.IRecordFilter`."""

    def make_filter(self) -> IRecordFilter:
        """Return a filter, configured if it has settings."""
        raise NotImplementedError

    def test_interface(self) -> None:
        """Check that it provides the interface."""
        self.assertTrue(verifyObject(IRecordFilter, self.make_filter(), tentative=True))

    def test_answers(self) -> None:
        """Any record is judged, always alike, whatever came before it, and by each object alike."""
        one, other = self.make_filter(), self.make_filter()
        first = [one.keep(record) for record in RECORDS]
        self.assertTrue(all(isinstance(answer, bool) for answer in first))
        self.assertEqual([one.keep(record) for record in reversed(RECORDS)], first[::-1])
        self.assertEqual([other.keep(record) for record in RECORDS], first)
