"""Tests of the record of a mirrored topic."""

from __future__ import annotations

import json
import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState, mirror_refusal, record_of

SOURCE_ID = uuid.UUID(int=0x1234)


class MirrorRecordTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A record is read as it was written, in every state."""
        for state in MirrorState:
            for ends in (None, (), (0, 17)):
                record = MirrorRecord("dc1", SOURCE_ID, state, "a “reason”", ends, len(ends or ()))
                self.assertEqual(MirrorRecord.parse(record.text()), record)

    def test_text(self) -> None:
        """The JSON has link, source id and state, and the others only if they are set."""
        first = {"link": "dc1", "source_id": str(SOURCE_ID), "state": "mirroring"}
        self.assertEqual(json.loads(MirrorRecord("dc1", SOURCE_ID).text()), first)
        self.assertEqual(
            json.loads(MirrorRecord("dc1", SOURCE_ID, MirrorState.PROMOTING, "r", (5,), 2).text()),
            {**first, "state": "promoting", "reason": "r", "ends": [5], "attempt": 2},
        )

    def test_unknown_keys(self) -> None:
        """Keys of a later version are ignored."""
        text = json.dumps({"link": "a", "source_id": str(SOURCE_ID), "state": "paused", "more": [1]})
        self.assertEqual(MirrorRecord.parse(text), MirrorRecord("a", SOURCE_ID, MirrorState.PAUSED))

    def test_bad_values(self) -> None:
        """Everything else is a ValueError."""
        good = {"link": "a", "source_id": str(SOURCE_ID), "state": "paused"}
        bad: list[object] = [
            *({key: value for key, value in good.items() if key != missing} for missing in good),
            *({**good, key: 1} for key in good),
            {**good, "state": "other"},
            {**good, "source_id": "x"},
            {**good, "reason": None},
            *({**good, "attempt": attempt} for attempt in (-1, "1", None)),
            *({**good, "ends": ends} for ends in ([-1], ["1"], [True], [1.0], 1)),
            [],
            None,
        ]
        for value in bad:
            self.assertRaises(ValueError, MirrorRecord.parse, json.dumps(value))
        for text in ("", "{", "[" * 100_000):
            self.assertRaises(ValueError, MirrorRecord.parse, text)

    def test_what_a_state_allows(self) -> None:
        """Leaders fetch only while the topic is mirrored, and producers write only after the promotion."""
        allowed = {state: MirrorRecord("a", SOURCE_ID, state) for state in MirrorState}
        self.assertEqual([s for s, record in allowed.items() if record.fetched], [MirrorState.MIRRORING])
        self.assertEqual([s for s, record in allowed.items() if record.writable], [MirrorState.PROMOTED])

    def test_of_configs(self) -> None:
        """A topic without the config is no mirror; one whose record cannot be read has failed."""
        self.assertIsNone(record_of({"retention.ms": "1"}))
        record = MirrorRecord("a", SOURCE_ID, MirrorState.PROMOTED)
        self.assertEqual(record_of({KAFKATX_MIRROR: record.text()}), record)
        damaged = record_of({KAFKATX_MIRROR: "{"})
        assert damaged is not None
        self.assertEqual((damaged.state, damaged.writable), (MirrorState.FAILED, False))

    def test_refusal(self) -> None:
        """The refusal names the link and what to do."""
        self.assertIn("link dc1 alone: to write to it, promote it", mirror_refusal("dc1"))
