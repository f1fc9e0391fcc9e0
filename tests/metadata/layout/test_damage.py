"""A damaged node is an UnreadableNode, whichever node it is and wherever the damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout import (
    admin,
    brokers,
    changes,
    configs,
    controller,
    incarnations,
    partition_states,
    producer_ids,
    topics,
)
from kafkatx.metadata.layout.fields import UnreadableNode
from tests.metadata.layout import (
    test_admin,
    test_brokers,
    test_changes,
    test_controller,
    test_partition_states,
    test_producer_ids,
    test_topics,
)

PATH = "/node"
NODES: dict[Callable[[bytes], object], bytes] = {
    lambda data: brokers.decode(1, PATH, data): test_brokers.KAFKA_3_9,
    lambda data: topics.decode(PATH, data): test_topics.KAFKA_3_9,
    lambda data: partition_states.decode(PATH, data): test_partition_states.KAFKA_3_9,
    lambda data: changes.decode(PATH, data): test_changes.TEXT,
    lambda data: configs.decode_configs(PATH, data): b'{"version":1,"config":{"a":"b"}}',
    lambda data: configs.decode_notification(PATH, data): b'{"version":2,"entity_path":"users/u/clients/c"}',
    lambda data: incarnations.decode_incarnation(PATH, data): incarnations.Incarnation("h").encode(),
    lambda data: incarnations.decode_log_dirs(PATH, data): incarnations.encode_log_dirs({"a": "b"}),
    lambda data: incarnations.decode_placed_topic(PATH, data): incarnations.PlacedTopic({0: "a"}).encode(),
    lambda data: incarnations.decode_offline(PATH, data): b'{"version":1,"partitions":{"T":[0,3]}}',
    admin.decode_reassignments: test_admin.REASSIGNMENTS,
    admin.decode_elections: test_admin.ELECTIONS,
    controller.decode_controller: test_controller.KAFKA_3_9,
    controller.decode_epoch: b"12",
    controller.decode_cluster_id: controller.encode_cluster_id("x"),
    controller.decode_feature: b'{"version":2,"status":1,"features":{"f":{"max_version_level":3}}}',
    controller.decode_migration: b'{"version":0,"kraft_controller_id":1,"kraft_controller_epoch":1}',
    producer_ids.decode: test_producer_ids.KAFKA_3_9,
}
VALUES: tuple[object, ...] = (None, True, -1, 2**40, 1.5, "", "x", [], {}, [None], [[]], {"x": None}, [{}])


def replaced(value: object) -> Iterator[object]:
    """Yield *value* with each of its parts in turn replaced by other values."""
    yield from VALUES
    if isinstance(value, dict):
        for key in value:
            for other in replaced(value[key]):
                yield value | {key: other}
    elif isinstance(value, list):
        for index in range(len(value)):
            for other in replaced(value[index]):
                yield [*value[:index], other, *value[index + 1 :]]


class DamageTests(SynchronousTestCase):
    def read(self, decode: Callable[[bytes], object], data: bytes) -> bool:
        """Return True if the node can be read; fail for another error than UnreadableNode."""
        try:
            decode(data)
        except UnreadableNode:
            return False
        except Exception as error:
            self.fail(f"{data!r}: {error!r}")
        return True

    def test_intact(self) -> None:
        """All nodes of this test can be read."""
        for decode, data in NODES.items():
            self.assertTrue(self.read(decode, data), data)

    def test_other_values(self) -> None:
        """A part of another type or value is read or reported."""
        rejected = 0
        for decode, data in NODES.items():
            for damaged in replaced(json.loads(data)):
                rejected += not self.read(decode, json.dumps(damaged).encode())
        self.assertGreater(rejected, 500)

    def test_cut(self) -> None:
        """A node that was cut anywhere is reported; an empty one may stand for nothing."""
        for decode, data in NODES.items():
            for size in range(1, len(data)):
                if data != b"12":
                    self.assertFalse(self.read(decode, data[:size]), data[:size])

    def test_random_bytes(self) -> None:
        """A node with some bytes changed is read or reported."""
        random = Random(11)
        for decode, data in NODES.items():
            for _ in range(200):
                damaged = bytearray(data)
                for _ in range(random.randint(1, 3)):
                    damaged[random.randrange(len(damaged))] = random.randrange(256)
                self.read(decode, bytes(damaged))
