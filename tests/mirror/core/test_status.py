"""Tests of kafkatx.mirror.core.status."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror.core.provenance import StreamId
from kafkatx.mirror.core.status import State, StreamStatus, Totals, failures


def status(number: int = 0, **more: object) -> StreamStatus:
    """Make the status of a partition."""
    made = StreamStatus(StreamId("C", "t", number, "u"))
    for name, value in more.items():
        setattr(made, name, value)
    return made


class StatusTests(SynchronousTestCase):
    def test_lag(self) -> None:
        """The lag is the distance to the source's end, where both are known."""
        self.assertEqual(status(source_next=7, source_end=10).lag, 3)
        self.assertEqual(status(source_next=12, source_end=10).lag, 0)
        self.assertEqual((status(source_end=10).lag, status(source_next=7).lag), (-1, -1))

    def test_line(self) -> None:
        """The line says only what there is."""
        all_well = [status(state=State.COPYING, records=5, bytes=2048, source_next=5, source_end=7)]
        self.assertEqual(Totals.of(all_well).line(), "5 records (2.0 KiB) copied, 2 behind, 1 of 1 partition")
        trouble = [*all_well, status(1, state=State.FAILED, failure="why", filtered=3, deleted=9)]
        self.assertEqual(
            Totals.of(trouble).line(),
            "5 records (2.0 KiB) copied, 2 behind, 1 of 2 partitions, 3 left out by the filter, "
            "9 deleted at the source before they were copied, 1 partitions failed",
        )

    def test_failures(self) -> None:
        """The first failed partitions have a line each."""
        many = [status(number, state=State.FAILED, failure="why") for number in range(7)]
        lines = failures([status(9), *many])
        self.assertEqual(len(lines), 6)
        self.assertEqual(lines[0], "t-0 of C is not copied: why")
        self.assertEqual(lines[-1], "and 2 partitions more")
