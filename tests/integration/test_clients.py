"""Client libraries of other projects against a real broker: values come out as they went in."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from tests.integration.clients import CLIENTS, CODECS, kcat, messages, new_topic
from tests.integration.shared import shared_broker


class ClientTests(SynchronousTestCase):
    """Each client with each codec, and each client reading what the others wrote."""

    def make(self, name: str) -> Any:
        """A client of the broker."""
        return CLIENTS[name](shared_broker().bootstrap)

    def check_codecs(self, name: str) -> None:
        """Create a topic, produce with each codec, read it back."""
        client, pairs = self.make(name), messages()
        for codec in CODECS:
            topic = new_topic()
            client.create(topic, 3)
            client.produce(topic, codec, pairs)
            self.assertEqual(client.read(topic, len(pairs)), pairs, f"{name} with {codec}")

    def test_confluent_kafka(self) -> None:
        """librdkafka reads back what it produced, with every codec."""
        self.check_codecs("confluent-kafka")

    def test_confluent_kafka_idempotent(self) -> None:
        """librdkafka's idempotent producer is served."""
        client, pairs, topic = self.make("confluent-kafka"), messages(), new_topic()
        client.create(topic, 1)
        client.produce(topic, "none", pairs, **{"enable.idempotence": True})
        self.assertEqual(client.read(topic, len(pairs)), pairs)

    def test_kafka_python(self) -> None:
        """kafka-python, idempotent as it is by default, reads back what it produced, with every codec."""
        self.check_codecs("kafka-python")

    def test_aiokafka(self) -> None:
        """aiokafka reads back what it produced, with every codec."""
        self.check_codecs("aiokafka")

    def test_each_reads_the_others(self) -> None:
        """Compressed batches of one client are read by all others."""
        pairs = messages(1000)
        for writer in CLIENTS:
            for codec in CODECS:
                topic = new_topic()
                self.make(writer).create(topic, 1)
                self.make(writer).produce(topic, codec, pairs)
                for reader in CLIENTS:
                    found = self.make(reader).read(topic, len(pairs))
                    self.assertEqual(found, pairs, f"{reader} reads {writer}'s {codec}")

    def test_kcat(self) -> None:
        """A file through ``kcat -P`` and back through ``kcat -C -e`` is the same."""
        lines = b"".join(b"line %d \xc3\xa9\n" % n for n in range(1000))
        topic = new_topic()
        bootstrap = shared_broker().bootstrap
        kcat("-P", "-b", bootstrap, "-t", topic, stdin=lines)
        self.assertEqual(kcat("-C", "-e", "-q", "-b", bootstrap, "-t", topic), lines)

    def test_old_protocols(self) -> None:
        """kcat speaking the protocol of 0.8, 0.9 and 0.10 reads back what it produced, with every codec."""
        lines = b"".join(b"%d\n" % n for n in range(1000))
        for version in ("0.8.2.1", "0.9.0", "0.10.0"):
            old = ("-X", "api.version.request=false", "-X", f"broker.version.fallback={version}")
            for codec in ("none", "gzip", "snappy", "lz4"):
                topic, bootstrap = new_topic(), shared_broker().bootstrap
                kcat("-P", "-b", bootstrap, "-t", topic, "-z", codec, *old, stdin=lines)
                for reader in (old, ()):
                    found = kcat("-C", "-e", "-q", "-b", bootstrap, "-t", topic, *reader)
                    self.assertEqual(found, lines, f"{version} with {codec}, read by {reader or 'now'}")

    def test_new_records_for_old_clients(self) -> None:
        """Batches of a current client are read by one of 0.8, except zstd, which it cannot know."""
        lines = b"".join(b"%d\n" % n for n in range(1000))
        old = ("-X", "api.version.request=false", "-X", "broker.version.fallback=0.8.2.1")
        for codec in CODECS:
            topic, bootstrap = new_topic(), shared_broker().bootstrap
            kcat("-P", "-b", bootstrap, "-t", topic, "-z", codec, stdin=lines)
            read = ("-C", "-e", "-q", "-b", bootstrap, "-t", topic, *old)
            if codec == "zstd":
                refused = self.assertRaises(AssertionError, kcat, *read)
                self.assertIn("Unsupported compression type", str(refused))
            else:
                self.assertEqual(kcat(*read), lines, codec)
