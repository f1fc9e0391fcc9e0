"""Tests of the writes that the controller decides on."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.controller.writes import MOST_CHANGED, StateWrite, topic_writes
from kafkatx.types import PartitionState
from tests.metadata.controller.cases import topic

OLD = PartitionState(1, 4, (1,), (1,), 7, 50)
NEW = attrs.evolve(OLD, replicas=(2, 1), partition_epoch=8)


class TopicWriteTests(SynchronousTestCase):
    def test_none(self) -> None:
        """A topic whose replicas stay is one write."""
        known = attrs.evolve(topic("T", OLD), version=3)
        (write,) = topic_writes(known, {}, {})
        self.assertEqual((write.topic, write.states, write.changed), (known, (), ()))

    def test_parts(self) -> None:
        """Each write has its partitions with their states, and the topic as those before it have left it."""
        many = MOST_CHANGED + 1
        known = attrs.evolve(topic("T", *[OLD] * (many + 1)), version=3)
        changed = dict.fromkeys(range(1, many + 1), NEW)
        first, second = topic_writes(known, changed, {1: NEW, many: NEW})
        self.assertEqual((first.topic.version, second.topic.version), (3, 4))
        self.assertEqual((first.changed, second.changed), (tuple(range(1, many)), (many,)))
        self.assertEqual(first.states, (StateWrite("T", 1, NEW),))
        self.assertEqual(second.states, (StateWrite("T", many, NEW),))
        self.assertEqual(first.topic.partitions, (OLD, *[NEW] * MOST_CHANGED, OLD))
        self.assertEqual(second.topic.partitions, (OLD, *[NEW] * many))
