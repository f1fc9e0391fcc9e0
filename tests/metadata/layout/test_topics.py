"""Tests of the nodes of topics."""

from __future__ import annotations

import json
import uuid
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.topics import TopicNode, decode

PATH = "/brokers/topics/T"
ID = uuid.UUID("ffeeddcc-bbaa-9988-7766-554433221100")
KAFKA_3_9 = (
    b'{"removing_replicas":{},"partitions":{"2":[3,1,2],"1":[2,3,1],"0":[1,2,3]},'
    b'"topic_id":"_-7dzLuqmYh3ZlVEMyIRAA","adding_replicas":{},"version":3}'
)
REPLICAS = ((1, 2, 3), (2, 3, 1), (3, 1, 2))


class DecodeTests(SynchronousTestCase):
    def test_version_3(self) -> None:
        """The node of a topic of Apache Kafka 3.9 is read."""
        self.assertEqual(decode(PATH, KAFKA_3_9), TopicNode(ID, REPLICAS))

    def test_old_versions(self) -> None:
        """Old nodes have no id, and those of version 1 no reassignment."""
        self.assertEqual(decode(PATH, b'{"version":1,"partitions":{"0":[1]}}'), TopicNode(None, ((1,),)))
        reassigned = b'"adding_replicas":{"0":[2]},"removing_replicas":{"0":[1]}'
        data = b'{"version":2,"partitions":{"0":[1,2]},' + reassigned + b"}"
        self.assertEqual(decode(PATH, data), TopicNode(None, ((1, 2),), {0: (2,)}, {0: (1,)}))

    def test_many_partitions(self) -> None:
        """Partitions are in the order of their numbers, not of their names."""
        data = json.dumps({"version": 3, "partitions": {str(n): [n] for n in range(12)}}, sort_keys=True)
        self.assertEqual(decode(PATH, data.encode()).partitions, tuple((n,) for n in range(12)))

    def test_wrong(self) -> None:
        """A newer version, a gap between partitions, and values of other types are errors."""
        for change in (
            {"version": 4},
            {"version": None},
            {"partitions": {"0": [1], "2": [1]}},
            {"partitions": {"00": [1]}},
            {"partitions": [[1]]},
            {"partitions": {"0": "1"}},
            {"partitions": None},
            {"adding_replicas": {"x": [1]}},
            {"adding_replicas": {"0": [-1]}},
            {"topic_id": "T"},
        ):
            with self.assertRaises(UnreadableNode, msg=str(change)):
                decode(PATH, json.dumps(json.loads(KAFKA_3_9) | change).encode())


class EncodeTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """A node has the content that Apache Kafka 3.9 gives it."""
        self.assertEqual(json.loads(TopicNode(ID, REPLICAS).encode()), json.loads(KAFKA_3_9))

    def test_round_trip(self) -> None:
        """Random topics come back, with the replicas that a reassignment adds and removes."""
        random = Random(6)

        def replicas() -> tuple[int, ...]:
            return tuple(random.sample(range(9), random.randint(1, 4)))

        for _ in range(200):
            count = random.randint(0, 15)
            some = random.sample(range(count), random.randint(0, count))
            node = TopicNode(
                random.choice((None, uuid.UUID(int=random.getrandbits(128)))),
                tuple(replicas() for _ in range(count)),
                {number: replicas() for number in some},
                {number: replicas() for number in some[:2]},
            )
            self.assertEqual(decode(PATH, node.encode()), node)
