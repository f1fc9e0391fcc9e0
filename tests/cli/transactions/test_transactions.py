"""Tests of kafkatx.cli.transactions.transactions."""

from __future__ import annotations

import json

from kafkatx.cli.transactions import transactions
from tests.blocking.fake_transactions import FakeTransactions
from tests.cli.command_case import CommandCase


class TransactionsCommandTests(CommandCase):
    def setUp(self) -> None:
        """Two transactional ids, an open transaction and a hanging one."""
        super().setUp()
        self.cluster = FakeTransactions()
        self.patch(transactions, "connect", lambda bootstrap, timeout: self.cluster.client())

    def printed(self, *arguments: str, tty: bool = False, code: int = 0) -> str:
        """Return the output of ``kafkatx transactions``, which must end with *code*."""
        self.use_streams(tty)
        self.assertEqual(self.run_command("transactions", *arguments), code, self.err.text())
        return self.out.text()

    def test_list(self) -> None:
        """A line each, JSON, or a table; by state."""
        self.assertEqual(self.printed("list"), "billing\t2\t7\tOngoing\nidle\t2\t8\tEmpty\n")
        self.assertEqual(self.printed("list", "-s", "Empty"), "idle\t2\t8\tEmpty\n")
        self.assertEqual(self.printed("list", "--pattern", "b.*g"), "billing\t2\t7\tOngoing\n")
        self.assertEqual(self.printed("list", "--pattern", "b", tty=True), "")
        self.assertIn("no transactional ids with that pattern", self.err.text())
        self.assertEqual(
            [json.loads(line) for line in self.printed("list", "--json", "-s", "Ongoing").splitlines()],
            [{"transactional_id": "billing", "coordinator": 2, "producer_id": 7, "state": "Ongoing"}],
        )
        self.assertIn("transactional id", self.printed("list", tty=True))
        self.assertEqual(self.printed("list", "-s", "Dead", tty=True), "")
        self.assertIn("no transactional ids in that state", self.err.text())

    def test_describe(self) -> None:
        """State and partitions; what there is not is a hyphen, or null."""
        line = self.printed("describe", "billing").split("\t")
        self.assertEqual(line[:6], ["billing", "2", "Ongoing", "7", "3", "60000"])
        self.assertGreater(int(line[6]), 1_000_000)
        self.assertEqual(line[7], "t-0\n")
        self.assertEqual(self.printed("describe", "idle").split("\t")[6:], ["-", "-\n"])
        (row,) = map(json.loads, self.printed("describe", "idle", "--json").splitlines())
        self.assertIsNone(row["open_ms"])
        self.printed("describe", "none", code=1)
        self.assertIn("transactional id 'none'", self.err.text())

    def test_hanging(self) -> None:
        """Hanging transactions of all topics, or of some; old ones only."""
        expected = "t\t1\t20\t9\t1\t6000\n"
        self.assertEqual(self.printed("hanging"), expected)
        self.assertEqual(self.printed("hanging", "t", "--header").splitlines()[1] + "\n", expected)
        self.assertEqual(self.printed("hanging", "--older-than-ms", str(1 << 60)), "")

    def test_abort(self) -> None:
        """A transaction is named by its start; only an open one can be aborted."""
        self.printed("abort", "t", "1", "--start-offset", "21", "--yes", code=1)
        self.assertIn("t-1 has no open transaction from offset 21 on", self.err.text())
        self.assertEqual(self.cluster.markers, [])
        self.printed("abort", "t", "1", "--start-offset", "20", "--yes")
        self.assertIn("aborted the transaction of producer 9 in t-1", self.err.text())
        self.assertEqual(len(self.cluster.markers), 1)
