"""Changes of topics."""

from __future__ import annotations

from kafkatx.types import Topic
from tests.broker.console.case import ConsoleCase


class ChangesTests(ConsoleCase):
    def topic(self, name: str = "t") -> Topic | None:
        """Return a topic of the state."""
        found: Topic | None = self.broker.metadata.state.topics.get(name)
        return found

    def told(self) -> list[tuple[str, str, str]]:
        """Return the audit, the oldest first."""
        found = self.get("/actions")["items"]
        return [(one["action"], one["resource"], one["result"]) for one in reversed(found)]

    def test_create(self) -> None:
        """A topic is created with partitions and configs; a check alone creates nothing."""
        body = {"name": "t", "partitions": 3, "configs": {"retention.ms": 5000}}
        checked = self.change("POST", "/topics", {**body, "validateOnly": True})
        self.assertEqual((checked["partitions"], checked["id"]), (3, None))
        self.assertEqual((self.topic(), self.told()), (None, []))
        made = self.change("POST", "/topics", body)
        topic = self.topic()
        assert topic is not None
        self.assertEqual((made["id"], len(topic.partitions)), (str(topic.topic_id), 3))
        self.assertEqual(topic.configs, {"retention.ms": "5000"})
        self.assertEqual(self.told(), [("create topic", "topic t", "done")])

    def test_not_created(self) -> None:
        """A topic that cannot be is refused with what is wrong with it."""
        self.make_topic("old")
        for body, status, code in (
            ({"name": "old"}, 409, "TOPIC_ALREADY_EXISTS"),
            ({"name": "a/b"}, 400, "INVALID_TOPIC_EXCEPTION"),
            ({"name": "../x"}, 400, "INVALID_TOPIC_EXCEPTION"),
            ({"name": "<script>"}, 400, "INVALID_TOPIC_EXCEPTION"),
            ({"name": "x", "configs": {"nothing": "1"}}, 400, "INVALID_CONFIG"),
            ({"name": "x", "replicationFactor": 5}, 400, "INVALID_REPLICATION_FACTOR"),
            ({"name": "x", "partitions": 0}, 400, "INVALID_PARTITIONS"),
            ({"name": "x", "partitions": 10**9}, 400, "INVALID_REQUEST"),
            ({"name": "x", "configs": []}, 400, "INVALID_REQUEST"),
            ({}, 400, "INVALID_REQUEST"),
        ):
            self.assertEqual(self.refused(self.change("POST", "/topics", body, status)), code, body)
        self.assertEqual(list(self.broker.metadata.state.topics), ["old"])
        self.assertIn("TOPIC_ALREADY_EXISTS", self.told()[0][2])

    def test_configs(self) -> None:
        """Configs are set and put back."""
        self.make_topic("t", retention_ms="1")
        self.change(
            "PATCH", "/topics/t/configs", {"set": {"segment.bytes": 10**6}, "delete": ["retention.ms"]}
        )
        topic = self.topic()
        assert topic is not None
        self.assertEqual(topic.configs, {"segment.bytes": "1000000"})
        self.refused(self.change("PATCH", "/topics/no/configs", {"set": {"segment.bytes": "1"}}, 404))
        self.refused(self.change("PATCH", "/topics/t/configs", {"set": {"segment.bytes": "x"}}, 400))

    def test_partitions(self) -> None:
        """Partitions are added, never taken away."""
        self.make_topic("t")
        self.assertEqual(self.change("POST", "/topics/t/partitions", {"count": 4})["partitions"], 4)
        topic = self.topic()
        assert topic is not None
        self.assertEqual(len(topic.partitions), 4)
        self.assertEqual(
            self.refused(self.change("POST", "/topics/t/partitions", {"count": 2}, 400)), "INVALID_PARTITIONS"
        )
        self.refused(self.change("POST", "/topics/no/partitions", {"count": 2}, 404))
        self.refused(self.change("POST", "/topics/t/partitions", {}, 400))

    def test_purge(self) -> None:
        """Records below offsets are deleted; each partition has a result of its own."""
        (first, second, _third) = self.make_topic("t", 3)
        self.fill(b"a", b"b", b"c")
        self.fill(b"a", b"b", partition=1)
        body = {"beforeOffsets": {"0": "2", "1": -1, "2": 7}}
        found = self.change("POST", "/topics/t/purge", body)["results"]
        self.assertEqual([one["startOffset"] for one in found], ["2", "2", None])
        self.assertEqual(found[2]["error"]["code"], "OFFSET_OUT_OF_RANGE")
        self.assertEqual((first.log.log_start_offset, second.log.log_start_offset), (2, 2))
        self.assertIn("2 of 3 partitions", self.told()[0][2])
        for name, before, status in (
            ("t", {"9": -1}, 404),
            ("no", {"0": -1}, 404),
            ("t", {}, 400),
            ("t", {"x": -1}, 400),
            ("t", {"0": -2}, 400),
        ):
            self.refused(self.change("POST", f"/topics/{name}/purge", {"beforeOffsets": before}, status))

    def test_delete(self) -> None:
        """A topic is deleted if its name is given twice."""
        self.make_topic("t")
        for confirm in ("", "?confirm=", "?confirm=T", "?confirm=t%20"):
            found = self.change("DELETE", f"/topics/t{confirm}", None, 400)
            self.assertEqual(self.refused(found), "NOT_CONFIRMED")
        self.assertIsNotNone(self.topic())
        self.change("DELETE", "/topics/t?confirm=t")
        self.assertIsNone(self.topic())
        self.refused(self.change("DELETE", "/topics/t?confirm=t", None, 404))
