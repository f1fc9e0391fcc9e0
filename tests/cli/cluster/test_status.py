"""``kafkatx cluster status``."""

from __future__ import annotations

import json

from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase


class StatusTests(CommandCase):
    def setUp(self) -> None:
        """A partition on each of two brokers, and a third broker."""
        super().setUp()
        self.fake.topics = {"t": [Log(), Log(leader=2)]}
        self.fake.brokers = 3

    def test_lines(self) -> None:
        """Lines for the cluster and each broker; every broker is asked."""
        self.assertEqual(self.run_command("cluster", "status"), 0)
        self.assertEqual(
            self.out.text(),
            "cluster\tfake\t1\t2\t2\t0\t0\n"
            "broker\t1\tbroker1:9092\t-\t1\t1\tlive\n"
            "broker\t2\tbroker2:9092\t-\t1\t1\tlive\n"
            "broker\t3\tbroker3:9092\t-\t0\t0\tlive\n",
        )
        asked = [node for node, request in self.fake.requests if isinstance(request, MetadataRequest)]
        self.assertEqual(sorted(set(asked)), [1, 2, 3])
        self.assertEqual(sum(not one.closed for one in self.fake.channels), 0)

    def test_offline(self) -> None:
        """A partition without a leader is shown, and the exit status is 1."""
        self.fake.topics["t"][1].leader = -1
        self.assertEqual(self.run_command("cluster", "status", "--header"), 1)
        lines = self.out.text().splitlines()
        self.assertIn("offline\tt\t1\t-1\tLEADER_NOT_AVAILABLE", lines)
        self.assertIn("kind\ttopic\tpartition\treplicas\terror", lines)

    def test_silent(self) -> None:
        """A broker that does not answer is shown, and the exit status is 1."""
        self.fake.down = {2}
        self.assertEqual(self.run_command("cluster", "status"), 1)
        self.assertIn("broker\t2\tbroker2:9092\t-\t1\t1\tno answer\n", self.out.text())

    def test_fenced(self) -> None:
        """A broker that says that it leads nothing is shown, and the exit status is 1."""
        self.fake.fenced = {3}
        self.assertEqual(self.run_command("cluster", "status"), 1)
        self.assertIn("broker\t3\tbroker3:9092\t-\t0\t0\tfenced\n", self.out.text())

    def test_json(self) -> None:
        """One object has everything."""
        self.fake.topics["t"][1].leader = -1
        self.assertEqual(self.run_command("cluster", "status", "--json"), 1)
        found = json.loads(self.out.text())
        self.assertEqual((found["cluster_id"], found["controller"]), ("fake", 1))
        self.assertEqual(found["partitions"], {"all": 2, "led": 1, "offline": 1, "under_replicated": 0})
        self.assertEqual({one["id"]: one["leads"] for one in found["brokers"]}[1], 1)
        self.assertEqual(
            found["offline"],
            [{"topic": "t", "partition": 1, "replicas": [-1], "error": "LEADER_NOT_AVAILABLE"}],
        )

    def test_terminal(self) -> None:
        """A person gets tables, and the number of offline partitions."""
        self.use_streams(tty=True)
        self.fake.topics["t"][1].leader = -1
        self.run_command("cluster", "status")
        for text in ("cluster fake, controller 1", "2 partitions, 1 with a leader, 1 offline:"):
            self.assertIn(text, self.out.text())

    def test_options_before_the_command(self) -> None:
        """Options of `kafkatx cluster` alone are refused before a command; the address is not."""
        self.assertEqual(self.run_command("cluster", "--json", "status"), 2)
        self.assertIn("give the options after status", self.err.text())
        self.assertEqual(self.run_command("cluster", "-b", "broker2:9092", "status"), 0)
