"""Tests of kafkatx.mirror.core.map_records: the records that the docs promise."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.mirror.core.map_records import (
    CHUNK_RUNS,
    Journal,
    Position,
    StreamRecords,
    position_record,
    runs_key,
    runs_record,
    take,
)
from kafkatx.mirror.core.offset_map import Run
from kafkatx.mirror.core.provenance import StreamId

STREAM = StreamId("C", "orders", 2, "dc1.orders")
POSITION = Position(1017, 17, 1 << 61, 3, 21, "an id")


class RecordsTests(SynchronousTestCase):
    def test_form(self) -> None:
        """Keys and values are JSON in a fixed order: other programs read and compare them."""
        key, value = position_record(STREAM, POSITION)
        self.assertEqual(
            key, b'{"cluster":"C","kind":"position","partition":2,"target":"dc1.orders","topic":"orders"}'
        )
        self.assertEqual(
            json.loads(value),
            {
                "source": 1017,
                "target": 17,
                "producer": 1 << 61,
                "epoch": 3,
                "sequence": 21,
                "topic_id": "an id",
            },
        )
        key, value = runs_record(STREAM, [Run(1000, 5, 17), Run(1030, 22, 1)])
        self.assertEqual(json.loads(key)["from"], 5)
        self.assertEqual(value, b'{"runs":[[1000,5,17],[1030,22,1]]}')

    def test_round_trip(self) -> None:
        """The last record of a key counts, and one without a value takes it back."""
        found: dict[StreamId, StreamRecords] = {}
        take(found, *position_record(STREAM, Position(1)))
        take(found, *position_record(STREAM, POSITION))
        take(found, *runs_record(STREAM, [Run(0, 0, 5)]))
        take(found, *runs_record(STREAM, [Run(0, 0, 7)]))
        take(found, *runs_record(STREAM, [Run(9, 7, 3)]))
        take(found, *runs_record(STREAM, [Run(20, 10, 3)]))
        take(found, runs_key(STREAM, 10), None)
        self.assertEqual(found[STREAM].position, POSITION)
        self.assertEqual(list(found[STREAM].offset_map()), [Run(0, 0, 7), Run(9, 7, 3)])
        take(found, position_record(STREAM, POSITION)[0], None)
        self.assertIsNone(found[STREAM].position)

    def test_overlap(self) -> None:
        """Two processes may have told the same: it counts once."""
        found: dict[StreamId, StreamRecords] = {}
        take(found, *runs_record(STREAM, [Run(0, 0, 100)]))
        take(found, *runs_record(STREAM, [Run(50, 50, 60)]))
        self.assertEqual(list(found[STREAM].offset_map()), [Run(0, 0, 110)])

    def test_foreign(self) -> None:
        """Anything else in the topic is left alone."""
        found: dict[StreamId, StreamRecords] = {}
        key, value = position_record(STREAM, POSITION)
        for bad in (None, b"", b"\xff", b"[]", b'{"kind":"position"}', key.replace(b"position", b"later")):
            take(found, bad, value)
        for bad in (b"", b"{}", b"[]", b'{"source":"x"}'):
            take(found, key, bad)
        take(found, runs_key(STREAM, 0), b'{"runs":[[1]]}')
        self.assertEqual(
            {stream: one.position for stream, one in found.items()} or {STREAM: None}, {STREAM: None}
        )


class JournalTests(SynchronousTestCase):
    def test_grows(self) -> None:
        """A run that grows is written again under its key; without news there is nothing to write."""
        journal = Journal(STREAM)
        self.assertEqual(journal.take(), [])
        journal.add([5, 6], 0)
        first = journal.take()
        self.assertEqual(first, [(runs_record(STREAM, [Run(5, 0, 2)]), 0, 2)])
        self.assertEqual(journal.take(), [])
        journal.add([7, 9], 2)
        again = journal.take()
        self.assertEqual(again, [(runs_record(STREAM, [Run(5, 0, 3), Run(9, 3, 1)]), 0, 4)])
        self.assertEqual(again[0][0][0], first[0][0][0])

    def test_chunks(self) -> None:
        """Many runs are spread over records; together they are all of them."""
        journal = Journal(STREAM)
        count = 3 * CHUNK_RUNS + 7
        journal.add([2 * at for at in range(CHUNK_RUNS + 7)], 0)
        for at in range(CHUNK_RUNS + 7, count):
            journal.add([2 * at], at)
        records = journal.take()
        found: dict[StreamId, StreamRecords] = {}
        for record, _, _ in records:
            take(found, *record)
        self.assertTrue(all(len(chunk) <= CHUNK_RUNS for chunk in found[STREAM].chunks.values()))
        self.assertEqual(list(found[STREAM].offset_map()), [Run(2 * at, at, 1) for at in range(count)])
        self.assertEqual([end for _, _, end in records][-1], count)
