"""Tests of kafkatx.cli.cluster.topics and its rows."""

from __future__ import annotations

import json

from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase


class TopicsTests(CommandCase):
    def test_create(self) -> None:
        """A topic is created; once more is an error, unless that is allowed."""
        self.assertEqual(self.run_command("topics", "create", "new", "-p", "3"), 0)
        self.assertEqual(len(self.fake.topics["new"]), 3)
        self.assertEqual(self.run_command("topics", "create", "new"), 1)
        self.assertIn("topic 'new': topic already exists", self.err.text())
        self.assertEqual(self.run_command("topics", "create", "new", "--if-not-exists"), 0)

    def test_list(self) -> None:
        """For another program: a name a line, or JSON; internal topics only if asked for."""
        self.run_command("topics", "list")
        self.assertEqual(self.out.text(), "t\n")
        self.use_streams()
        self.run_command("topics", "list", "--internal", "--json")
        listed = [json.loads(line) for line in self.out.text().splitlines()]
        self.assertEqual(
            [(t["topic"], t["partitions"], t["internal"]) for t in listed],
            [("__internal", 1, True), ("t", 2, False)],
        )

    def test_list_at_a_terminal(self) -> None:
        """A person gets a table with headings."""
        self.use_streams(tty=True)
        self.run_command("topics", "list")
        self.assertIn("partitions", self.out.text())
        self.assertIn("t ", self.out.text())

    def test_describe(self) -> None:
        """A line per partition divided by tabs, then the topic's own settings."""
        self.fake.topics["t"][1].end = 5
        self.run_command("topics", "describe", "t")
        self.assertEqual(self.out.text(), "0\t1\t-1\t1\t1\t0\t0\n1\t1\t-1\t1\t1\t0\t5\nretention.ms=5\n")
        self.use_streams()
        self.run_command("topics", "describe", "t", "--json")
        self.assertEqual(json.loads(self.out.text())["partitions"][1]["latest"], 5)

    def test_describe_at_a_terminal(self) -> None:
        """A person gets tables; brackets in a value are not taken for markup."""
        self.use_streams(tty=True)
        self.run_command("topics", "describe", "t")
        self.assertIn("in sync", self.out.text())
        self.assertIn("retention.ms", self.out.text())

    def test_delete(self) -> None:
        """All topics named are deleted; one that is not there is an error."""
        self.assertEqual(self.run_command("topics", "delete", "t", "-y"), 0)
        self.assertNotIn("t", self.fake.topics)
        self.assertEqual(self.run_command("topics", "delete", "t", "-y"), 1)
        self.assertIn("there is no topic 't'\n", self.err.text())

    def test_describe_several(self) -> None:
        """Several topics, or all: each line begins with the topic's name."""
        self.fake.topics["u"] = [Log()]
        self.run_command("topics", "describe", "t", "u")
        listed = self.out.text()
        self.assertEqual([line.split("\t")[0] for line in listed.splitlines()], ["t", "t", "t", "u", "u"])
        self.use_streams()
        self.run_command("topics", "--describe")
        self.assertEqual(self.out.text(), listed)

    def test_header(self) -> None:
        """Column names come once, on request."""
        self.run_command("topics", "describe", "--header", "--json")
        self.assertNotIn("partition\tleader", self.out.text())
        self.use_streams()
        self.run_command("topics", "describe", "t", "--header")
        first = self.out.text().splitlines()[0]
        self.assertEqual(first, "partition\tleader\tleader_epoch\treplicas\tin_sync\tearliest\tlatest")
        self.use_streams()
        self.run_command("topics", "list", "--header")
        self.assertEqual(self.out.text(), "topic\nt\n")

    def test_if_exists(self) -> None:
        """A topic that does not exist is no error on request."""
        for line in ("delete nope --yes", "describe nope"):
            self.assertEqual(self.run_command("topics", *line.split(), "--if-exists"), 0, self.err.text())

    def test_empty(self) -> None:
        """At a terminal an empty list is explained."""
        self.fake.topics.clear()
        self.use_streams(tty=True)
        self.run_command("topics", "list")
        self.assertIn("there are no topics", self.err.text())
        self.assertEqual(self.out.text(), "")
