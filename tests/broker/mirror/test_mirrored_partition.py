"""One mirrored partition: its status, and records that cannot be appended."""

from __future__ import annotations

from kafkatx.records.builder import build_values
from tests.broker.mirror.case import MirrorCase


class MirroredPartitionTests(MirrorCase):
    def test_status(self) -> None:
        """The status tells offsets, epochs, lag and bytes of the source and of the log."""
        self.log.elect()
        self.log.add(b"a", b"b")
        self.link()
        self.make_mirror()
        self.pump()
        found = self.status()
        self.assertEqual(
            (found.link, found.topic, found.partition, found.state, found.reason, found.stopped),
            ("dc1", "t", 0, "mirroring", "", False),
        )
        self.assertEqual((found.source_leader, found.source_epoch, found.leader_epoch), (1, 1, 1))
        self.assertEqual((found.source_start, found.source_end, found.log_end), (0, 2, 2))
        self.assertEqual((found.lag_ms, found.bytes_copied), (0, len(self.log.committed)))
        (link,) = self.broker.mirrors.links()
        self.assertEqual((link.name, link.source, link.error), ("dc1", self.source.bootstrap, ""))

    def test_producer_ids(self) -> None:
        """The greatest producer id of the log is told."""
        self.link()
        self.make_mirror()
        for producer_id in (7, 4711, 12):
            self.log.add_batch(
                build_values([b"v"], 1, producer_id=producer_id, producer_epoch=0, base_sequence=0)
            )
        self.pump()
        self.assertEqual(self.status().max_producer_id, 4711)

    def test_damaged(self) -> None:
        """Damaged records are not appended, the reason is told, and good ones end it."""
        good = self.log.add(b"a" * 100)
        batch = self.log.batches[0]
        self.log.batches[0] = (*batch[:3], good[:90] + b"?" + good[91:])
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual(self.partition.log.log_end_offset, 0)
        self.assertIn("checksum", self.status().reason)
        self.log.batches[0] = batch
        self.pump(6.0)
        self.check_equal()
        self.assertEqual(self.status().reason, "")

    def test_flipped_epoch(self) -> None:
        """A leader epoch above the source's, which no checksum covers, raises no epoch here."""
        good = self.log.add(b"a")
        self.log.batches[0] = (0, 0, 0, good[:12] + b"\x7f" + good[13:])
        self.link()
        self.make_mirror()
        self.pump()
        self.assertEqual((self.partition.leader_epoch, self.partition.log.log_end_offset), (0, 0))
