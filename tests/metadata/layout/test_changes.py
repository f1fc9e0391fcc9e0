"""Tests of the records of the change log."""

from __future__ import annotations

import json
import uuid
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.changes import MOST_BYTES, ChangeRecord, StateChange, TopicChange, decode
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.partition_states import StateNode

PATH = "/kafkatx/changes/c-0000000001"
ID = uuid.UUID("ffeeddcc-bbaa-9988-7766-554433221100")
RECORD = ChangeRecord(
    "c5",
    {"T": TopicChange(ID, 0, ((1,), (2,)), {"retention.ms": "5"}), "U": None},
    [StateChange("T", 0, StateNode(1, 0, 5, (1,)), 3)],
    [("V", ID)],
    ("topics/T",),
    ("W",),
    (1, 2),
)
TEXT = (
    b'{"version":1,"by":"c5","topics":{"T":{"topic_id":"_-7dzLuqmYh3ZlVEMyIRAA","version":0,'
    b'"partitions":{"0":[1],"1":[2]},"configs":{"retention.ms":"5"}},"U":null},'
    b'"states":[["T",0,{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":5,"isr":[1]},3]],'
    b'"deleted":[["V","_-7dzLuqmYh3ZlVEMyIRAA"]],"configs":["topics/T"],"deleting":["W"],"brokers":[1,2]}'
)


class ChangeRecordTests(SynchronousTestCase):
    def test_content(self) -> None:
        """A record is what the layout says, and comes back."""
        self.assertEqual(RECORD.encode(), TEXT)
        self.assertEqual(decode(PATH, TEXT), RECORD)

    def test_empty(self) -> None:
        """A record without changes has only its writer."""
        self.assertEqual(ChangeRecord("b1").encode(), b'{"version":1,"by":"b1"}')
        self.assertEqual(decode(PATH, b'{"version":1,"by":"b1"}').by, "b1")

    def test_large(self) -> None:
        """A record that would be too large names its topics without their content; states stay."""
        large = TopicChange(ID, 0, ((1, 2, 3),) * 20_000)
        record = ChangeRecord("c5", {"T": large}, RECORD.states)
        found = decode(PATH, record.encode())
        self.assertLess(len(record.encode()), MOST_BYTES)
        self.assertEqual((dict(found.topics), found.states), ({"T": None}, RECORD.states))

    def test_wrong(self) -> None:
        """A newer version and damaged parts are errors that name the record."""
        for key, value in (
            ("version", 2),
            ("by", None),
            ("topics", {"T": {}}),
            ("topics", {"T": {"topic_id": "x", "version": 0, "partitions": {}}}),
            ("states", [["T", 0]]),
            ("states", [["T", 0, {"version": 2}, 0]]),
            ("states", [["T", True, {}, 0]]),
            ("states", {"T": 0}),
            ("deleted", [["T"]]),
            ("deleted", [["T", "x"]]),
            ("configs", [1]),
            ("deleting", "T"),
            ("brokers", ["1"]),
            (
                "topics",
                {
                    "T": {
                        "topic_id": "_-7dzLuqmYh3ZlVEMyIRAA",
                        "version": 0,
                        "partitions": {},
                        "adding_replicas": 1,
                    }
                },
            ),
        ):
            with self.assertRaises(UnreadableNode, msg=f"{key} {value}") as caught:
                decode(PATH, json.dumps(json.loads(TEXT) | {key: value}).encode())
            self.assertEqual(caught.exception.path, PATH)

    def test_round_trip(self) -> None:
        """Random records come back."""
        random = Random(10)
        names = ["a", "b.c", "d-e_f"]
        for _ in range(200):
            record = ChangeRecord(
                random.choice(("c1", "b2")),
                {
                    name: random.choice(
                        (
                            None,
                            TopicChange(ID, random.randint(0, 9), ((1, 2),) * random.randint(0, 12), None),
                            TopicChange(ID, 0, ((3,),), {"a": "b"}),
                            TopicChange(ID, 1, ((3, 4),), None, {0: (4,)}, {0: (3,)}),
                        )
                    )
                    for name in random.sample(names, random.randint(0, 3))
                },
                [
                    StateChange(name, random.randint(0, 9), StateNode(-1, 1, 2, ()), random.randint(0, 9))
                    for name in random.sample(names, random.randint(0, 3))
                ],
                [(name, uuid.UUID(int=random.getrandbits(128))) for name in names[: random.randint(0, 3)]],
                tuple(random.sample(("topics/T", "users/u"), random.randint(0, 2))),
                tuple(random.sample(names, random.randint(0, 2))),
            )
            self.assertEqual(decode(PATH, record.encode()), record)
