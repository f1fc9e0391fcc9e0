"""The sample and the page that come from the tables."""

from __future__ import annotations

import os
import re

from twisted.trial.unittest import SynchronousTestCase

import kafkatx
from kafkatx.config import BrokerConfig
from kafkatx.config.documents import main, page, sample
from kafkatx.config.properties import parse_properties
from kafkatx.config.table import broker as b
from kafkatx.config.table import kafka_only, topic
from kafkatx.config.table.mirror.rows import ROWS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(kafkatx.__file__)))


class DocumentsTests(SynchronousTestCase):
    """Generated texts."""

    def test_up_to_date(self) -> None:
        """The files in the repository are what the tables say; "make documents" writes them."""
        for path, text in (("etc/server.properties", sample()), ("docs/settings.md", page())):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.assertEqual(file.read(), text, f"{path} is not up to date; run: make documents")

    def test_main_writes_both(self) -> None:
        """The command writes the sample and the page."""
        paths = [self.mktemp(), self.mktemp()]
        main(paths)
        texts = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        self.assertEqual(texts, [sample(), page()])

    def test_sample_changes_little(self) -> None:
        """The sample as it stands sets what the table wants it to, all else has its default."""
        path = self.mktemp()
        with open(path, "w", encoding="utf-8") as file:
            file.write(sample())
        config = BrokerConfig.load(path)
        wanted = {"group.initial.rebalance.delay.ms": "0"}
        self.assertEqual((dict(config.explicit), config.warnings), (wanted, ()))

    def test_sample_shows_the_defaults(self) -> None:
        """With the # taken away, each line of the sample sets its default or sample value."""
        lines = sample().splitlines()
        text = "\n".join(line.removeprefix("#") for line in lines if re.match(r"#?[A-Za-z.]+=", line))
        values = parse_properties(text, "sample")
        self.assertEqual(list(values), list(b.SETTINGS))
        there = {name: value for name, value in values.items() if value}
        config = BrokerConfig.load(None, there)
        for setting in b.SETTINGS.values():
            value = setting.default if setting.sample is None else setting.parse(setting.sample)
            self.assertEqual(config[setting], value, setting.name)

    def test_page_tells_all(self) -> None:
        """Every name of every table is on the page, each honoured one in its own row."""
        text = page()
        for name in (*b.SETTINGS, *topic.ALL_SETTINGS):
            self.assertIn(f"\n| `{name}` |", text)
        for name in kafka_only.NAMES:
            self.assertIn(f"`{name}`", text)
        for name in ROWS:
            self.assertIn(f"\n| `mirror.NAME.{name}` |", text)

    def test_tables_are_whole(self) -> None:
        """No cell breaks its row: the rows of a table have the same number of bars."""
        for table in re.findall(r"(?:^\|.*\n)+", page(), re.MULTILINE):
            bars = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
            self.assertEqual(len(bars), 1, table)
