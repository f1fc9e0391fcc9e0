"""``kafkatx cluster move``, ``drain`` and ``spread``."""

from __future__ import annotations

import json

from kafkatx.blocking.admin.replicas import FOLLOWERS, LEADERS, RATES
from kafkatx.cli.replicas import execution, move
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase

TOPIC, BROKER = 2, 4


class MoveCase(CommandCase):
    def setUp(self) -> None:
        """Two partitions on brokers 1 and 2, and a new broker 3."""
        super().setUp()
        self.patch(move, "connect", lambda bootstrap, timeout: self.fake.client())
        self.patch(execution, "POLL_S", 0)
        self.fake.topics = {"t": [Log(1, (1, 2)), Log(2, (2, 1))]}
        self.fake.brokers = 3

    def replicas(self) -> list[tuple[int, ...]]:
        """The replicas of the partitions now."""
        return [log.replicas for log in self.fake.topics["t"]]


class MoveTests(MoveCase):
    def test_plan(self) -> None:
        """Without --execute nothing is done; the plan as JSON is one that can be executed."""
        self.assertEqual(self.run_command("cluster", "move", "-t", "t", "-p", "0", "--to", "3,1"), 0)
        self.assertEqual(self.out.text(), "t\t0\t1,2\t3,1\n")
        self.assertEqual(self.fake.sent(AlterPartitionReassignmentsRequest), [])
        self.use_streams()
        self.run_command("cluster", "move", "-t", "t", "-p", "0", "--to", "3,1", "--json")
        plan = self.out.text()
        self.assertEqual(self.run_command("cluster", "move", "--plan", plan, "--execute", "-y"), 0)
        self.assertEqual(self.replicas(), [(3, 1), (2, 1)])

    def test_complete(self) -> None:
        """The command waits until it is complete, and says how to undo it: that restores the replicas."""
        self.assertEqual(self.run_command("cluster", "move", "-t", "t", "--to", "3,1", "--execute", "-y"), 0)
        self.assertEqual(self.replicas(), [(3, 1), (3, 1)])
        self.assertIn("complete: 2 partitions", self.err.text())
        undo = self.err.text().split("--plan '")[1].split("'")[0]
        self.assertEqual(self.run_command("cluster", "move", "--plan", undo, "--execute", "-y"), 0)
        self.assertEqual(self.replicas(), [(1, 2), (2, 1)])

    def test_throttle(self) -> None:
        """Copies are limited while they are made, and not after."""
        arguments = ("cluster", "move", "-t", "t", "-p", "0", "--to", "3,1", "--execute", "-y")
        self.run_command(*arguments, "--throttle", "5M", "--no-wait")
        self.assertEqual(self.fake.configs[BROKER, "2"], dict.fromkeys(RATES, "5000000"))
        self.assertEqual(self.fake.configs[TOPIC, "t"], {LEADERS: "0:1,0:2", FOLLOWERS: "0:3"})
        self.fake.reassigning.clear()
        self.assertEqual(self.run_command("cluster", "move", "--status"), 0)
        self.assertEqual(self.fake.configs[BROKER, "2"], {})
        self.run_command(*arguments, "--throttle", "5M")
        self.assertEqual([one for one in self.fake.configs.values() if one], [])

    def test_refused(self) -> None:
        """The controller's reason is shown, with the partition; the exit code is 1."""
        self.fake.faults[AlterPartitionReassignmentsRequest].append(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        self.assertEqual(self.run_command("cluster", "move", "-t", "t", "--to", "3,1", "--execute", "-y"), 1)
        self.assertIn("t-0: INVALID_REPLICA_ASSIGNMENT", self.err.text())
        self.assertIn("and 1 more", self.err.text())

    def test_status_and_cancel(self) -> None:
        """Moves in progress are shown, and ended: all, or those of a topic."""
        self.fake.reassigning = {("t", 0): (3, 1), ("t", 1): (3, 1)}
        self.run_command("cluster", "move", "--status", "--json")
        found = json.loads(self.out.text())["partitions"][0]
        self.assertEqual((found["adding"], found["removing"]), ([3], [2]))
        self.fake.reassigning = {("t", 0): (3, 1), ("t", 1): (3, 1), ("u", 0): (3,)}
        self.fake.topics["u"] = [Log(1, (1,))]
        self.assertEqual(self.run_command("cluster", "move", "--cancel", "-t", "t:1", "-y"), 0)
        asked = self.fake.sent(AlterPartitionReassignmentsRequest)[-1].topics
        cancelled = [(one.name, [each.partition_index for each in one.partitions]) for one in asked]
        self.assertEqual(cancelled, [("t", [1])])

    def test_wrong(self) -> None:
        """Options that do not belong together are refused."""
        for arguments in (
            (),
            ("--to", "1"),
            ("-t", "t"),
            ("--status", "--cancel"),
            ("-t", "t", "--to", "1,1"),
        ):
            self.assertEqual(self.run_command("cluster", "move", *arguments), 2, arguments)
        self.assertEqual(self.run_command("cluster", "move", "--plan", "{"), 1)
        self.assertIn("not JSON", self.err.text())


class DrainTests(MoveCase):
    def test_drain(self) -> None:
        """All replicas leave the broker."""
        self.assertEqual(self.run_command("cluster", "drain", "1", "--execute", "-y"), 0)
        self.assertEqual(self.replicas(), [(3, 2), (2, 3)])

    def test_cannot(self) -> None:
        """A broker that is needed says why."""
        self.fake.brokers = 2
        self.assertEqual(self.run_command("cluster", "drain", "1"), 1)
        self.assertIn("broker 1 cannot be drained: t-0 has 2 replicas", self.err.text())


class SpreadTests(MoveCase):
    def test_spread(self) -> None:
        """The new broker gets its share; a second time nothing is left to do."""
        self.assertEqual(self.run_command("cluster", "spread", "--execute", "-y"), 0)
        self.assertEqual(sorted(each for one in self.replicas() for each in one), [1, 2, 2, 3])
        self.assertEqual(self.run_command("cluster", "spread", "--execute", "-y"), 0)
        self.assertIn("nothing has to be moved", self.err.text())
