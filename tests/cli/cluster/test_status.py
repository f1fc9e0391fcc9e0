"""``kafkatx cluster status``."""

from __future__ import annotations

import json

from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.describe_configs import DescribeConfigsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fake_settings import TOPIC, FakeSettings
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
            "cluster\tfake\t1\t2\t2\t0\t0\t0\n"
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
        self.assertIn("offline\tt\t1\t-1\tLEADER_NOT_AVAILABLE\t-1\t-1", lines)
        self.assertIn("kind\ttopic\tpartition\treplicas\terror\tleader\tin_sync", lines)

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
        self.assertEqual(
            found["partitions"],
            {"all": 2, "led": 1, "offline": 1, "under_replicated": 0, "under_min_isr": 0},
        )
        self.assertEqual({one["id"]: one["leads"] for one in found["brokers"]}[1], 1)
        self.assertEqual(
            found["offline"],
            [
                {
                    "topic": "t",
                    "partition": 1,
                    "replicas": [-1],
                    "error": "LEADER_NOT_AVAILABLE",
                    "leader": -1,
                    "isr": [-1],
                }
            ],
        )

    def lack_replicas(self, partitions: int, min_isr: int) -> None:
        """Give topic ``t`` partitions of three replicas with one of them in sync."""
        self.fake = FakeSettings(
            {"t": [Log(replicas=(1, 2, 3), isr=(1,)) for _ in range(partitions)]},
            brokers=3,
            settings={(TOPIC, "t"): {"min.insync.replicas": str(min_isr)}},
        )

    def test_lacking_lines(self) -> None:
        """Partitions that lack replicas are named; those under the minimum, too, and first."""
        self.lack_replicas(2, 2)
        self.assertEqual(self.run_command("cluster", "status"), 0)
        fields = "1,2,3\t1\t2\n"
        self.assertIn(
            f"under-min-isr\tt\t0\t1\t{fields}under-min-isr\tt\t1\t1\t{fields}"
            f"under-replicated\tt\t0\t1\t{fields}under-replicated\tt\t1\t1\t{fields}",
            self.out.text(),
        )
        self.assertIn("cluster\tfake\t1\t2\t2\t0\t2\t2\n", self.out.text())

    def test_lacking_json(self) -> None:
        """JSON names them as well; a topic with enough in-sync replicas is only under-replicated."""
        self.lack_replicas(30, 1)
        self.run_command("cluster", "status", "--json")
        found = json.loads(self.out.text())
        self.assertEqual((len(found["under_replicated"]), found["under_min_isr"]), (30, []))
        self.assertEqual(
            found["under_replicated"][0],
            {"topic": "t", "partition": 0, "leader": 1, "replicas": [1, 2, 3], "isr": [1], "min_isr": 1},
        )

    def test_configs_refused(self) -> None:
        """A broker that does not show configs leaves the minimum open."""
        self.lack_replicas(1, 2)
        self.fake.faults[DescribeConfigsRequest].append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.assertEqual(self.run_command("cluster", "status"), 0)
        self.assertIn("under-replicated\tt\t0\t1\t1,2,3\t1\t-\n", self.out.text())
        self.assertNotIn("under-min-isr", self.out.text())

    def test_terminal_is_bounded(self) -> None:
        """A person gets the first 20 of a kind and the number of the others, or all with --all."""
        self.use_streams(tty=True)
        self.lack_replicas(23, 2)
        self.run_command("cluster", "status")
        self.assertEqual(self.out.text().count("1, 2, 3"), 40)
        self.assertEqual(self.out.text().count("and 3 more: --all names them"), 2)
        self.assertIn("23 under min.insync.replicas, 23 with too few in-sync replicas", self.out.text())
        self.use_streams(tty=True)
        self.run_command("cluster", "status", "--all")
        self.assertEqual(self.out.text().count("1, 2, 3"), 46)

    def test_terminal(self) -> None:
        """A person gets tables, and the number of offline partitions."""
        self.use_streams(tty=True)
        self.fake.topics["t"][1].leader = -1
        self.run_command("cluster", "status")
        for text in ("cluster fake, controller 1", "2 partitions, 1 with a leader, 1 offline\n"):
            self.assertIn(text, self.out.text())

    def test_options_before_the_command(self) -> None:
        """Options of `kafkatx cluster` alone are refused before a command; the address is not."""
        self.assertEqual(self.run_command("cluster", "--json", "status"), 2)
        self.assertIn("give the options after status", self.err.text())
        self.assertEqual(self.run_command("cluster", "-b", "broker2:9092", "status"), 0)
