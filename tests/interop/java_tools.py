"""Apache Kafka's tools for replicas, of version 4, with three kafkatx brokers that copy partitions.

Each tool runs as its shell script would run it. ``make interop`` fetches the jars.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.clientcore.metadata import PartitionMetadata
from kafkatx.testing import EmbeddedCluster
from tests.clients.toolchains import BUILT, java, prepare
from tests.until import until

BROKERS = 3
SETTINGS = {
    "auto.leader.rebalance.enable": False,  # only the tool moves leaders
    "replica.fetch.max.bytes": 100_000,  # a copy takes many fetches, so a throttle holds it
    "zookeeper.session.timeout.ms": 3000,
}
JARS = os.path.join(BUILT, "java-4")
TIMEOUT_S = 120
SLOW = 1000
"""Bytes per second: a copy of :data:`VALUES` would take hours."""
VALUES = [os.urandom(50_000) for _ in range(100)]
_TOOLS = "org.apache.kafka.tools"
REASSIGN = f"{_TOOLS}.reassign.ReassignPartitionsCommand"
ELECTION = f"{_TOOLS}.LeaderElectionCommand"
CONFIGS = "kafka.admin.ConfigCommand"
LOG_DIRS = f"{_TOOLS}.LogDirsCommand"
TOPICS = f"{_TOOLS}.TopicCommand"


class ToolCase(SynchronousTestCase):
    """A cluster of three brokers in processes."""

    def setUp(self) -> None:
        """Start it."""
        prepare("java-4")
        self.folder = os.path.abspath(self.mktemp())
        os.makedirs(self.folder)
        self.cluster = EmbeddedCluster(BROKERS, SETTINGS, run_in="process")
        self.addCleanup(self.cluster.close)
        self.cluster.start()

    def tool(self, main_class: str, *arguments: str) -> str:
        """Run a tool with ``--bootstrap-server`` and return its output.

        :raises AssertionError: it failed.
        """
        running = [broker.bootstrap for broker in self.cluster.brokers.values() if broker.running]
        command = java(JARS, main_class, "--bootstrap-server", ",".join(running), *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise AssertionError(f"{main_class} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def file(self, name: str, content: object) -> str:
        """Write a file of JSON and return its path."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            json.dump(content, file)
        return path

    def partition(self, topic: str, number: int = 0) -> PartitionMetadata:
        """Return a partition as a broker that runs knows it."""
        (one, *_) = [broker for broker in self.cluster.brokers.values() if broker.running]
        with Cluster(one.bootstrap) as cluster:
            return cluster.metadata([topic]).topics[topic].partitions[number]

    def wait(self, topic: str, *, replicas: Sequence[int], isr: Sequence[int]) -> None:
        """Wait until a partition has these replicas, and these in sync."""

        def holds() -> bool:
            now = self.partition(topic)
            return list(now.replicas) == list(replicas) and set(now.isr) == set(isr)

        until(holds, f"replicas are {replicas}, in sync {isr}")

    def config(self, resource: str, name: str) -> str:
        """Return what ``kafka-configs`` shows of the dynamic configs of a topic or broker."""
        entity = ("--entity-type", resource, "--entity-name", name)
        return self.tool(CONFIGS, *entity, "--describe")


class ReassignTests(ToolCase):
    """``kafka-reassign-partitions`` with a topic of 5 MB."""

    def setUp(self) -> None:
        """Make and fill the topic."""
        super().setUp()
        self.topic = self.cluster.topic("moved", replication=1)
        for value in VALUES:
            self.cluster.produce(self.topic, value)
        (self.first,) = self.partition(self.topic).replicas
        self.others = sorted(self.cluster.brokers.keys() - {self.first})

    def plan(self, *replicas: int) -> str:
        """Write the file of a reassignment."""
        move = {"topic": self.topic, "partition": 0, "replicas": replicas}
        return self.file("plan.json", {"version": 1, "partitions": [move]})

    def reassign(self, *arguments: str) -> str:
        """Run the tool."""
        return self.tool(REASSIGN, *arguments)

    def test_generate(self) -> None:
        """The plan that ``--generate`` proposes is executed and verified, and the records are there."""
        wanted = self.file("topics.json", {"version": 1, "topics": [{"topic": self.topic}]})
        brokers = ",".join(map(str, self.others))
        told = self.reassign("--generate", "--topics-to-move-json-file", wanted, "--broker-list", brokers)
        current, proposed = (json.loads(line) for line in told.splitlines() if line.startswith("{"))
        self.assertEqual(current["partitions"][0]["replicas"], [self.first])
        (target,) = proposed["partitions"][0]["replicas"]
        self.assertIn(target, self.others)
        plan = self.file("plan.json", proposed)
        told = self.reassign("--execute", "--reassignment-json-file", plan)
        self.assertIn("Successfully started partition reassignment", told)
        self.wait(self.topic, replicas=[target], isr=[target])
        told = self.reassign("--verify", "--reassignment-json-file", plan)
        self.assertIn(f"Reassignment of partition {self.topic}-0 is completed.", told)
        self.assertIn("No partition reassignments found.", self.reassign("--list"))
        self.assertEqual([message.value for message in self.cluster.messages(self.topic)], VALUES)

    def test_throttle(self) -> None:
        """A throttled reassignment is in progress, then goes on faster; ``--verify`` removes the throttle."""
        target = [self.first, self.others[0]]
        plan = self.plan(*target)
        execute = ("--execute", "--reassignment-json-file", plan, "--throttle")
        told = self.reassign(*execute, str(SLOW))
        self.assertIn("Successfully started partition reassignment", told)
        told = self.reassign("--list")
        self.assertIn(f"{self.topic}-0: replicas: {self.first},{target[1]}. adding: {target[1]}.", told)
        told = self.reassign("--verify", "--preserve-throttles", "--reassignment-json-file", plan)
        self.assertIn(f"Reassignment of partition {self.topic}-0 is still in progress.", told)
        self.assertIn("throttled.replicas", self.config("topics", self.topic))
        self.assertIn(f"throttled.rate={SLOW}", self.config("brokers", str(self.first)))
        self.reassign(*execute, "100000000", "--additional")
        self.wait(self.topic, replicas=target, isr=target)
        told = self.reassign("--verify", "--reassignment-json-file", plan)
        self.assertIn(f"Reassignment of partition {self.topic}-0 is completed.", told)
        self.assertNotIn("throttled", self.config("topics", self.topic))
        self.assertNotIn("throttled", self.config("brokers", str(self.first)))

    def test_cancel(self) -> None:
        """A cancelled reassignment leaves the replicas as they were."""
        plan = self.plan(*self.others)
        self.reassign("--execute", "--reassignment-json-file", plan, "--throttle", str(SLOW))
        self.assertIn("removing", self.reassign("--list"))
        told = self.reassign("--cancel", "--reassignment-json-file", plan)
        self.assertIn(f"Successfully cancelled partition reassignment for: {self.topic}-0", told)
        self.wait(self.topic, replicas=[self.first], isr=[self.first])
        self.assertIn("No partition reassignments found.", self.reassign("--list"))
        self.assertNotIn("throttled", self.config("topics", self.topic))
        self.assertEqual([message.value for message in self.cluster.messages(self.topic)], VALUES)


