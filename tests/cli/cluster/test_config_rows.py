"""Tests of kafkatx.cli.cluster.config_rows."""

from __future__ import annotations

import json

from kafkatx.cli.cluster.config_rows import print_entries, print_quotas
from kafkatx.clientcore.admin.configs import ConfigEntry, Source
from kafkatx.clientcore.admin.quotas import EntityQuotas
from tests.cli.output.test_terminal import TerminalCase

ENTRIES = [
    ConfigEntry("retention.ms", "5", Source.TOPIC),
    ConfigEntry("ssl.key.password", None, Source.STATIC, sensitive=True),
    ConfigEntry("empty", None, Source.DEFAULT),
]
QUOTAS = [
    EntityQuotas({"client-id": "b"}, {"producer_byte_rate": 1048576.0, "consumer_byte_rate": 0.5}),
    EntityQuotas({"user": None}, {"request_percentage": 200.0}),
]


class EntryTests(TerminalCase):
    def test_lines(self) -> None:
        """Name, value and source; a secret is hidden, and no value is empty."""
        print_entries(ENTRIES, as_json=False, header=True)
        self.assertEqual(
            self.out.text(),
            "setting\tvalue\tset_for\nretention.ms\t5\ttopic\n"
            "ssl.key.password\t(hidden)\tstatic\nempty\t\tdefault\n",
        )

    def test_json(self) -> None:
        """An object a setting; a secret has no value."""
        print_entries(ENTRIES, as_json=True, header=False)
        found = [json.loads(line) for line in self.out.text().splitlines()]
        self.assertEqual(
            [(row["value"], row["sensitive"]) for row in found[:2]], [("5", False), (None, True)]
        )

    def test_nothing(self) -> None:
        """At a terminal it is said that nothing is set."""
        self.use_streams(tty=True)
        print_entries([], as_json=False, header=False)
        self.assertIn("all settings have their defaults", self.out.text())


class QuotaTests(TerminalCase):
    def test_lines(self) -> None:
        """Numbers are written without a fraction that is zero, in the order of their names."""
        print_quotas(QUOTAS, (), as_json=False, header=False)
        rows = [line.split("\t")[:2] for line in self.out.text().splitlines()]
        self.assertEqual(
            rows,
            [["consumer_byte_rate", "0.5"], ["producer_byte_rate", "1048576"], ["request_percentage", "200"]],
        )

    def test_names(self) -> None:
        """Only the quotas that are named."""
        print_quotas(QUOTAS, ("request_percentage",), as_json=True, header=False)
        self.assertEqual(
            json.loads(self.out.text()),
            {"name": "request_percentage", "value": 200.0, "entity": {"user": None}},
        )
