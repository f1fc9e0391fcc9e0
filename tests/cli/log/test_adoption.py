"""Tests of ``kafkatx log adopt``: what is printed, what is changed, and the exit codes."""

from __future__ import annotations

import os
import sys
import uuid

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.replica.logs.broker_life import NAME
from kafkatx.cli import main
from kafkatx.config.log_config import LogConfig
from kafkatx.log.checkpoint import encode_partition_metadata
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.names import TREE_FILE
from kafkatx.types import TopicPartition
from tests.cli.command_case import Terminal
from tests.log.fakes import file_store

TOPIC_ID = uuid.UUID(int=9)


class AdoptTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A log dir with a topic of two partitions, and no state."""
        self.path = os.path.abspath(self.mktemp())
        for name in ("t-0", "t-1"):
            os.makedirs(os.path.join(self.path, name))
            with open(os.path.join(self.path, name, "partition.metadata"), "wb") as file:
                file.write(encode_partition_metadata(TOPIC_ID))
        with open(os.path.join(self.path, "meta.properties"), "w") as file:
            file.write("version=0\nbroker.id=3\ncluster.id=c\ndirectory.id=d\n")

    def adopt(self, *options: str) -> tuple[int, str, str]:
        """Run the command; the exit code and what it wrote."""
        out, err = Terminal(False), Terminal(False)
        self.patch(sys, "stdout", out)
        self.patch(sys, "stderr", err)
        code = main.main(["log", "adopt", self.path, *options])
        return code, out.text(), err.text()

    def test_only_said(self) -> None:
        """Without --yes it says what it would do, and changes nothing."""
        before = sorted(os.listdir(self.path))
        code, out, err = self.adopt()
        self.assertEqual(code, 1)
        self.assertIn("t: is made with 2 partitions", out)
        self.assertIn("give --yes", err)
        self.assertEqual(sorted(os.listdir(self.path)), before)

    def test_of_a_cluster(self) -> None:
        """In log dirs of a broker that has others beside it, --empty is refused, and says what to do."""
        for beside in (NAME, os.path.join("..", TREE_FILE)):
            path = os.path.join(self.path, beside)
            with open(path, "wb"):
                pass
            self.addCleanup(os.unlink, path)
            code, out, err = self.adopt("--empty", "--yes")
            self.assertEqual((code, os.path.exists(os.path.join(self.path, FILE_NAME))), (1, False))
            self.assertIn("several brokers", out + err)
            self.assertIn("kafkatx.start.anew=true", out + err)
            code, out, err = self.adopt()
            self.assertIn("become those of a broker that is alone", out + err)

    def test_done(self) -> None:
        """With --yes the state has the topics; a second time there is nothing to do."""
        self.assertEqual(self.adopt("--yes")[0], 0)
        database = ClusterDatabase(os.path.join(self.path, FILE_NAME))
        loaded = database.register(3, "another")
        first_id = database.allocate_producer_ids(1).start
        database.close()
        self.assertEqual(loaded.cluster_id, "c")
        self.assertEqual((loaded.topics["t"].topic_id, len(loaded.topics["t"].partitions)), (TOPIC_ID, 2))
        self.assertEqual(loaded.recorded.placed, {TOPIC_ID: {0: "d", 1: "d"}})
        self.assertGreater(first_id, 10**15)  # above all that were given out before
        code, out, _ = self.adopt("--yes")
        self.assertEqual((code, out), (0, "the state has all partitions\n"))

    def test_problem(self) -> None:
        """An undecided plan changes nothing, not even with --yes."""
        stray = f"t-0.{'0' * 32}-stray"
        os.mkdir(os.path.join(self.path, stray))
        code, _, err = self.adopt("--yes", "--strays")
        self.assertEqual(code, 1)
        self.assertIn("move all but one of them away", err)
        self.assertNotIn(FILE_NAME, os.listdir(self.path))

    def test_broker_id(self) -> None:
        """A broker id that contradicts the log dirs is refused."""
        code, _, err = self.adopt("--yes", "--broker-id", "4")
        self.assertEqual(code, 1)
        self.assertIn("several brokers", err)

    def test_in_use(self) -> None:
        """While a broker has the log dir, nothing is done."""
        store = file_store(Clock(), self.path, broker_id=3)
        self.successResultOf(store.open(lambda topic: LogConfig()))
        self.addCleanup(lambda: self.successResultOf(store.close()))
        self.assertIn(TopicPartition("t", 1), store.logs)
        code, _, err = self.adopt("--yes")
        self.assertEqual(code, 1)
        self.assertIn("in use by a broker", err)
