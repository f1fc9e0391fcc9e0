"""The console of real brokers over HTTP, with real clients beside it."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from tests.integration.console import ConsoleClient, Refused
from tests.until import until

HTTP: Mapping[str, str | bool] = {"http.listeners": "HTTP://127.0.0.1:0", "kafkatx.console.enable": True}
RECORDS = 10
USERS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    ' user_root="r-secret" user_ann="a-secret";'
)


class ConsoleTests(SynchronousTestCase):
    def broker(self, **settings: str) -> EmbeddedBroker:
        """Start a broker in a process of its own."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        broker = EmbeddedBroker({**HTTP, **named}, run_in="process").start()
        self.addCleanup(broker.__exit__, None, None, None)
        return broker

    def test_groups(self) -> None:
        """A real consumer is seen, and keeps its group from being reset; without it the reset is made."""
        broker = self.broker()
        console = ConsoleClient(broker.http)
        console.call("POST", "/topics", {"name": "t", "partitions": 2})
        broker.produce("t", *(b"value" for _ in range(RECORDS)))
        settings = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
        consumer = Consumer(settings)
        consumer.subscribe(["t"])
        until(lambda: consumer.poll(0.1) is not None, "the consumer reads")
        until(lambda: console.get("/groups/g")["state"] == "Stable", "the group is stable")
        (member,) = console.get("/groups/g")["members"]
        self.assertEqual((member["clientId"], member["assignments"][0]["partitions"]), ("rdkafka", [0, 1]))
        with self.assertRaises(Refused) as caught:
            console.call("POST", "/groups/g/reset", {"to": "earliest", "scope": [{"topic": "t"}]})
        self.assertEqual((caught.exception.status, caught.exception.code), (409, "NON_EMPTY_GROUP"))
        self.assertIn("rdkafka", caught.exception.message)
        consumer.close()
        until(lambda: console.get("/groups/g")["state"] == "Empty", "the group is empty")
        body = {"to": "latest", "scope": [{"topic": "t"}]}
        changes = console.call("POST", "/groups/g/reset", body)["changes"]
        self.assertEqual(sum(int(one["after"]) for one in changes), RECORDS)
        with Consumer(settings) as reader:
            offsets = reader.committed([TopicPartition("t", 0), TopicPartition("t", 1)], timeout=30)
            self.assertEqual(sum(one.offset for one in offsets), RECORDS)
        self.assertEqual(console.get("/groups")["items"][0]["lag"], "0")

    def test_week(self) -> None:
        """Samples come by themselves, and survive a restart; event streams end with the broker."""
        broker = self.broker()
        console = ConsoleClient(broker.http)
        events = console.events("overview")
        next(events)
        broker.produce(broker.topic("t"), *(b"value" for _ in range(RECORDS)))
        until(lambda: next(events)["overview"]["topics"] == 1, "an event tells of the new topic")
        until(lambda: console.get("/overview")["reactorIdle"] is not None, "there are samples")
        path = "/history?series=connections,reactorIdle&fromMs=0"
        self.assertTrue(console.get(path)["series"])
        broker.stop()
        list(events)
        file = os.path.join(broker.data_dir or "", "kafkatx-history")
        self.assertLess(os.path.getsize(file), 4 << 20)
        broker.start()
        names = [one["name"] for one in ConsoleClient(broker.http).get("/history/series")["series"]]
        self.assertIn("connections", names)
        self.assertNotIn("cannot be used", broker.output())

    def test_logins(self) -> None:
        """With logins nothing is told without a session, and a session has the rights of its user."""
        broker = self.broker(
            kafkatx_http_authentication="basic",
            listener_name_http_plain_sasl_jaas_config=USERS,
            authorizer_class_name="acl",
            super_users="User:root",
        )
        console = ConsoleClient(broker.http)
        self.assertEqual(console.get("/session")["authentication"], "password")
        self.assertEqual(self.refused(console, "GET", "/overview"), (401, "LOGIN_REQUIRED"))
        wrong = {"username": "ann", "password": "wrong"}
        self.assertEqual(self.refused(console, "POST", "/session", wrong), (401, "LOGIN_FAILED"))
        console.call("POST", "/session", {"username": "ann", "password": "a-secret"})
        self.assertEqual(console.get("/session")["principal"], "User:ann")
        topic = {"name": "t"}
        denied = (403, "TOPIC_AUTHORIZATION_FAILED")
        self.assertEqual(self.refused(console, "POST", "/topics", topic), denied)
        root = ConsoleClient(broker.http)
        root.call("POST", "/session", {"username": "root", "password": "r-secret"})
        acl = {"resourceType": "TOPIC", "resourceName": "t", "principal": "User:ann", "operation": "CREATE"}
        root.call("POST", "/acls", acl)
        console.call("POST", "/topics", topic)
        self.assertEqual(self.refused(console, "DELETE", "/topics/t?confirm=t"), denied)
        console.call("DELETE", "/session")
        self.assertEqual(self.refused(console, "POST", "/topics", topic), (401, "LOGIN_REQUIRED"))
        login = f"Basic {base64.b64encode(b'root:r-secret').decode()}"
        self.assertEqual(ConsoleClient(broker.http, login).get("/session")["principal"], "User:root")
        told = {(one["principal"], one["action"]) for one in root.get("/actions")["items"]}
        expected = {("User:root", "create ACL"), ("User:ann", "create topic"), ("User:ann", "delete topic")}
        self.assertEqual(told, expected)
        self.assertNotIn("-secret", broker.output())

    def refused(self, console: ConsoleClient, method: str, path: str, body: object = None) -> tuple[int, str]:
        """Return status and code of a refusal."""
        with self.assertRaises(Refused) as caught:
            console.call(method, path, body)
        return caught.exception.status, caught.exception.code


