"""Reads of topics."""

from __future__ import annotations

from typing import Any

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.net.requests import Session
from tests.broker.authorization.authorized import ADMIN, GROUP, TOPIC
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.case import ConsoleCase


class TopicsTests(ConsoleCase):
    def setUp(self) -> None:
        """Make topics."""
        super().setUp()
        self.make_topic("b", 2, retention_ms="1000")
        self.make_topic("a", 1, cleanup_policy="compact")
        self.fill(b"x", b"y", topic="b", partition=1)

    def test_list(self) -> None:
        """Topics are listed with their figures."""
        found = self.get("/topics")
        self.assertEqual((found["total"], [one["name"] for one in found["items"]]), (2, ["a", "b"]))
        (first, second) = found["items"]
        self.assertEqual((first["cleanupPolicy"], second["retentionMs"]), ("compact", 1000))
        self.assertEqual((first["records"], second["records"]), ("0", "2"))
        self.assertGreater(int(second["sizeBytes"]), 60)
        self.assertEqual((second["partitions"], second["replicationFactor"]), (2, 1))
        self.assertEqual((second["underReplicated"], second["offline"], second["internal"]), (0, 0, False))
        self.assertEqual([one["name"] for one in self.get("/topics?sort=-records")["items"]], ["b", "a"])
        self.assertEqual(self.get("/topics?search=B")["total"], 1)

    def test_rate(self) -> None:
        """The rate is that since the figures before."""
        self.assertIsNone(self.get("/topics?search=b")["items"][0]["bytesInPerSecond"])
        self.fill(b"z" * 1000, topic="b")
        self.clock.advance(10)
        self.assertAlmostEqual(self.get("/topics?search=b")["items"][0]["bytesInPerSecond"], 107, delta=5)
        self.assertEqual(self.get("/topics?search=a")["items"][0]["bytesInPerSecond"], 0)

    def test_describe(self) -> None:
        """A topic is told with its partitions, configs with sources, and the rights of the user."""
        found = self.get("/topics/b")
        first, second = found["partitions"]
        self.assertEqual((first["startOffset"], first["endOffset"]), ("0", "0"))
        self.assertEqual((second["endOffset"], second["stableOffset"], second["leader"]), ("2", "2", 0))
        self.assertEqual((second["replicas"], second["isr"], second["offline"]), ([0], [0], []))
        config = {one["name"]: one for one in found["configs"]}["retention.ms"]
        self.assertEqual((config["value"], config["source"]), ("1000", "DYNAMIC_TOPIC_CONFIG"))
        self.assertEqual((config["type"], config["readOnly"], config["sensitive"]), ("LONG", False, False))
        self.assertTrue(config["default"])
        self.assertEqual(found["groups"], [])
        self.assertIn("ALTER_CONFIGS", found["authorizedOperations"])
        self.assertEqual(self.get("/topics/b/configs")["configs"], found["configs"])

    def test_kept_configs(self) -> None:
        """Configs are read again when something has changed, or after a moment, and not for each request."""
        asked = []
        ask = self.console.parts.kafka.ask

        def noted(call: Any, request: Any, node: Any = None) -> Any:
            asked.append(type(request).__name__)
            return ask(call, request, node)

        self.patch(self.console.parts.kafka, "ask", noted)

        def retention() -> str:
            configs = {one["name"]: one["value"] for one in self.get("/topics/b")["configs"]}
            return str(configs["retention.ms"])

        self.assertEqual([retention(), retention()], ["1000", "1000"])
        self.assertEqual(asked.count("DescribeConfigsRequest"), 1)
        self.change("PATCH", "/topics/b/configs", {"set": {"retention.ms": "2000"}})
        self.assertEqual(retention(), "2000")
        count = asked.count("DescribeConfigsRequest")
        self.clock.advance(5)
        self.assertEqual((retention(), asked.count("DescribeConfigsRequest")), ("2000", count + 1))

    def test_unknown(self) -> None:
        """Names that there are not, hostile ones among them, are told as texts."""
        for name in ("nothing", "%3Cscript%3E", "..%2F..%2Fb", "%00", "b%20", "x" * 3000):
            for path in ("", "/configs", "/producers"):
                found = self.get(f"/topics/{name}{path}", 404)
                self.assertEqual(self.refused(found), "UNKNOWN_TOPIC_OR_PARTITION", name)


class AuthorizedTopicsTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """A user sees the topics that they may describe, and of each what they may see."""
        self.assertEqual(self.get("/topics")["total"], 0)
        found = self.get(f"/topics/{TOPIC}", 403)
        self.assertEqual(self.refused(found), "TOPIC_AUTHORIZATION_FAILED")
        self.assertEqual(self.refused(self.get("/topics/nothing", 403)), "TOPIC_AUTHORIZATION_FAILED")
        self.grant(AclOperation.DESCRIBE, ResourceType.TOPIC)
        self.assertEqual([one["name"] for one in self.get("/topics")["items"]], [TOPIC])
        found = self.get(f"/topics/{TOPIC}")
        self.assertEqual((found["configs"], found["groups"]), (None, []))
        self.assertEqual(found["authorizedOperations"], ["DESCRIBE"])
        self.refused(self.get(f"/topics/{TOPIC}/configs", 403))
        self.refused(self.get(f"/topics/{TOPIC}/producers", 403))
        self.grant(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
        self.grant(AclOperation.DESCRIBE, ResourceType.GROUP)
        self.grant(AclOperation.READ, ResourceType.TOPIC)
        found = self.get(f"/topics/{TOPIC}")
        self.assertTrue(found["configs"])
        self.assertEqual(found["groups"], [{"id": GROUP, "state": "Empty", "lag": "0"}])
        self.get(f"/topics/{TOPIC}/producers")
        self.assertGreater(self.get("/topics", session=Session(ADMIN))["total"], 1)
