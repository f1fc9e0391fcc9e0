"""The change log stays short, and deleted topics are marked in the records of log dirs."""

from __future__ import annotations

import attrs

from kafkatx.interfaces.nodes import BadVersion, Create
from kafkatx.metadata.cluster.control.trimmer import KEPT_RECORDS, MOST_RECORDS, deletion_marks
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.types import Placement
from tests.metadata.cluster.cases import RunningCase


class TrimTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.store = self.started()

    def test_change_log(self) -> None:
        """Above the limit the oldest records are deleted; brokers that have applied them notice nothing."""
        record = Create("/kafkatx/changes/c-", ChangeRecord("b9").encode(), sequential=True)
        for _ in range(MOST_RECORDS // 100):
            self.write(*[record] * 100)
        self.result(self.store.create_topic("t", [[1]], {}))
        self.stores.advance(1.0)
        names = self.children("/kafkatx/changes")
        self.assertLess(len(names), KEPT_RECORDS + 10)
        self.assertEqual(self.store._view.image.applied, int(names[-1][2:]))
        self.result(self.store.create_topic("u", [[1]], {}))
        self.assertEqual(sorted(self.store.state.topics), ["t", "u"])

    def test_notifications(self) -> None:
        """Kafka's notifications of changed configs are trimmed, too."""
        content = b'{"version":2,"entity_path":"brokers/1"}'
        notification = Create("/config/changes/config_change_", content, sequential=True)
        for _ in range(MOST_RECORDS // 100 + 1):
            self.write(*[notification] * 100)
        self.stores.advance(2.0)
        self.result(self.store.create_topic("t", [[1]], {}))
        self.stores.advance(2.0)
        self.assertLessEqual(len(self.children("/config/changes")), KEPT_RECORDS)

    def test_placements_by_an_old_controller(self) -> None:
        """A broker that is not the controller any more marks nothing."""
        topic = self.result(self.store.create_topic("t", [[1]], {}))
        self.result(self.store.record({"d": "/d"}, [Placement(topic.topic_id, 0, "d")], []))
        facts = self.store._view.image.controller
        assert facts is not None
        with self.assertRaises(BadVersion):
            old = attrs.evolve(facts, epoch_version=facts.epoch_version + 1)
            self.done(deletion_marks(self.tool, old, topic))

    def test_placements(self) -> None:
        """A deleted topic is marked for each of its brokers that has a record, also for one that is away."""
        second = self.started(2)
        topic = self.result(self.store.create_topic("t", [[1], [2], [7]], {}))
        self.result(second.record({"d": "/d"}, [Placement(topic.topic_id, 1, "d")], []))
        self.result(self.store.record({"d": "/d"}, [], []))
        self.result(second.stop())
        self.result(self.store.delete_topic("t"))
        again = self.started(2)
        self.assertEqual((again.recorded.placed, again.recorded.deleted), ({}, frozenset([topic.topic_id])))
        self.assertEqual(self.children("/kafkatx/log_dirs"), ["1", "2"])
        self.assertEqual(len(self.children("/kafkatx/log_dirs/1")), 1)
