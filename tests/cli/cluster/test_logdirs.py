"""Tests of kafkatx.cli.cluster.logdirs."""

from __future__ import annotations

import json

from kafkatx.cli.cluster import logdirs
from tests.blocking.fakes import Log
from tests.cli.cluster.fakes import FakeDisks
from tests.cli.command_case import CommandCase


class LogDirsTests(CommandCase):
    def setUp(self) -> None:
        """Two brokers with a good and a failed directory each."""
        super().setUp()
        self.fake = FakeDisks({"t": [Log(), Log()], "u": [Log()]}, brokers=2)
        self.patch(logdirs, "connect", lambda bootstrap, timeout: self.fake.client())

    def test_lines(self) -> None:
        """A line for each directory, then one for each partition."""
        self.assertEqual(self.run_command("logdirs", "--broker", "2"), 0)
        self.assertEqual(
            self.out.text(),
            "dir\t2\t/d1\t3\t300\t1000\t400\t-\n"
            "dir\t2\t/d2\t0\t0\t-\t-\tKAFKA_STORAGE_ERROR\n"
            "partition\t2\t/d1\tt\t0\t100\t0\t-\n"
            "partition\t2\t/d1\tt\t1\t100\t7\tyes\n"
            "partition\t2\t/d1\tu\t0\t100\t7\tyes\n",
        )

    def test_json(self) -> None:
        """An object a directory; what is not known is null."""
        self.run_command("logdirs", "--json", "-t", "u")
        good, failed, *others = map(json.loads, self.out.text().splitlines())
        self.assertEqual(len(others), 2)
        self.assertEqual((good["total_bytes"], good["usable_bytes"], good["error"]), (1000, 400, None))
        self.assertEqual(
            good["partitions"], [{"topic": "u", "partition": 0, "bytes": 100, "lag": 7, "future": True}]
        )
        self.assertEqual((failed["total_bytes"], failed["error"]), (None, "KAFKA_STORAGE_ERROR"))

    def test_kafkas_lists(self) -> None:
        """Kafka's lists of brokers and topics choose the same."""
        self.run_command("logdirs", "--broker-list", "1,2", "--topic-list", "t,u")
        listed = self.out.text()
        self.use_streams()
        self.run_command("logdirs")
        self.assertEqual(self.out.text(), listed)

    def test_unknown_broker(self) -> None:
        """A broker that does not exist is refused."""
        self.assertEqual(self.run_command("logdirs", "--broker", "9"), 2)
        self.assertIn("there is no broker 9: there are 1, 2", self.err.text())

    def test_terminal(self) -> None:
        """A person gets tables, with headings."""
        self.use_streams(tty=True)
        self.run_command("logdirs")
        self.assertIn("partitions", self.out.text())
        self.assertIn("KAFKA_STORAGE_ERROR", self.out.text())
