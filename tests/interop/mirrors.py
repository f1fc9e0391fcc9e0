"""``kafkatx mirror run`` with Apache Kafka at either end; MirrorMaker 2's client reads its topics.

The brokers are fetched where they are not there yet, as for ``make clients``; the jars of MirrorMaker 2's
client are among those of ``make interop``.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.groups import Groups
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.mirror.core.provenance import HEADER, parse
from kafkatx.types import TopicPartition
from tests.clients.brokers import ApacheBroker, Broker, OurBroker
from tests.clients.toolchains import prepare
from tests.integration.clients import DEADLINE_S
from tests.integration.test_mirror import MirrorProcesses
from tests.interop.apache import JARS, TIMEOUT_S
from tests.until import until

SOURCE = os.path.join(os.path.dirname(__file__), "Mirrors.java")
TOPIC = "orders"
EACH = 40
TRANSACTIONS = 10


class MirrorCase(MirrorProcesses, SynchronousTestCase):
    """A source and a target."""

    apache = "4"

    def make_source(self) -> Broker:
        """Make the source."""
        return OurBroker()

    def make_target(self) -> Broker:
        """Make the target."""
        return OurBroker()

    def setUp(self) -> None:
        """Start both."""
        prepare(f"java-{self.apache}")
        self.make_folder()
        self.source, self.target = self.make_source(), self.make_target()
        for broker in (self.source, self.target):
            self.addCleanup(broker.close)
            broker.start()
        self.make_topic()

    def make_topic(self) -> None:
        """Create the topic at the source."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.source.bootstrap})
        for made in admin.create_topics([NewTopic(TOPIC, 2, 1)]).values():
            made.result(DEADLINE_S)

    def fill(self) -> None:
        """Produce compressed batches with headers to both partitions."""
        for codec in ("zstd", "lz4", "snappy", "gzip", "none"):
            for partition in range(2):
                values = (b"%s %d" % (codec.encode(), number) for number in range(EACH))
                self.produce(self.source, TOPIC, values, partition, **{"compression.type": codec})

    def commit(self, offsets: Iterable[int]) -> None:
        """Commit offsets of a group at the source, by partition."""
        with Cluster(self.source.bootstrap) as cluster:
            Groups(cluster).commit(
                "billing",
                {TopicPartition(TOPIC, at): OffsetAndMetadata(offset) for at, offset in enumerate(offsets)},
            )

    def java(self) -> list[str]:
        """Return the lines of MirrorMaker 2's client."""
        command = ["java", "-cp", os.path.join(JARS, "*"), SOURCE, self.target.bootstrap, "dc1", "billing"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()


class OursTests(MirrorCase):
    """kafkatx at both ends."""

    def test_copies_and_translates(self) -> None:
        """All is copied once, also after kills; MirrorMaker 2's client translates offsets exactly."""
        self.fill()
        path = self.config({})
        for _ in range(2):
            mirror = self.start(path)
            until(lambda: self.copied_some(), "something is copied")
            mirror.kill()
            mirror.wait()
        self.run_to_end(path)
        for partition in range(2):
            self.assert_copies(TOPIC, f"dc1.{TOPIC}", partition)
        original = [one[0] for one in self.read(self.source, TOPIC)]
        committed = [original[7], original[-1] + 1]
        self.commit(committed)
        self.start(path)
        copied = [self.read(self.target, f"dc1.{TOPIC}", at) for at in range(2)]
        places = [{parse(one[4][-1][1]).offset: one[0] for one in some} for some in copied]  # type: ignore[union-attr]
        self.assertEqual({one[4][-1][0] for one in copied[0]}, {HEADER})
        wanted = [
            f"offset dc1.{TOPIC} 0 {places[0][original[7]]}",
            f"offset dc1.{TOPIC} 1 {copied[1][-1][0] + 1}",
            "upstream [dc1]",
            "hops 1",
            "checkpoints [dc1.checkpoints.internal]",
            "heartbeats [dc1.heartbeats]",
        ]
        until(lambda: self.checkpoints() >= 2, "checkpoints are written")
        self.assertEqual(self.java(), wanted)

    def copied_some(self) -> bool:
        """Return True if the copy has records."""
        with Cluster(self.target.bootstrap) as cluster:
            return f"dc1.{TOPIC}" in cluster.metadata(None).topics and bool(
                self.read(self.target, f"dc1.{TOPIC}")
            )

    def checkpoints(self) -> int:
        """Return the number of checkpoints."""
        with Cluster(self.target.bootstrap) as cluster:
            if "dc1.checkpoints.internal" not in cluster.metadata(None).topics:
                return 0
        return len(self.read(self.target, "dc1.checkpoints.internal"))


class FromApacheTests(OursTests):
    """Apache Kafka is the source, with transactions, of which every other one is aborted."""

    def make_source(self) -> Broker:
        """Make a broker of Apache Kafka."""
        return ApacheBroker(self.apache)

    def fill(self) -> None:
        """Produce in transactions, too."""
        from confluent_kafka import Producer

        super().fill()
        producer = Producer({"bootstrap.servers": self.source.bootstrap, "transactional.id": "x"})
        producer.init_transactions(DEADLINE_S)
        for number in range(TRANSACTIONS):
            producer.begin_transaction()
            for value in range(EACH):
                producer.produce(TOPIC, b"%d %d" % (number, value), partition=value % 2)
            producer.flush(DEADLINE_S)
            if number % 2:
                producer.abort_transaction(DEADLINE_S)
            else:
                producer.commit_transaction(DEADLINE_S)


class ToApacheTests(OursTests):
    """Apache Kafka is the target."""

    def make_target(self) -> Broker:
        """Make a broker of Apache Kafka."""
        return ApacheBroker(self.apache)


class ToApache39Tests(ToApacheTests):
    """Apache Kafka 3.9 is the target."""

    apache = "3.9"
