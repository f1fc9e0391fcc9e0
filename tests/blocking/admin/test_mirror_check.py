"""Tests of the check of mirrored partitions."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.mirror_check import check_partition
from kafkatx.clientcore.admin.mirror_check.comparison import Tally
from kafkatx.clientcore.errors import OffsetOutOfRange
from kafkatx.records.builder import build_values
from kafkatx.types import TopicPartition
from tests.blocking.fakes import FakeCluster, Log

NAME = TopicPartition("t", 0)


def log(*sizes: int, word: str = "value") -> Log:
    """Return a log with batches of these numbers of records."""
    made = Log()
    for number, size in enumerate(sizes):
        made.append(build_values([f"{word} {number} {n}".encode() for n in range(size)], 5))
    return made


class CheckTests(SynchronousTestCase):
    def check(self, source: Log, copy: Log, compacted: bool = False, end: int | None = None) -> Tally:
        """Compare two logs."""
        self.source, self.copy = FakeCluster({"t": [source]}), FakeCluster({"t": [copy]})
        self.seen: list[int] = []
        return check_partition(
            self.source.client(),
            self.copy.client(),
            NAME,
            compacted,
            lambda tally: self.seen.append(tally.position),
            end,
        )

    def test_equal(self) -> None:
        """Equal logs are compared from the first to the last offset."""
        tally = self.check(log(3, 1, 2), log(3, 1, 2))
        self.assertEqual((tally.start, tally.end, tally.position), (0, 6, 6))
        self.assertEqual((tally.batches, tally.different), (3, 0))
        self.assertEqual(self.seen, [3, 4, 6])

    def test_copy_behind(self) -> None:
        """The comparison ends with the copy."""
        tally = self.check(log(3, 1, 2), log(3, 1))
        self.assertEqual((tally.end, tally.batches, tally.different), (4, 2, 0))

    def test_copy_ahead(self) -> None:
        """A copy that goes on beyond the source's end differs: the source was truncated."""
        tally = self.check(log(3, 1), log(3, 1, 2))
        (one,) = tally.differences
        self.assertEqual((one.first_offset, one.last_offset, tally.batches), (4, 5, 2))
        self.assertIn("beyond the source's end, which is 4", one.what)

    def test_promoted(self) -> None:
        """After a promotion the copy may go on, up to which it must be equal."""
        tally = self.check(log(3, 1), log(3, 1, 2), end=4)
        self.assertEqual((tally.different, tally.end, tally.batches), (0, 4, 2))

    def test_log_starts(self) -> None:
        """The later log start counts."""
        for source_start, copy_start in ((3, 0), (0, 3)):
            source, copy = log(3, 1, 2), log(3, 1, 2)
            source.start, copy.start = source_start, copy_start
            tally = self.check(source, copy)
            self.assertEqual((tally.start, tally.batches, tally.different), (3, 2, 0))

    def test_nothing_in_common(self) -> None:
        """A source that has deleted all that the copy has leaves nothing to compare."""
        source = log(3, 1, 2)
        source.start = 6
        tally = self.check(source, log(3))
        self.assertEqual((tally.start, tally.end, tally.batches, tally.different), (6, 6, 0, 0))

    def test_empty(self) -> None:
        """Empty logs are equal."""
        tally = self.check(Log(), Log())
        self.assertEqual((tally.batches, tally.different, tally.position), (0, 0, 0))

    def test_different(self) -> None:
        """Other bytes are found."""
        self.assertEqual(self.check(log(3, 1), log(3, 1, word="other")).different, 2)

    def test_retention_overtakes(self) -> None:
        """Offsets that the source deletes meanwhile are skipped, and the rest is compared."""
        source, copy = log(*[1] * 40), log(*[1] * 40)
        clusters = FakeCluster({"t": [source]}), FakeCluster({"t": [copy]})
        for cluster in clusters:
            cluster.fetch_bytes = 200  # two batches

        def retain(tally: Tally) -> None:
            if tally.position == 4:
                source.start = 20
                source.batches = source.batches[20:]

        tally = check_partition(clusters[0].client(), clusters[1].client(), NAME, False, retain)
        self.assertEqual((tally.different, tally.position, tally.end), (0, 40, 40))
        self.assertLess(tally.batches, 30)

    def test_no_progress(self) -> None:
        """A side that refuses offsets which it says it has is an error, not an endless loop."""
        source = log(1)
        copy = log(1)
        cluster = FakeCluster({"t": [source]})

        def lose(tally: Tally) -> None:
            raise OffsetOutOfRange("t", 0, 0, 0, 1)

        self.assertRaises(
            OffsetOutOfRange,
            check_partition,
            cluster.client(),
            FakeCluster({"t": [copy]}).client(),
            NAME,
            False,
            lose,
        )
