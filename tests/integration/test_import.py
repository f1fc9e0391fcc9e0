"""A broker that was alone is imported into ZooKeeper, starts there with its data; another one joins it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.errors import BrokerDidNotStart
from tests.integration.clients import Confluent, messages
from tests.integration.zookeeper import shared_server
from tests.ports import free_port

_NUMBERS = itertools.count()
DEADLINE_S = 60.0
COUNT = 2000


class ImportTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Run a broker alone, with topics, a group, configs and quotas, and stop it."""
        self.connect = f"127.0.0.1:{shared_server().port}/import/{next(_NUMBERS)}-{os.getpid()}"
        self.data = os.path.abspath(self.mktemp())
        self.broker = self.make_broker(5, self.data)
        self.broker.start()
        client = Confluent(self.broker.bootstrap)
        client.create("orders", 3)
        client.produce("orders", "lz4", messages(COUNT), **{"enable.idempotence": True})
        self.run_command("configs", "alter", "-t", "orders", "--set", "retention.ms=98765432")
        self.run_command("configs", "alter", "--client-id", "a/b", "--set", "producer_byte_rate=1048576")
        self.run_command("consume", "orders", "--group", "g", "-c", "1000")
        self.before = self.description()
        self.broker.stop()

    def make_broker(self, broker_id: int, data: str, **settings: str) -> EmbeddedBroker:
        """Return a broker that is not started."""
        names = {name.replace("_", "."): value for name, value in settings.items()}
        broker = EmbeddedBroker(
            {"broker.id": str(broker_id), "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}", **names},
            data_dir=data,
            run_in="process",
        )
        self.addCleanup(broker.kill)
        return broker

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        command = [sys.executable, "-m", "kafkatx", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=DEADLINE_S
        )

    def run_command(self, *arguments: str) -> str:
        """Run a command that asks the broker, and return its output."""
        done = self.command("-b", self.broker.bootstrap, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def description(self) -> dict[str, str]:
        """Return all that the broker shows of its topics, configs, quotas and groups."""
        commands = (
            ("offsets", "orders"),
            ("configs", "describe", "-t", "orders"),
            ("configs", "describe", "--quotas"),
            ("groups", "describe", "g"),
        )
        found = {" ".join(one): self.run_command(*one) for one in commands}
        partitions = self.run_command("cluster", "-t", "orders").splitlines()
        found["cluster id"] = partitions[0].split("\t")[1]
        return found

    def test_import(self) -> None:
        """Everything is there afterwards; another broker joins, and the embedded state is no more."""
        refused = self.command("cluster", "import", "--data", self.data, "--zookeeper", self.connect)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("topics: 2", refused.stdout)
        done = self.command("cluster", "import", "--data", self.data, "--zookeeper", self.connect, "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)

        self.broker = self.make_broker(5, self.data, zookeeper_connect=self.connect)
        self.broker.start()
        self.assertEqual(self.description(), self.before)
        client = Confluent(self.broker.bootstrap)
        self.assertEqual(client.read("orders", COUNT), messages(COUNT))
        client.produce("orders", "none", messages(100), **{"enable.idempotence": True})
        self.assertEqual(client.read("orders", COUNT + 100), messages(COUNT) + messages(100))

        other = self.make_broker(6, os.path.abspath(self.mktemp()), zookeeper_connect=self.connect)
        other.start()
        self.assertEqual(Confluent(other.bootstrap).read("orders", COUNT + 100)[:COUNT], messages(COUNT))
        self.broker.stop()

        alone = self.make_broker(5, self.data)
        error = self.assertRaises(BrokerDidNotStart, alone.start)
        self.assertIn("is a partition's directory", str(error))
        again = self.command("cluster", "import", "--data", self.data, "--zookeeper", self.connect, "--yes")
        self.assertIn("was imported already", again.stderr)

    def test_before_the_import(self) -> None:
        """A broker that is started on ZooKeeper first is refused; the import is possible nevertheless."""
        self.broker = self.make_broker(5, self.data, zookeeper_connect=self.connect)
        error = self.assertRaises(BrokerDidNotStart, self.broker.start)
        self.assertIn("belongs to cluster", str(error))
        done = self.command("cluster", "import", "--data", self.data, "--zookeeper", self.connect, "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.broker = self.make_broker(5, self.data, zookeeper_connect=self.connect)
        self.broker.start()
        self.assertEqual(self.description(), self.before)
