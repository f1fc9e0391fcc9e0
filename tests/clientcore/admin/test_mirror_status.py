"""Tests of the values of mirrors."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorReport, MirrorStatus, merged


class MirrorStatusTests(SynchronousTestCase):
    def test_lag(self) -> None:
        """The lag is the distance to the source's end, never negative, and unknown if one of them is."""
        for source_end, log_end, lag in ((50, 40, 10), (50, 50, 0), (50, 51, 0), (-1, 5, -1), (5, -1, -1)):
            status = MirrorStatus("dc1", "a", 0, "mirroring", source_end=source_end, log_end=log_end)
            self.assertEqual(status.lag, lag)

    def test_merged(self) -> None:
        """Links and partitions of all brokers come in order."""
        one = MirrorReport(
            (LinkStatus("b", "s", broker=1),), (MirrorStatus("b", "t", 1, "paused", broker=1),)
        )
        two = MirrorReport(
            (LinkStatus("a", "s", broker=2), LinkStatus("b", "s", broker=2)),
            (MirrorStatus("b", "t", 0, "paused"), MirrorStatus("a", "s", 5, "paused")),
        )
        whole = merged([two, one])
        self.assertEqual([(x.name, x.broker) for x in whole.links], [("a", 2), ("b", 1), ("b", 2)])
        self.assertEqual(
            [status.topic_partition for status in whole.partitions], [("s", 5), ("t", 0), ("t", 1)]
        )

    def test_two_leaders(self) -> None:
        """The broker in the later leader epoch is believed, if two describe a partition."""
        old = MirrorReport(partitions=(MirrorStatus("a", "t", 0, "paused", leader_epoch=4, broker=1),))
        new = MirrorReport(partitions=(MirrorStatus("a", "t", 0, "paused", leader_epoch=5, broker=2),))
        for reports in ([old, new], [new, old]):
            (status,) = merged(reports).partitions
            self.assertEqual(status.broker, 2)
