"""The record of log dirs: what is written, kept and forgotten."""

from __future__ import annotations

import json
import uuid

from kafkatx.errors import RequestError
from kafkatx.metadata.cluster.commands.log_dirs import AT_ONCE, RECORD_S
from kafkatx.metadata.cluster.control.trimmer import deletion_marks
from kafkatx.types import BrokerNode, LogDirRecord, Placement
from tests.metadata.cluster.cases import RunningCase


class LogDirTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker, and create a topic."""
        super().setUp()
        self.store = self.started()
        self.topic = self.result(self.store.create_topic("t", [[1], [1]], {}))

    def recorded(self) -> LogDirRecord:
        """Return what a broker of this id finds at its start."""
        store = self.stores.make_store()
        self.result(store.start(BrokerNode(1, "h", 1)))
        self.result(store.stop())
        return store.recorded

    def place(self, *placed: tuple[int, str | None], log_dirs: dict[str, str] | None = None) -> None:
        """Record placements of the topic."""
        placements = [Placement(self.topic.topic_id, number, where) for number, where in placed]
        self.result(self.store.record(log_dirs, placements, []))

    def test_nothing(self) -> None:
        """Without a record there are no log dirs and no placements."""
        self.assertEqual(self.recorded(), LogDirRecord())

    def test_placements(self) -> None:
        """Placements are merged; None removes one."""
        self.place((0, "a"), (1, "a"), log_dirs={"a": "/a"})
        self.place((1, "b"))
        self.place((0, None))
        self.assertEqual(
            self.recorded(), LogDirRecord({"a": "/a"}, {self.topic.topic_id: {1: "b"}}, frozenset())
        )

    def test_log_dirs(self) -> None:
        """Log dirs are replaced; those that hold partitions are kept."""
        self.place((0, "a"), log_dirs={"a": "/a", "b": "/b"})
        self.place(log_dirs={"c": "/c"})
        self.assertEqual(self.recorded().log_dirs, {"a": "/a", "c": "/c"})

    def test_unknown_topic(self) -> None:
        """Placements of a topic that does not exist are ignored."""
        self.result(self.store.record({}, [Placement(uuid.UUID(int=99), 0, "a")], []))
        self.assertEqual(self.recorded().placed, {})

    def test_gone(self) -> None:
        """A deleted topic is listed until its directories are gone, also if it was recorded late."""
        self.place((0, "a"), log_dirs={"a": "/a"})
        self.result(self.store.delete_topic("t"))
        self.assertEqual(self.recorded().deleted, frozenset([self.topic.topic_id]))
        for _ in range(2):
            self.result(self.store.record(None, [], [self.topic.topic_id]))
        self.assertEqual(self.recorded(), LogDirRecord({"a": "/a"}))

    def test_deletion_withdrawn(self) -> None:
        """A topic whose deletion was begun, but that exists, is not listed as deleted: it has its logs."""
        self.place((0, "a"), log_dirs={"a": "/a"})
        facts = self.store._view.image.controller
        assert facts is not None
        self.done(deletion_marks(self.tool, facts, self.topic))
        self.assertEqual(
            self.recorded(), LogDirRecord({"a": "/a"}, {self.topic.topic_id: {0: "a"}}, frozenset())
        )

    def test_many(self) -> None:
        """More topics than one transaction takes are recorded in several."""
        created = [self.store.create_topic(f"t{number}", [[1]], {}) for number in range(AT_ONCE + 1)]
        topics = [self.result(one) for one in created]
        placements = [Placement(topic.topic_id, 0, "a") for topic in topics]
        self.result(self.store.record({"a": "/a"}, placements, []))
        self.assertEqual(len(self.recorded().placed), AT_ONCE + 1)
        node = json.loads(self.read(f"/kafkatx/log_dirs/1/{self.children('/kafkatx/log_dirs/1')[0]}"))
        self.assertEqual(node, {"version": 1, "partitions": {"0": "a"}, "deleted": False})

    def test_without_a_connection(self) -> None:
        """A record that cannot be written fails soon: the stop of a broker waits for it."""
        self.stores.trees[self.store].link.cut()
        before = self.clock.seconds()
        with self.assertRaises(RequestError):
            self.place((0, "a"), log_dirs={"a": "/a"})
        self.assertLess(self.clock.seconds() - before, RECORD_S + 0.1)

    def test_without_a_change(self) -> None:
        """A placement that is recorded already is not written again."""
        self.place((0, "a"), log_dirs={"a": "/a"})
        before = self.stores.server.zxid
        self.place((0, "a"), log_dirs={"a": "/a"})
        self.assertEqual(self.stores.server.zxid, before)
