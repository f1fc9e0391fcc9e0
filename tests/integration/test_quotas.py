"""Client quotas as real clients meet them: told of the time, left alone for it, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from typing import Any

from confluent_kafka import Producer
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.configs import Configs
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from tests.integration.clients import DEADLINE_S, Confluent, new_topic
from tests.integration.raw import RawClient
from tests.integration.tls_files import TlsFiles
from tests.until import WAIT_S, until

CLIENT_ID = "limited"
COUNT = 60
VALUE = bytes(range(250)) * 4
PAIRS = [(b"%d" % number, VALUE) for number in range(COUNT)]


class QuotaTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker that forgets after two seconds, and a topic."""
        self.broker = EmbeddedBroker({"quota.window.num": "2"}, run_in="process").start()
        self.addCleanup(self.broker.__exit__, None, None, None)
        self.bootstrap = self.broker.bootstrap
        self.topic = new_topic()
        self.confluent = Confluent(self.bootstrap)
        self.confluent.create(self.topic, 1)
        self.throttled_ms: list[float] = []

    def limit(self, quota: str, value: float) -> None:
        """Give the client id a quota."""
        entry = EntryData([EntityData("client-id", CLIENT_ID)], [OpData(quota, value)])
        with RawClient(self.bootstrap) as raw:
            (result,) = raw.ask(49, 1, AlterClientQuotasRequest([entry])).entries
        self.assertEqual((result.error_code, result.error_message), (0, None))

    def test_request_time(self) -> None:
        """librdkafka is told of the time when its requests take more of the broker's thread than they may."""
        self.limit("request_percentage", 0.01)
        self.confluent.produce(self.topic, "none", PAIRS[:3], **{**self.settings(), "batch.num.messages": 1})
        self.assertTrue(self.throttled_ms)
        self.assertLessEqual(max(self.throttled_ms), 1000)

    def settings(self) -> dict[str, Any]:
        """Settings of librdkafka, which notes for how long the broker says it is left alone."""
        return {
            "client.id": CLIENT_ID,
            "throttle_cb": lambda event: self.throttled_ms.append(event.throttle_time * 1000),
        }

    def test_produce(self) -> None:
        """librdkafka is told of the time when it produces more than its quota; all it sent is there."""
        self.limit("producer_byte_rate", 30_000)
        self.confluent.produce(self.topic, "none", PAIRS, **{**self.settings(), "batch.num.messages": 5})
        self.assertTrue(self.throttled_ms)
        self.assertEqual(self.confluent.read(self.topic, COUNT), PAIRS)

    def test_consume(self) -> None:
        """librdkafka is told of the time when it fetches more than its quota; it gets all in the end."""
        from confluent_kafka import Consumer, TopicPartition

        self.confluent.produce(self.topic, "none", PAIRS, **{"batch.num.messages": 5})
        self.limit("consumer_byte_rate", 30_000)
        consumer = Consumer(
            {
                **self.settings(),
                "bootstrap.servers": self.bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "fetch.message.max.bytes": 20_000,
            }
        )
        self.addCleanup(consumer.close)
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        found: list[tuple[bytes, bytes]] = []
        while len(found) < COUNT:
            batch = consumer.consume(COUNT - len(found), timeout=DEADLINE_S)
            self.assertTrue(batch, f"only {len(found)} of {COUNT} messages came")
            found += [(message.key(), message.value()) for message in batch]
        self.assertEqual(found, PAIRS)
        self.assertTrue(self.throttled_ms)


class UserTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker that knows users by their certificates."""
        self.files = TlsFiles(self.mktemp())
        self.broker = EmbeddedBroker(
            self.files.broker_settings(ssl_client_auth="required", quota_window_num="2")
        )
        self.addCleanup(self.broker.close)
        self.broker.start()

    def kafkatx(self, *arguments: str) -> str:
        """Return the output of a command of alice."""
        settings = self.files.client_settings(user=True)
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        config = self.files.write("client.properties", lines.encode())
        command = [sys.executable, "-m", "kafkatx", *arguments, "--command-config", config]
        command += ["-b", self.broker.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def throttled(self, keystore: str) -> bool:
        """Produce with a certificate; return True if the broker has throttled that."""
        heard: list[float] = []
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "security.protocol": "SSL",
                "ssl.ca.location": self.files.ca,
                "ssl.certificate.location": keystore,
                "ssl.key.location": keystore,
                "batch.num.messages": 5,
                "throttle_cb": lambda event: heard.append(event.throttle_time),
            }
        )
        for key, value in PAIRS[:20]:
            producer.produce("t", value, key)
        self.assertEqual(producer.flush(WAIT_S), 0)
        return bool(heard)

    def test_users(self) -> None:
        """The quota of the user in a certificate applies to that user alone, until it is removed."""
        bob = self.files.issue("bob.pem", "bob")
        self.kafkatx("quotas", "set", "--user", "CN=alice", "producer_byte_rate=10000")
        self.assertEqual(self.kafkatx("quotas", "list"), "producer_byte_rate\t10000\tuser 'CN=alice'\n")
        self.assertEqual((self.throttled(bob), self.throttled(self.files.user)), (False, True))
        self.kafkatx("quotas", "remove", "--user", "CN=alice")
        self.assertFalse(self.throttled(self.files.user))


class ClusterTests(SynchronousTestCase):
    def test_other_broker(self) -> None:
        """A quota that is set at one broker applies at the other one."""
        with EmbeddedCluster(2, {"quota.window.num": 2}) as cluster:
            first, second = cluster.brokers.values()
            entry = EntryData([EntityData("client-id", "raw")], [OpData("request_percentage", 1e-9)])
            with RawClient(first.bootstrap) as raw:
                raw.ask(49, 1, AlterClientQuotasRequest([entry]))
            with RawClient(second.bootstrap) as raw:
                until(lambda: raw.ask(18, 2, ApiVersionsRequest()).throttle_time_ms > 0, "it is throttled")


class ConnectionRateTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker, and a connection from which its settings are changed."""
        self.broker = EmbeddedBroker({"quota.window.num": 2})
        self.addCleanup(self.broker.close)
        self.broker.start()
        self.opened = ExitStack()
        self.addCleanup(self.opened.close)
        self.first = self.connect()

    def connect(self) -> RawClient:
        """Make a connection."""
        return self.opened.enter_context(RawClient(self.broker.bootstrap))

    def is_served(self, client: RawClient) -> bool:
        """Return False if a connection is closed without an answer."""
        try:
            client.ask(18, 2, ApiVersionsRequest())
        except (EOFError, ConnectionError):
            return False
        return True

    def limit(self, **quotas: float) -> None:
        """Set quotas of this machine's address."""
        changes = [OpData(name, value) for name, value in quotas.items()]
        entry = EntryData([EntityData("ip", "127.0.0.1")], changes)
        self.assertEqual(self.first.ask(49, 1, AlterClientQuotasRequest([entry])).entries[0].error_code, 0)

    def test_address(self) -> None:
        """An address above its rate is held off: not served, and closed; later it is served again."""
        self.limit(connection_creation_rate=5)
        served = [self.is_served(client) for client in [self.connect() for _ in range(20)]]
        self.assertLessEqual(sum(served), 15)
        self.assertIn(True, served)
        self.assertTrue(self.is_served(self.first))
        self.assertIn("connection_creation_rate", self.broker.output())
        until(lambda: self.is_served(self.connect()), "a connection is served")

    def test_listener(self) -> None:
        """Connections above the rate of a listener wait, and are all served."""
        with Cluster(self.broker.bootstrap) as cluster:
            name = "listener.name.plaintext.max.connection.creation.rate"
            Configs(cluster).alter(Resource(ResourceType.BROKER, "0"), {name: "10"})
        self.assertTrue(all(map(self.is_served, [self.connect() for _ in range(30)])))

    def test_number(self) -> None:
        """Connections of an address above its own number are closed at once."""
        with Cluster(self.broker.bootstrap) as cluster:
            overrides = {"max.connections.per.ip": "100", "max.connections.per.ip.overrides": "127.0.0.1:3"}
            Configs(cluster).alter(Resource(ResourceType.BROKER, ""), overrides)
        served = [self.is_served(client) for client in [self.connect() for _ in range(5)]]
        self.assertEqual(sum(served), 2)
        self.assertIn("max.connections.per.ip.overrides=127.0.0.1:3 reached", self.broker.output())
