"""``kafkatx cluster elect``."""

from __future__ import annotations

import json

from kafkatx.cli.replicas import elect
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.elect_leaders import ElectLeadersRequest
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase


class ElectTests(CommandCase):
    def setUp(self) -> None:
        """Partition 0 is led by its second replica."""
        super().setUp()
        self.patch(elect, "connect", lambda bootstrap, timeout: self.fake.client())
        self.fake.topics = {"t": [Log(2, (1, 2)), Log(1, (1, 2))]}
        self.fake.brokers = 2

    def test_all(self) -> None:
        """Without a topic all partitions that need it get their preferred leader."""
        self.assertEqual(self.run_command("cluster", "elect"), 0)
        self.assertEqual(self.out.text(), "t\t0\t1\telected\n")

    def test_some(self) -> None:
        """The named partitions have a line each, also where nothing had to be done."""
        self.assertEqual(self.run_command("cluster", "elect", "-t", "t", "--header"), 0)
        lines = self.out.text().splitlines()
        self.assertEqual(lines[1:], ["t\t0\t1\telected", "t\t1\t1\tnot needed"])

    def test_failed(self) -> None:
        """A partition that was not given its leader is shown with the error, and the exit code is 1."""
        self.fake.faults[ElectLeadersRequest].append(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
        self.assertEqual(self.run_command("cluster", "elect", "-t", "t", "-p", "0", "--json"), 1)
        (found,) = json.loads(self.out.text())["partitions"]
        self.assertEqual(
            found, {"topic": "t", "partition": 0, "leader": 2, "result": "PREFERRED_LEADER_NOT_AVAILABLE"}
        )

    def test_unclean(self) -> None:
        """An unclean election needs named partitions, and a confirmation."""
        self.assertEqual(self.run_command("cluster", "elect", "--unclean", "-y"), 2)
        self.assertIn("name the partitions", self.err.text())
        self.assertEqual(self.run_command("cluster", "elect", "--unclean", "-t", "t"), 2)
        self.assertIn("--yes", self.err.text())
        self.assertEqual(self.run_command("cluster", "elect", "--unclean", "-t", "t", "-p", "0", "-y"), 0)
        (request,) = self.fake.sent(ElectLeadersRequest)
        self.assertEqual(request.election_type, 1)

    def test_person(self) -> None:
        """A person is told if there is nothing to do."""
        self.fake.topics["t"][0].leader = 1
        self.use_streams(tty=True)
        self.assertEqual(self.run_command("cluster", "elect"), 0)
        self.assertIn("led by their preferred leaders", self.err.text())
