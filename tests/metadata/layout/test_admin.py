"""Tests of the nodes by which old tools ask the controller for something."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.admin import (
    decode_elections,
    decode_reassignments,
    encode_elections,
    encode_reassignments,
)
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.types import TopicPartition

REASSIGNMENTS = (
    b'{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[2,3]},'
    b'{"topic":"U","partition":7,"replicas":[1],"log_dirs":["any"]}]}'
)
ELECTIONS = b'{"version":1,"partitions":[{"topic":"T","partition":0},{"topic":"U","partition":7}]}'
BOTH = [TopicPartition("T", 0), TopicPartition("U", 7)]


class AdminNodeTests(SynchronousTestCase):
    def test_reassignments(self) -> None:
        """The new replicas of partitions are read, also with keys of later tools, and written."""
        found = decode_reassignments(REASSIGNMENTS)
        self.assertEqual(found, dict(zip(BOTH, [(2, 3), (1,)], strict=True)))
        self.assertEqual(decode_reassignments(encode_reassignments(found)), found)

    def test_elections(self) -> None:
        """The partitions of preferred elections are read, each once, and written as Kafka does."""
        self.assertEqual(decode_elections(ELECTIONS), BOTH)
        self.assertEqual(encode_elections(BOTH), ELECTIONS)
        self.assertEqual(decode_elections(encode_elections(BOTH * 2)), BOTH)

    def test_wrong(self) -> None:
        """Other versions and values are errors."""
        changes: list[dict[str, object]] = [
            {"version": 2},
            {"partitions": {}},
            {"partitions": [1]},
            {"partitions": [{"topic": "T"}]},
            {"partitions": [{"topic": "T", "partition": -1, "replicas": [1]}]},
        ]
        for change in changes:
            for decode, valid in ((decode_reassignments, REASSIGNMENTS), (decode_elections, ELECTIONS)):
                with self.assertRaises(UnreadableNode, msg=str(change)):
                    decode(json.dumps(json.loads(valid) | change).encode())
        with self.assertRaises(UnreadableNode):
            decode_reassignments(ELECTIONS)
