"""Tests of kafkatx.cli.cluster.cluster."""

from __future__ import annotations

import json

from kafkatx.blocking import PartitionMetadata
from kafkatx.cli.cluster.cluster import _state
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.cli.command_case import CommandCase


class ClusterTests(CommandCase):
    def test_lines(self) -> None:
        """A line for the cluster, each broker and each partition, its kind first."""
        self.fake.brokers = 2
        self.assertEqual(self.run_command("cluster", "-t", "t"), 0)
        self.assertEqual(
            self.out.text(),
            "cluster\tfake\t1\nbroker\t1\tbroker1\t9092\t-\nbroker\t2\tbroker2\t9092\t-\n"
            "partition\tt\t0\t1\t1\t1\t-\npartition\tt\t1\t1\t1\t1\t-\n",
        )

    def test_header(self) -> None:
        """On request each kind of line has a line of names before it."""
        self.run_command("cluster", "--header")
        self.assertEqual(
            [line.split("\t")[1] for line in self.out.text().splitlines() if line.startswith("kind")],
            ["cluster_id", "broker", "topic"],
        )

    def test_json(self) -> None:
        """One object has everything, internal topics included."""
        self.run_command("cluster", "--json")
        found = json.loads(self.out.text())
        self.assertEqual((found["cluster_id"], found["controller"]), ("fake", 1))
        self.assertEqual(found["brokers"], [{"id": 1, "host": "broker1", "port": 9092, "rack": None}])
        self.assertEqual([topic["topic"] for topic in found["topics"]], ["__internal", "t"])
        self.assertEqual(found["topics"][1]["partitions"][1]["isr"], [1])

    def test_terminal(self) -> None:
        """A person gets tables."""
        self.use_streams(tty=True)
        self.run_command("cluster")
        for text in ("cluster fake, controller 1", "broker1:9092", "in sync"):
            self.assertIn(text, self.out.text())

    def test_unknown_topic(self) -> None:
        """A topic that does not exist is an error, and so is one whose name is wrong."""
        self.assertEqual(self.run_command("cluster", "-t", "nope"), 1)
        self.assertIn("there is no topic 'nope'", self.err.text())
        self.fake.faults[MetadataRequest].append(ErrorCode.INVALID_TOPIC_EXCEPTION)
        self.assertEqual(self.run_command("cluster", "-t", "a/b"), 1)

    def test_states(self) -> None:
        """A partition without a leader, or with too few replicas in sync, is marked."""
        self.assertEqual(_state(PartitionMetadata(0, -1)), "NO_LEADER")
        self.assertEqual(_state(PartitionMetadata(0, 1, 0, (1, 2), (1,))), "UNDER_REPLICATED")
        self.assertEqual(_state(PartitionMetadata(0, 1, 0, (1, 2), (1, 2))), "")
