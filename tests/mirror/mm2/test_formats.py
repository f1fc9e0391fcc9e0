"""Tests of kafkatx.mirror.mm2.formats: bytes as MirrorMaker 2 writes them, read by hand."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import CorruptRecords
from kafkatx.mirror.mm2.formats import (
    Checkpoint,
    Heartbeat,
    OffsetSync,
    checkpoints_topic,
    heartbeats_topic,
    offset_syncs_topic,
)


class FormatTests(SynchronousTestCase):
    def test_bytes(self) -> None:
        """The bytes that Kafka's schemas give."""
        self.assertEqual(
            OffsetSync("t", 2, 300, 17).encode(),
            (bytes.fromhex("0001 74 00000002"), bytes.fromhex("000000000000012c 0000000000000011")),
        )
        self.assertEqual(
            Checkpoint("g", "a.t", 2, 300, 17, "m").encode(),
            (
                bytes.fromhex("0001 67 0003 612e74 00000002"),
                bytes.fromhex("0000 000000000000012c 0000000000000011 0001 6d"),
            ),
        )
        self.assertEqual(
            Heartbeat("a", "b", 300).encode(),
            (bytes.fromhex("0001 61 0001 62"), bytes.fromhex("0000 000000000000012c")),
        )

    def test_round_trip(self) -> None:
        """Records are read as they are written."""
        for one in (
            OffsetSync("topic", 1, 2, 3),
            Checkpoint("gruppe-ä", "a.t", 0, 1 << 62, 5, ""),
            Heartbeat("a", "b", 1),
        ):
            self.assertEqual(type(one).decode(*one.encode()), one)

    def test_damaged(self) -> None:
        """Anything cut off or of a later version is refused."""
        for one in (OffsetSync("t", 1, 2, 3), Checkpoint("g", "t", 0, 1, 5, "m"), Heartbeat("a", "b", 1)):
            key, value = one.encode()
            for bad in (
                (key[:-1], value),
                (key, value[:-1]),
                (b"\xff\xff" + key, value),
                (b"\0\1\xff", value),
            ):
                with self.assertRaises(CorruptRecords):
                    type(one).decode(*bad)
        with self.assertRaisesRegex(CorruptRecords, "version 1"):
            Heartbeat.decode(b"\0\0\0\0", b"\0\1" + bytes(8))

    def test_topics(self) -> None:
        """The names of MirrorMaker 2's default policy."""
        self.assertEqual(offset_syncs_topic("a"), "mm2-offset-syncs.a.internal")
        self.assertEqual(checkpoints_topic("a"), "a.checkpoints.internal")
        self.assertEqual(heartbeats_topic("a"), "a.heartbeats")
