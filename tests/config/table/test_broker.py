"""The broker's table as a whole: names, defaults, and the parts that it is made of."""

from __future__ import annotations

from collections import Counter

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.table import broker, topic
from kafkatx.config.table.row import LONG_MAX


class BrokerTableTests(SynchronousTestCase):
    def test_names(self) -> None:
        """No name or alias occurs twice."""
        rows = [setting for section in broker.SECTIONS for setting in section.settings]
        counts = Counter(name for setting in rows for name in (setting.name, *setting.aliases))
        self.assertEqual([name for name, count in counts.items() if count > 1], [])
        self.assertEqual(len(broker.SETTINGS), len(rows))

    def test_safe(self) -> None:
        """Without settings a broker listens to its own machine only."""
        self.assertEqual(broker.SETTINGS["listeners"].default, ("PLAINTEXT://127.0.0.1:9092",))

    def test_own_names(self) -> None:
        """Settings that Apache Kafka does not have begin with kafkatx, so that they never collide."""
        for name in ("storage", "metadata.store", "start.anew", "retention", "records.validation"):
            self.assertIn(f"kafkatx.{name}", broker.SETTINGS)

    def test_texts(self) -> None:
        """Each setting and each section has a text: sentences that end with a full stop."""
        for section in broker.SECTIONS:
            for text in (section.doc, *(setting.doc for setting in section.settings)):
                self.assertRegex(text, r"\A[A-Za-z_].*\.\Z")

    def test_default_for(self) -> None:
        """The topic configs that settings are the default of exist."""
        for setting in broker.SETTINGS.values():
            self.assertEqual(set(setting.default_for) - topic.SETTINGS.keys(), set(), setting.name)

    def test_precedence(self) -> None:
        """The finer unit comes first: ms, then minutes, then hours."""
        names = [
            name for name in broker.SETTINGS if name.startswith("log.retention.") and "check" not in name
        ]
        self.assertEqual(names[:3], [f"log.retention.{unit}" for unit in ("ms", "minutes", "hours")])

    def test_scales(self) -> None:
        """Hours and minutes become milliseconds; -1 stays without limit."""
        for name, value, scaled in (
            ("log.retention.hours", 2, 7_200_000),
            ("log.retention.minutes", 2, 120_000),
        ):
            setting = broker.SETTINGS[name]
            self.assertEqual((setting.scaled(value), setting.scaled(-1)), (scaled, -1))
        self.assertEqual(broker.SETTINGS["log.flush.interval.messages"].scaled(LONG_MAX), LONG_MAX)