class ElectionTests(ToolCase):
    """``kafka-leader-election``, and what ``kafka-topics`` and ``kafka-log-dirs`` say of replicas."""

    def setUp(self) -> None:
        """Make a topic with three replicas."""
        super().setUp()
        configs = {"min.insync.replicas": 2}
        self.topic = self.cluster.topic("led", replication=BROKERS, configs=configs)
        self.replicas = self.partition(self.topic).replicas
        self.wait(self.topic, replicas=self.replicas, isr=self.replicas)

    def described(self, *arguments: str) -> str:
        """``kafka-topics --describe``, which may name none."""
        return self.tool(TOPICS, "--describe", "--topic", self.topic, *arguments)

    def elect(self, kind: str) -> str:
        """Run the tool for the partition."""
        return self.tool(ELECTION, "--election-type", kind, "--topic", self.topic, "--partition", "0")

    def test_preferred(self) -> None:
        """The first replica leads again after it was away; meanwhile the partition is under-replicated."""
        preferred = self.replicas[0]
        self.cluster.brokers[preferred].stop()
        until(lambda: self.partition(self.topic).leader not in {preferred, -1}, "another leads")
        self.assertIn(self.topic, self.described("--under-replicated-partitions"))
        self.assertIn(self.topic, self.described("--at-min-isr-partitions"))
        self.assertNotIn(self.topic, self.described("--under-min-isr-partitions"))
        self.cluster.start_broker(preferred)
        self.wait(self.topic, replicas=self.replicas, isr=self.replicas)
        self.assertNotEqual(self.partition(self.topic).leader, preferred)
        told = self.elect("PREFERRED")
        self.assertIn(
            f"Successfully completed leader election (PREFERRED) for partitions {self.topic}-0", told
        )
        until(lambda: self.partition(self.topic).leader == preferred, "the preferred replica leads")
        self.assertNotIn(self.topic, self.described("--under-replicated-partitions"))
        self.assertIn("Valid replica already elected", self.elect("PREFERRED"))

    def test_unclean(self) -> None:
        """The tool makes a replica lead that was not in sync, where none that was is left."""
        topic = self.topic
        self.tool(
            CONFIGS,
            *("--entity-type", "topics", "--entity-name", topic, "--alter"),
            *("--add-config", "min.insync.replicas=1"),
        )
        *away, last = self.replicas
        for broker_id in away:
            self.cluster.brokers[broker_id].stop()
        until(lambda: self.partition(topic).leader == last, "the last replica leads")
        self.cluster.produce(topic, b"only in the last")
        self.assertIn(f"{topic}-0", self.log_dirs(last))
        self.cluster.brokers[last].stop()
        self.cluster.start_broker(away[0])
        until(lambda: self.partition(topic).leader == -1, "none leads")
        self.assertIn(topic, self.described("--unavailable-partitions"))
        told = self.elect("UNCLEAN")
        self.assertIn(f"Successfully completed leader election (UNCLEAN) for partitions {topic}-0", told)
        until(lambda: self.partition(topic).leader == away[0], "a replica leads that was not in sync")

    def log_dirs(self, broker_id: int) -> set[str]:
        """Return the partitions that ``kafka-log-dirs`` finds at a broker."""
        found = self.tool(LOG_DIRS, "--describe", "--broker-list", str(broker_id))
        (line,) = [line for line in found.splitlines() if line.startswith("{")]
        (broker,) = json.loads(line)["brokers"]
        return {place["partition"] for directory in broker["logDirs"] for place in directory["partitions"]}
