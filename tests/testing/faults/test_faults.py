"""Faults that are injected into a broker that runs."""

from __future__ import annotations

import time

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster, Writer
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.testing import EmbeddedBroker


class FaultsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker, and make a topic."""
        self.broker = EmbeddedBroker({"kafkatx.storage": "memory"}).start()
        self.addCleanup(self.broker.close)
        self.faults = self.broker.faults
        self.topic = self.broker.topic("t")

    def values(self) -> list[bytes | None]:
        """Return the values of the topic."""
        return [message.value for message in self.broker.messages(self.topic)]

    def test_answer(self) -> None:
        """A client sees the error, tries again, and its message is there once."""
        rule = self.faults.answer("Produce", "NOT_LEADER_OR_FOLLOWER", topic=self.topic, times=2)
        self.broker.produce(self.topic, "a")
        self.assertEqual((rule.hits, self.values()), (2, [b"a"]))

    def test_fatal_answer(self) -> None:
        """An error that is not retriable reaches the application."""
        self.faults.answer("Produce", ErrorCode.INVALID_RECORD, topic=self.topic)
        with self.assertRaisesRegex(KafkaTXError, "a test has injected this error"):
            self.broker.produce(self.topic, "a")
        self.assertEqual(self.values(), [])

    def test_other_topic(self) -> None:
        """A rule for a topic leaves others alone, also where clients fetch by topic id."""
        other = self.broker.topic("u")
        fetches = self.faults.answer("Fetch", "UNKNOWN_SERVER_ERROR", topic=self.topic, times=None)
        self.broker.produce(other, "a")
        self.assertEqual([one.value for one in self.broker.messages(other)], [b"a"])
        self.assertEqual(fetches.hits, 0)

    def test_drop(self) -> None:
        """A dropped request is not served; the client connects again."""
        rule = self.faults.drop("Produce", topic=self.topic)
        self.broker.produce(self.topic, "a")
        self.assertEqual((rule.hits, self.values()), (1, [b"a"]))

    def test_lose_reply(self) -> None:
        """A request whose reply is lost was served: an idempotent producer sends it again, as a duplicate."""
        rule = self.faults.lose_reply("Produce", topic=self.topic)
        with Cluster(self.broker.bootstrap) as cluster, Writer(cluster, self.topic) as writer:
            writer.send(b"a")
        self.assertEqual((rule.hits, self.values()), (1, [b"a"]))

    def test_delay(self) -> None:
        """A slow answer comes as late as the test says."""
        self.faults.delay("Produce", 0.3, topic=self.topic)
        began_s = time.monotonic()
        self.broker.produce(self.topic, "a")
        self.assertGreaterEqual(time.monotonic() - began_s, 0.3)
        self.assertEqual(self.values(), [b"a"])

    def test_freeze(self) -> None:
        """A frozen broker answers nothing until it goes on."""
        self.broker.freeze()
        self.addCleanup(self.broker.thaw)
        with Cluster(self.broker.bootstrap, timeout_s=0.3, retries=0) as cluster:
            self.assertRaises(KafkaTXError, cluster.metadata, [])
        self.broker.thaw()
        self.broker.produce(self.topic, "a")
        self.assertEqual(self.values(), [b"a"])

    def test_names(self) -> None:
        """Requests and errors that Kafka does not have are refused, with those that it has."""
        with self.assertRaisesRegex(ValueError, "no request 'Prodduce'; .*Produce"):
            self.faults.drop("Prodduce")
        for error in ("NO_SUCH_ERROR", 9999):
            with self.assertRaisesRegex(ValueError, "no error"):
                self.faults.answer("Produce", error)
        self.assertRaises(ValueError, self.faults.drop, "Fetch", times=0)

    def test_process(self) -> None:
        """A broker in a process says that it takes no faults."""
        with self.assertRaisesRegex(RuntimeError, "run_in"):
            EmbeddedBroker(run_in="process").faults  # noqa: B018


class FullDiskTests(SynchronousTestCase):
    def test_full(self) -> None:
        """With a full disk nothing is acknowledged; after a restart with room messages are taken again."""
        with EmbeddedBroker() as broker:
            topic = broker.topic("t")
            broker.produce(topic, "a")
            broker.faults.fill_disk()
            with (
                self.assertRaises(KafkaTXError),
                Cluster(broker.bootstrap, retries=0) as cluster,
                Writer(cluster, topic) as writer,
            ):
                writer.send(b"b")
            broker.faults.free_disk()
            broker.stop()
            broker.start()
            broker.produce(topic, "c")
            self.assertEqual([message.value for message in broker.messages(topic)], [b"a", b"c"])
