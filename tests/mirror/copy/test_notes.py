"""Tests of kafkatx.mirror.copy.notes: what is written, and what a next process reads."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import RequestTimedOut, UnknownTopic
from kafkatx.mirror.copy.notes import Notes
from kafkatx.mirror.core.map_records import Position
from kafkatx.mirror.core.offset_map import Run
from kafkatx.mirror.core.provenance import StreamId
from kafkatx.records.builder import BatchBuilder
from kafkatx.types import TopicPartition
from tests.mirror.batches import stamped
from tests.mirror.copy.fakes import MemoryLogs

S, R = StreamId("C", "t", 0, "copy"), StreamId("C", "t", 1, "copy")
TOPIC = TopicPartition("kafkatx-mirror.dc1.internal", 0)

T = TypeVar("T")


class NotesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the topic, and notes of a first process."""
        self.logs: Any = MemoryLogs()
        self.error: Exception | None = None
        self.notes = self.make()

    def make(self, map_runs: int = 1000) -> Notes:
        """Make the notes of a process, loaded."""
        notes = Notes("dc1", self.logs, self.send, map_runs)
        self.run_(notes.load())
        return notes

    def send(self, topic: str, key: bytes, value: bytes | None) -> Deferred[object]:
        """Append a record."""
        if self.error is not None:
            return fail(self.error)
        self.assertEqual(topic, TOPIC.topic)
        builder = BatchBuilder()
        builder.append(key, value, 5)
        self.logs.batches[TOPIC].append(stamped(builder.build(), self.logs.end(TOPIC)))
        return succeed(None)

    def run_(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that does not wait."""
        return self.successResultOf(Deferred.fromCoroutine(work))

    def written(self) -> int:
        """Return the number of records of the topic."""
        return len(self.logs.batches[TOPIC])

    def test_next_process(self) -> None:
        """A next process reads positions and maps."""
        self.notes.copied(S, range(5), 10)
        self.notes.copied(S, [7], 15)
        self.run_(self.notes.flush({S: Position(8, 16, 1, 0, 6), R: Position(-1)}))
        self.assertEqual(self.written(), 2)
        after = self.make()
        self.assertEqual(after.position(S), Position(8, 16, 1, 0, 6))
        self.assertEqual(list(after.of(S).offset_map), [Run(0, 10, 5), Run(7, 15, 1)])
        self.assertIsNone(after.position(R))

    def test_nothing_new(self) -> None:
        """Records that the topic has are not written again."""
        self.run_(self.notes.note(S, Position(3)))
        self.run_(self.notes.flush({S: Position(3)}))
        self.assertEqual(self.written(), 1)

    def test_failed(self) -> None:
        """Records that could not be written are written with the next call."""
        self.notes.copied(S, range(5), 10)
        self.error = RequestTimedOut("away")
        self.failureResultOf(Deferred.fromCoroutine(self.notes.flush({S: Position(5, 15)})))
        self.error = None
        self.notes.copied(S, range(5, 9), 15)
        self.run_(self.notes.flush({S: Position(9, 19)}))
        after = self.make()
        self.assertEqual(list(after.of(S).offset_map), [Run(0, 10, 9)])
        self.assertEqual(after.position(S), Position(9, 19))

    def test_found_again(self) -> None:
        """Copies that a next process finds in the log, and has notes of, too, count once."""
        self.notes.copied(S, range(5), 0)
        self.run_(self.notes.flush({S: Position(5, 5)}))
        after = self.make()
        after.copied(S, range(3, 9), 3)
        self.run_(after.flush({S: Position(9, 9)}))
        self.assertEqual(list(self.make().of(S).offset_map), [Run(0, 0, 9)])

    def test_lost(self) -> None:
        """Copies that the target has lost are forgotten, also by next processes."""
        self.notes.copied(S, range(0, 20, 2), 0)
        self.run_(self.notes.flush({S: Position(20, 10)}))
        after = self.make()
        after.lost(S, 4)
        self.assertIsNone(after.position(S))
        after.copied(S, [8, 9], 4)
        self.run_(after.flush({S: Position(10, 6)}))
        wanted = [*(Run(2 * at, at, 1) for at in range(4)), Run(8, 4, 2)]
        self.assertEqual(list(self.make().of(S).offset_map), wanted)

    def test_deleted(self) -> None:
        """Pairs of offsets of records that the target has deleted are taken back."""
        self.notes.copied(S, range(5), 0)
        self.run_(self.notes.flush({S: Position(5, 5)}))
        after = self.make()
        after.copied(S, range(5, 9), 5)
        self.run_(after.flush({S: Position(9, 9)}))
        after.forget_deleted([S], {TopicPartition("copy", 0): 5})
        self.run_(after.flush({S: Position(9, 9)}))
        self.assertEqual(list(self.make().of(S).offset_map), [Run(5, 5, 4)])

    def test_bound(self) -> None:
        """Maps take no more memory than allowed; the topic has all of them."""
        few = self.make(map_runs=20)
        for stream in (S, R):
            for at in range(50):
                few.copied(stream, [3 * at], at)
        self.assertLessEqual(sum(len(few.of(stream).offset_map) for stream in (S, R)), 20)
        self.run_(few.flush({S: Position(150), R: Position(150)}))
        self.assertEqual(len(self.make().of(S).offset_map), 50)

    def test_no_topic(self) -> None:
        """Without the topic nothing is known."""

        async def ends(place: TopicPartition) -> tuple[int, int]:
            raise UnknownTopic(place.topic)

        self.logs.ends = ends
        self.assertIsNone(self.make().position(S))
