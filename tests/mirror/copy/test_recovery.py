"""Tests of kafkatx.mirror.copy.recovery; test_stream.py has its histories."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.consumer.record import Record
from kafkatx.mirror.copy.recovery import Recovered, TooMuchToRead, read_back, recover
from kafkatx.mirror.core.encoder import BatchEncoder
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.provenance import HeaderStamp
from kafkatx.mirror.core.tail import Copied
from kafkatx.types import TopicPartition
from tests.mirror.batches import compacted
from tests.mirror.copy.fakes import MemoryLogs

PLACE = TopicPartition("copy", 0)
A, B = 1001, 1002


class RecoveryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log of ten batches of A, three records each."""
        self.log: Any = MemoryLogs()
        for at in range(10):
            self.write(A, [6 * at, 6 * at + 2, 6 * at + 4], 3 * at)

    def write(self, producer: int, sources: list[int], sequence: int) -> None:
        """Append a batch of a stream."""
        records = [Record("t", 0, source, 5, 0, None, bytes(100)) for source in sources]
        batch = BatchEncoder(HeaderStamp("C", "t", 0)).encode(records, producer, 0, sequence)
        self.log.append(PLACE, batch)

    def recover(self, known: Position | None, producer: int = A, max_bytes: int = 1 << 30) -> Recovered:
        """Recover one stream."""
        self.log.reads.clear()
        found: Deferred[dict[int, Recovered]] = Deferred.fromCoroutine(
            recover(self.log, PLACE, {producer: known}, {producer: "id"}, max_bytes)
        )
        return self.successResultOf(found)[producer]

    def test_from_the_note(self) -> None:
        """Only what was written since the note is read, and its copies are told."""
        found = self.recover(Position(47, 24, A, 0, 24, "old"))
        self.assertEqual(found.resumption.position, Position(59, 30, A, 0, 30, "id"))
        self.assertEqual(found.copied, [Copied([48, 50, 52], 24), Copied([54, 56, 58], 27)])
        self.assertEqual((found.lost, found.topic_id, found.end), (False, "old", 30))
        self.assertEqual(self.log.reads, [23, 24])

    def test_no_note(self) -> None:
        """Without a note the whole log is read, in pieces."""
        self.log.piece_bytes = 1000
        found = self.recover(None)
        self.assertEqual(found.resumption.position, Position(59, 30, A, 0, 30, "id"))
        self.assertEqual(len(found.copied), 10)
        self.assertGreater(len(self.log.reads), 4)

    def test_too_much(self) -> None:
        """No more is read than the settings allow, and the message names the setting."""
        self.log.piece_bytes = 1000
        failure = self.failureResultOf(
            Deferred.fromCoroutine(recover(self.log, PLACE, {A: None}, {A: ""}, 2000)),
            TooMuchToRead,
        )
        self.assertIn("recovery.max.bytes=2000", str(failure.value))

    def test_cut(self) -> None:
        """The log ends before the note: it has lost copies, and the last one that is left counts."""
        found = self.recover(Position(77, 39, A, 0, 39))
        self.assertEqual((found.lost, found.resumption.position.source), (True, 59))

    def test_another_log(self) -> None:
        """The log has another batch than the note says: it is not the same log."""
        for known in (Position(47, 24, A, 0, 25), Position(47, 23, A, 0, 24), Position(9, 24, B, 0, 24)):
            found = self.recover(known, known.producer_id)
            self.assertTrue(found.lost, known)
        self.assertEqual(found.resumption.position.source, -1)

    def test_compacted_away(self) -> None:
        """The last batch of the note was compacted away: the note counts."""
        self.log.batches[PLACE][7:8] = []
        found = self.recover(Position(47, 24, A, 0, 24))
        self.assertEqual((found.lost, found.resumption.position.source), (False, 59))
        self.log.batches[PLACE][-2:] = [
            compacted(self.log.batches[PLACE][-2], [0]),
            compacted(self.log.batches[PLACE][-1], []),
        ]
        found = self.recover(Position(47, 24, A, 0, 24))
        self.assertEqual((found.resumption.position.source, found.resumption.skip), (49, 5))

    def test_deleted(self) -> None:
        """Retention has deleted what the note is about: it counts."""
        self.log.batches[PLACE] = []
        self.log.start[PLACE] = 30
        found = self.recover(Position(59, 30, A, 0, 30))
        self.assertEqual((found.lost, found.resumption.position.source), (False, 59))

    def test_read_back(self) -> None:
        """The copies in the batch at an offset are told."""
        found: Deferred[list[Copied]] = Deferred.fromCoroutine(read_back(self.log, PLACE, A, 27))
        self.assertEqual(self.successResultOf(found), [Copied([54, 56, 58], 27)])
