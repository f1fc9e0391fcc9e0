"""Tests of kafkatx.clientcore.registry.subjects."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.registry.subjects import strategy
from kafkatx.errors import SettingError


class StrategyTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Each strategy names subjects as Confluent's."""
        found = {
            name: [strategy("s", name)("t", is_key, "a.B") for is_key in (True, False)]
            for name in ("TopicNameStrategy", "RecordNameStrategy", "x.y.TopicRecordNameStrategy")
        }
        self.assertEqual(list(found.values()), [["t-key", "t-value"], ["a.B", "a.B"], ["t-a.B", "t-a.B"]])

    def test_no_name(self) -> None:
        """A schema without a name has no subject by record."""
        for name in ("RecordNameStrategy", "TopicRecordNameStrategy"):
            self.assertRaises(ValueError, strategy("s", name), "t", False, "")
        self.assertRaises(SettingError, strategy, "s", "Other")
