"""Tests of kafkatx.log.recovery.epochs: the checkpoint compared with the batches."""

from __future__ import annotations

import os

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.log.checkpoint import LEADER_EPOCHS, decode_epochs, encode_epochs
from kafkatx.log.files import Files
from kafkatx.log.leader_epochs import EpochEvidence
from kafkatx.log.recovery.epochs import EpochRecovery
from kafkatx.log.segment.scan import Shallow
from kafkatx.log.segment.segment import LogSegment
from tests.log.segments import make_segment, stored

ENTRIES = [(0, 0), (1, 2), (3, 4)]


class EpochRecoveryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of two batches in each of three epochs, in two segments."""
        self.directory = self.mktemp()
        batches = [stored([b"x"], offset, epoch=(0, 0, 1, 1, 3, 3)[offset]) for offset in range(6)]
        self.segments = [
            make_segment(self.directory, *batches[:3]),
            make_segment(self.directory, *batches[3:], base_offset=3),
        ]
        self.path = os.path.join(self.directory, LEADER_EPOCHS)

    def recovered(
        self,
        checkpoint: bytes | None,
        scanned_from: int | None = None,
        log_start: int = 0,
        end: int = 6,
        evidence: EpochEvidence | None = None,
    ) -> list[tuple[int, int]]:
        """Return the epochs recovered with this checkpoint; the file has the same afterwards."""
        if checkpoint is not None:
            with open(self.path, "wb") as file:
                file.write(checkpoint)
        lasts = [self.last(segment) for segment in self.segments] if scanned_from is None else []
        recovery = EpochRecovery(
            Files(), self.directory, self.segments, evidence or EpochEvidence(), scanned_from
        )
        epochs = recovery.epochs(lasts, log_start, end)
        with open(self.path, "rb") as file:
            self.assertEqual(decode_epochs(file.read()), epochs.entries)
        self.assertEqual(epochs.version, 0)
        return epochs.entries

    def last(self, segment: LogSegment) -> Shallow:
        """The last batch of a segment."""
        return list(segment.walk())[-1]

    def test_sound(self) -> None:
        """A checkpoint that the last batches agree with is taken as it is."""
        self.assertEqual(self.recovered(encode_epochs(ENTRIES)), ENTRIES)

    def test_rebuilt(self) -> None:
        """One that is missing, empty, damaged or contradicted is built from all batches."""
        for checkpoint in (None, b"", b"0\n9\n", encode_epochs([]), encode_epochs([(0, 0), (7, 2)])):
            self.assertEqual(self.recovered(checkpoint), ENTRIES, checkpoint)

    def test_empty(self) -> None:
        """An empty one, as Apache Kafka makes it for a new log, is no reason for a warning."""
        with capturedLogs() as events:
            self.recovered(b"")
        self.assertEqual(events, [])

    def test_begins_late(self) -> None:
        """One that lacks the first epochs is rebuilt, but not for records that were deleted."""
        self.assertEqual(self.recovered(encode_epochs(ENTRIES[1:])), ENTRIES)
        self.assertEqual(self.recovered(encode_epochs(ENTRIES[1:]), log_start=2), ENTRIES[1:])

    def test_end(self) -> None:
        """An epoch that begins at the end of the log was noted by its leader; one beyond is forgotten."""
        noted = [*ENTRIES, (5, 6)]
        self.assertEqual(self.recovered(encode_epochs(noted)), noted)
        self.assertEqual(self.recovered(encode_epochs(noted), scanned_from=6), noted)
        self.assertEqual(self.recovered(encode_epochs([*noted, (7, 7)])), noted)
        self.assertEqual(self.recovered(encode_epochs([*ENTRIES, (5, 7)])), ENTRIES)

    def test_noted_only(self) -> None:
        """A log without records has the epoch that was noted at its start."""
        self.segments = [make_segment(self.directory, base_offset=9)]
        self.assertEqual(self.recovered(encode_epochs([(5, 9)]), 9, 9, 9), [(5, 9)])

    def test_contradicted(self) -> None:
        """An epoch that begins at the end is kept unless the batches have it or a later one."""
        self.assertEqual(self.recovered(encode_epochs([(0, 0), (7, 2), (9, 6)])), [*ENTRIES, (9, 6)])
        self.assertEqual(self.recovered(encode_epochs([(0, 0), (1, 2), (3, 6)])), ENTRIES)

    def test_scanned(self) -> None:
        """The epochs of a scan replace the checkpoint from there on."""
        evidence = EpochEvidence()
        for batch in self.segments[1].walk():
            evidence.note(batch.leader_epoch, batch.base_offset)
        found = self.recovered(encode_epochs(ENTRIES[:2]), scanned_from=3, evidence=evidence)
        self.assertEqual(found, ENTRIES)
