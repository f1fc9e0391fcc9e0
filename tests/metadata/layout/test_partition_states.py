"""Tests of the nodes of partition states."""

from __future__ import annotations

import json
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.partition_states import StateNode, decode
from kafkatx.types import PartitionState

PATH = "/brokers/topics/T/partitions/0/state"
KAFKA_3_9 = b'{"controller_epoch":4,"leader":1,"version":1,"leader_epoch":2,"isr":[1,3]}'


class StateNodeTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """A state of Apache Kafka 3.9 is read, and written again with the same content."""
        node = decode(PATH, KAFKA_3_9)
        self.assertEqual(node, StateNode(1, 2, 4, (1, 3)))
        self.assertEqual(json.loads(node.encode()), json.loads(KAFKA_3_9))

    def test_no_leader(self) -> None:
        """Leader -1 is no leader."""
        self.assertEqual(decode(PATH, KAFKA_3_9.replace(b'r":1', b'r":-1')).leader, -1)

    def test_recovery(self) -> None:
        """leader_recovery_state is written only while the leader recovers, as Kafka does."""
        recovering = decode(PATH, KAFKA_3_9[:-1] + b',"leader_recovery_state":1}')
        self.assertTrue(recovering.recovering)
        self.assertEqual(json.loads(recovering.encode())["leader_recovery_state"], 1)
        recovered = decode(PATH, KAFKA_3_9[:-1] + b',"leader_recovery_state":0}')
        self.assertNotIn(b"recovery", recovered.encode())

    def test_unknown_keys(self) -> None:
        """Keys that kafkatx does not know stay in the node when it is written again."""
        data = KAFKA_3_9[:-1] + b',"x":{"y":null}}'
        node = decode(PATH, data)
        self.assertEqual(json.loads(node.encode()), json.loads(data))
        state = node.state((1, 2, 3), partition_epoch=7, revision=99)
        self.assertEqual(StateNode.of(state, 4), node)

    def test_eligible(self) -> None:
        """Eligible brokers are in the node only if there are some."""
        node = decode(PATH, KAFKA_3_9[:-1] + b',"kafkatx_eligible":[2]}')
        self.assertEqual((node.eligible, node.others), ((2,), {}))
        self.assertIn(b'"kafkatx_eligible":[2]', node.encode())
        state = node.state((1, 2, 3), 7, 99, adding=(3,), removing=(2,))
        self.assertEqual((state.eligible, state.adding, state.removing), ((2,), (3,), (2,)))
        self.assertEqual(StateNode.of(state, 4), node)
        self.assertNotIn(b"eligible", decode(PATH, KAFKA_3_9).encode())

    def test_wrong(self) -> None:
        """Missing keys, other types and newer versions are errors."""
        valid = json.loads(KAFKA_3_9)
        changes: list[dict[str, object]] = [{key: None} for key in valid]
        changes += [
            {"kafkatx_eligible": 1},
            {"version": 2},
            {"leader": "1"},
            {"leader": -2},
            {"leader_epoch": -1},
            {"isr": [True]},
        ]
        for change in [*changes, {"leader_recovery_state": 2}, {"isr": {"0": 1}}]:
            with self.assertRaises(UnreadableNode, msg=str(change)):
                decode(PATH, json.dumps(valid | change).encode())

    def test_state(self) -> None:
        """The partition's state has the replicas of the topic, and version and mzxid of the node."""
        state = decode(PATH, KAFKA_3_9).state((1, 2, 3), partition_epoch=7, revision=99)
        self.assertEqual(state, PartitionState(1, 2, (1, 2, 3), (1, 3), 7, 99))

    def test_round_trip(self) -> None:
        """Random states come back."""
        random = Random(7)
        for _ in range(300):
            node = StateNode(
                random.randint(-1, 9),
                random.randint(0, 2**31 - 1),
                random.randint(0, 2**31 - 1),
                tuple(random.sample(range(9), random.randint(0, 4))),
                random.random() < 0.5,
                tuple(random.sample(range(9), random.choice((0, 0, 2)))),
                {"x": [1]} if random.random() < 0.5 else {},
            )
            self.assertEqual(decode(PATH, node.encode()), node)
