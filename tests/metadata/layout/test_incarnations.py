"""Tests of the nodes that a broker keeps about itself."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout import incarnations as i
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.incarnations import LifeRecord, PastLives, decode_lives, stale_dirs
from kafkatx.types import TopicPartition

PATH = "/kafkatx/incarnations/1"
LIVES = "/kafkatx/lives/1"


class IncarnationTests(SynchronousTestCase):
    def test_content(self) -> None:
        """An incarnation is what the layout says, and comes back."""
        node = i.Incarnation("h", clean=False, stopping=True)
        self.assertEqual(node.encode(), b'{"version":1,"host":"h","clean":false,"stopping":true}')
        self.assertEqual(i.decode_incarnation(PATH, node.encode()), node)

    def test_lost(self) -> None:
        """The epoch of the last registration that was not clean stays from life to life."""
        first = i.Incarnation("h")
        self.assertNotIn(b"lost", first.encode())
        second = first.following("h", clean=False, mzxid=20)
        self.assertEqual(second, i.Incarnation("h", clean=False))
        killed = second.following("h", clean=True, mzxid=30)
        self.assertEqual(killed, i.Incarnation("h", lost_epoch=30))
        stopped = second.stops(30).following("h", clean=True, mzxid=40)
        self.assertEqual(stopped, killed)
        third = killed.stops(50).following("g", clean=True, mzxid=60)
        self.assertEqual(third, i.Incarnation("g", lost_epoch=30))
        self.assertEqual(third.following("h", clean=False, mzxid=70), i.Incarnation("h", False, False, 30))
        self.assertEqual(i.decode_incarnation(PATH, third.encode()), third)

    def test_stale(self) -> None:
        """The epoch of the last registration with other logs stays from life to life."""
        first = i.Incarnation("h").following("h", clean=False, mzxid=20, stale=True)
        self.assertEqual(first, i.Incarnation("h", clean=False, stale=True))
        killed = first.following("h", clean=True, mzxid=30)
        self.assertEqual(killed, i.Incarnation("h", lost_epoch=30, stale_epoch=30))
        stopped = first.stops(30)
        self.assertEqual(stopped.following("h", clean=True, mzxid=40), killed)
        for node in (first, stopped, killed):
            self.assertEqual(i.decode_incarnation(PATH, node.encode()), node)

    def test_wrong(self) -> None:
        """A newer version and other types are errors."""
        for data in (
            b"",
            b'{"version":2,"host":"h","clean":true,"stopping":false}',
            b'{"version":1,"host":"h"}',
        ):
            self.assertRaises(UnreadableNode, i.decode_incarnation, PATH, data)


class OfflineTests(SynchronousTestCase):
    def test_content(self) -> None:
        """The offline replicas are what the layout says, and come back."""
        replicas = {TopicPartition("T", 3), TopicPartition("S", 1), TopicPartition("T", 0)}
        data = i.encode_offline(replicas)
        self.assertEqual(data, b'{"version":1,"partitions":{"S":[1],"T":[0,3]}}')
        self.assertEqual(i.decode_offline("/kafkatx/offline/1", data), replicas)
        self.assertRaises(UnreadableNode, i.decode_offline, "/kafkatx/offline/1", b'{"version":1}')


class LogDirTests(SynchronousTestCase):
    def test_log_dirs(self) -> None:
        """The paths of log dirs come back by their ids."""
        data = i.encode_log_dirs({"id": "/data/ü"})
        self.assertEqual(data, '{"version":1,"log_dirs":{"id":"/data/ü"}}'.encode())
        self.assertEqual(i.decode_log_dirs(PATH, data), {"id": "/data/ü"})
        self.assertRaises(UnreadableNode, i.decode_log_dirs, PATH, b'{"version":1}')

    def test_placed_topic(self) -> None:
        """The log dirs of a topic's partitions come back."""
        node = i.PlacedTopic({0: "a", 11: ""}, deleted=True)
        self.assertEqual(node.encode(), b'{"version":1,"partitions":{"0":"a","11":""},"deleted":true}')
        self.assertEqual(i.decode_placed_topic(PATH, node.encode()), node)
        for data in (
            b'{"version":1,"partitions":{"x":"a"},"deleted":false}',
            b'{"version":1,"partitions":{}}',
        ):
            self.assertRaises(UnreadableNode, i.decode_placed_topic, PATH, data)

    def test_record(self) -> None:
        """The record of the log dirs has the placed topics, and the deleted ones apart."""
        live, deleted = uuid.UUID(int=1), uuid.UUID(int=2)
        record = i.log_dir_record(
            {"a": "/a"}, {live: i.PlacedTopic({0: "a"}), deleted: i.PlacedTopic({0: "a"}, deleted=True)}
        )
        self.assertEqual(record.log_dirs, {"a": "/a"})
        self.assertEqual(record.placed, {live: {0: "a"}})
        self.assertEqual(record.deleted, frozenset({deleted}))