class ClusterTests(SynchronousTestCase):
    def test_everywhere(self) -> None:
        """Each broker's console tells of the whole cluster: sizes, groups and records of other brokers."""
        settings = {**HTTP, "offsets.topic.replication.factor": 1, "offsets.topic.num.partitions": 4}
        with EmbeddedCluster(2, settings) as cluster:
            consoles = [ConsoleClient(broker.http) for broker in cluster.brokers.values()]
            body = {"name": "t", "partitions": 4, "replicationFactor": 1}
            consoles[0].call("POST", "/topics", body)
            cluster.produce("t", *(b"value" for _ in range(RECORDS)))
            for group in ("a", "b", "c", "d", "e", "f"):
                consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
                consumer.commit(offsets=[TopicPartition("t", n, 0) for n in range(4)], asynchronous=False)
                consumer.close()
            for console in consoles:
                until(
                    lambda console=console: console.get("/topics")["items"][-1]["records"] == str(RECORDS),  # type: ignore[misc]
                    "all records are counted",
                )
                until(
                    lambda console=console: (
                        [one["lag"] for one in console.get("/groups")["items"]]  # type: ignore[misc]
                        == [str(RECORDS)] * 6
                    ),
                    "all groups are there, with their lag",
                )
                found = console.get("/topics/t")
                self.assertEqual(sum(int(one["endOffset"]) for one in found["partitions"]), RECORDS)
                self.assertEqual(len(found["groups"]), 6)
                brokers = console.get("/brokers")["items"]
                self.assertEqual([(one["id"], one["live"]) for one in brokers], [(1, True), (2, True)])
                self.assertTrue(all(one["logDirs"][0]["sizeBytes"] for one in brokers))
                self.assertEqual(console.get("/overview")["problems"], [])
                self.assertEqual(console.get("/mirrors")["items"], [])
                self.assertEqual(console.get("/transactions")["items"], [])
            first, second = consoles
            self.assertNotEqual(first.get("/session")["brokerId"], second.get("/session")["brokerId"])
            for group in ("a", "b", "c", "d", "e", "f"):
                changes = first.call("POST", f"/groups/{group}/reset", {"to": "latest"})["changes"]
                self.assertEqual(sum(int(one["after"]) for one in changes), RECORDS)
                second.call("DELETE", f"/groups/{group}?confirm={group}")
            results = first.call("POST", "/topics/t/purge", {"beforeOffsets": dict.fromkeys("0123", -1)})[
                "results"
            ]
            self.assertEqual([one["error"] for one in results], [None] * 4)
            made = first.call("POST", "/schemas/t-value/versions", {"schema": '"string"'})
            (subject,) = second.get("/schemas")["items"]
            self.assertEqual((subject["latestVersion"], subject["id"]), (1, made["id"]))
            second.call("PATCH", "/configs/brokers/1", {"set": {"max.connections": "500"}})
            found = {one["name"]: one for one in first.get("/configs/brokers/1")["configs"]}
            self.assertEqual(found["max.connections"]["value"], "500")
