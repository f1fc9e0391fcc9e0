"""Tests of kafkatx.cli.options.cluster."""

from __future__ import annotations

import os

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.cli.cluster import topics
from kafkatx.cli.options import cluster
from tests.cli.command_case import CommandCase


class OptionsTests(SynchronousTestCase):
    def test_pairs(self) -> None:
        """A value may hold equals signs and be empty."""
        self.assertEqual(cluster.pairs("-c", ["a=b=c", "d="]), [("a", "b=c"), ("d", "")])


class BootstrapTests(CommandCase):
    def setUp(self) -> None:
        """Note which cluster a command asks."""
        super().setUp()
        self.asked: list[tuple[str, float]] = []
        self.patch(topics, "connect", self.connect)

    def connect(self, bootstrap: str, timeout_s: float) -> Cluster:
        """Return the cluster in memory, whatever the address."""
        self.asked.append((bootstrap, timeout_s))
        return self.fake.client()

    def test_before_and_after(self) -> None:
        """The address stands before or after the command, or between group and command."""
        for line in ("-b h:1 topics list", "topics -b h:1 list", "topics list --bootstrap-server h:1"):
            self.assertEqual(self.run_command(*line.split()), 0)
        self.assertEqual(self.asked, [("h:1", 30.0)] * 3)

    def test_last_wins(self) -> None:
        """The last one on the line is taken; the time-out likewise."""
        for line in (
            "-b a:1 --timeout 1 topics -b b:1 list -b c:1 --timeout 3",
            "-b a:1 topics -b b:1 --timeout 2 list",
        ):
            self.run_command(*line.split())
        self.assertEqual(self.asked, [("c:1", 3.0), ("b:1", 2.0)])

    def test_environment(self) -> None:
        """The command line goes before the environment, and that before the default."""
        self.run_command("topics", "list")
        self.patch(os, "environ", {**os.environ, "KAFKATX_BOOTSTRAP": "e:1"})
        self.run_command("topics", "list")
        self.run_command("-b", "h:1", "topics", "list")
        self.assertEqual([address for address, _ in self.asked], ["127.0.0.1:9092", "e:1", "h:1"])

    def test_command_config(self) -> None:
        """The file's addresses replace the default; command line and environment replace the file's."""
        path = self.mktemp()
        with open(path, "w", encoding="utf-8") as file:
            file.write("bootstrap.servers=f:1,f:2\n")
        self.run_command("topics", "list", "--command-config", path)
        self.run_command("--command-config", path, "topics", "list")
        self.run_command("topics", "list", "-b", "h:1", "--command-config", path)
        self.run_command("-b", "h:2", "topics", "list", "--command-config", path)
        self.patch(os, "environ", {**os.environ, "KAFKATX_BOOTSTRAP": "e:1"})
        self.run_command("topics", "list", "--command-config", path)
        self.assertEqual([address for address, _ in self.asked], ["f:1,f:2", "f:1,f:2", "h:1", "h:2", "e:1"])


class ChangesTests(SynchronousTestCase):
    def test_set_and_deleted(self) -> None:
        """A setting cannot be set and deleted at once."""
        cluster.check_changes({"a": "1"}, ["b"])
        self.assertRaises(click.UsageError, cluster.check_changes, {"a": "1"}, ["a"])
        self.assertEqual(cluster.changes_text({"a": "1"}, ["b"]), "set a=1, deleted b")

    def test_pair_without_name(self) -> None:
        """A pair needs a name and an equals sign."""
        for text in ("=1", "a", ""):
            self.assertRaises(click.UsageError, cluster.pairs, "-c", [text])
