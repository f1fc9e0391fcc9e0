"""Tests of ``kafkatx cluster import``: what is printed, what is changed, and the exit codes."""

from __future__ import annotations

import os
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli import main
from kafkatx.cli.cluster import importation
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.metadata.transfer.content import Content
from kafkatx.metadata.transfer.importer import Found
from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings
from tests.cli.command_case import Terminal


class ImportTests(SynchronousTestCase):
    def setUp(self) -> None:
        """The data of a broker, and a ZooKeeper that notes what is written."""
        self.path = os.path.abspath(self.mktemp())
        os.makedirs(self.path)
        with open(os.path.join(self.path, "meta.properties"), "w") as file:
            file.write("version=0\nbroker.id=3\n")
        database = ClusterDatabase(os.path.join(self.path, FILE_NAME))
        database.register(3, "cluster")
        database.close()
        self.found = Found.EMPTY
        self.written: list[tuple[str, Content]] = []
        self.patch(importation, "look_at", self.look_at)
        self.patch(importation, "import_into", lambda s, content: self.written.append((s.connect, content)))

    def look_at(self, settings: ZooKeeperSettings, cluster_id: str) -> Found:
        """Find what the test says."""
        self.assertEqual(cluster_id, "cluster")
        return self.found

    def run_import(self, *options: str) -> tuple[int, str, str]:
        """Run the command; the exit code and what it wrote."""
        out, err = Terminal(False), Terminal(False)
        self.patch(sys, "stdout", out)
        self.patch(sys, "stderr", err)
        code = main.main(["cluster", "import", "--data", self.path, *options])
        return code, out.text(), err.text()

    def test_plan(self) -> None:
        """Without --yes it says what it would do, and changes nothing."""
        code, out, err = self.run_import("--zookeeper", "h:2181/k")
        self.assertEqual((code, self.written), (1, []))
        self.assertIn("h:2181/k: no cluster\ncluster cluster of broker 3:\n  topics: 0\n", out)
        self.assertIn("give --yes", err)
        self.assertIn(FILE_NAME, os.listdir(self.path))

    def test_done(self) -> None:
        """With --yes the state is written, and renamed."""
        code, out, err = self.run_import("--zookeeper", "h:2181/k", "--yes")
        self.assertEqual(code, 0, err)
        ((connect, content),) = self.written
        self.assertEqual((connect, content.broker_id), ("h:2181/k", 3))
        self.assertIn("the former state was renamed to ", out)
        self.assertIn("zookeeper.connect=h:2181/k", err)
        self.assertNotIn(FILE_NAME, os.listdir(self.path))

    def test_interrupted(self) -> None:
        """An import whose nodes are all written is finished."""
        self.found = Found.IMPORTED
        code, out, _ = self.run_import("--set", "zookeeper.connect=h:1", "--yes")
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("h:1: this cluster\nthe former state was renamed"))

    def test_no_zookeeper(self) -> None:
        """Without an address the command line is wrong."""
        code, _, err = self.run_import()
        self.assertEqual(code, 2)
        self.assertIn("--zookeeper", err)