class LivesTests(SynchronousTestCase):
    def test_content(self) -> None:
        """The node is what the layout says, and comes back."""
        node = PastLives({"d": "one", "e": "two"}, frozenset("d"))
        self.assertEqual(node.encode(), b'{"version":1,"lives":{"d":"one","e":"two"},"closed":["d"]}')
        self.assertEqual(decode_lives(LIVES, node.encode()), node)
        self.assertRaises(UnreadableNode, decode_lives, LIVES, b'{"version":2,"lives":{},"closed":[]}')

    def test_following(self) -> None:
        """A later life replaces that of its own dirs alone."""
        node = PastLives({"d": "one", "e": "two"}, frozenset("de"))
        self.assertEqual(
            node.following({"d": "three"}, closed=False),
            PastLives({"d": "three", "e": "two"}, frozenset("e")),
        )
        self.assertEqual(
            node.following({"d": "three"}, closed=True),
            PastLives({"d": "three", "e": "two"}, frozenset("de")),
        )


class StaleTests(SynchronousTestCase):
    def stale(
        self, records: Mapping[str, LifeRecord | None], emptied: str = "", closed: str = ""
    ) -> list[str]:
        """Return the stale dirs of a broker whose dirs d and e have lived a life "last"."""
        return stale_dirs(PastLives({"d": "last", "e": "last"}, frozenset(closed)), records, emptied)

    def test_continues(self) -> None:
        """The very files of the last life continue it; a copy does only if the logs were closed."""
        for original, closed, stale in (
            (True, "", []),
            (False, "", ["d"]),
            (False, "d", []),
            (True, "d", []),
        ):
            record = LifeRecord(["first", "last"], original)
            self.assertEqual(self.stale({"d": record}, closed=closed), stale)

    def test_next_life_was_not_registered(self) -> None:
        """A dir has the name of its next life before that is registered."""
        self.assertEqual(self.stale({"d": LifeRecord(["last", "next"], True)}), [])

    def test_older(self) -> None:
        """Logs that do not know the last life are older; so are logs without a record."""
        for record in (LifeRecord(["first"], True), LifeRecord([], True), None):
            self.assertEqual(self.stale({"d": record, "e": LifeRecord(["last"], True)}, closed="de"), ["d"])

    def test_new(self) -> None:
        """A dir that was never registered harms nothing, beside one that was or at the first start."""
        self.assertEqual(self.stale({"d": LifeRecord(["last"], True), "f": None}), [])
        self.assertEqual(stale_dirs(PastLives(), {"d": None, "e": LifeRecord(["x"], False)}, ""), [])

    def test_emptied(self) -> None:
        """One emptied dir leaves the others as they are; if all are empty nothing is left of the life."""
        self.assertEqual(self.stale({"d": None, "e": LifeRecord(["last"], True)}, emptied="d"), [])
        self.assertEqual(self.stale({"d": None, "e": None, "f": None}, emptied="de"), ["d", "e", "f"])
        self.assertEqual(self.stale({"f": None}), ["f"])
