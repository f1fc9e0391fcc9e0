"""Assignors by name, as settings choose them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientside.assignors import COOPERATIVE_STICKY, RANGE, ROUND_ROBIN, STICKY, Assignor, named
from kafkatx.errors import SettingError


class NamedTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Kafka's names, in the order in which they are given."""
        chosen = named(["sticky", "range", "roundrobin", "cooperative-sticky"])
        self.assertEqual(chosen, (STICKY, RANGE, ROUND_ROBIN, COOPERATIVE_STICKY))

    def test_java(self) -> None:
        """The class names of Java settings are understood."""
        self.assertEqual(
            named(["org.apache.kafka.clients.consumer.CooperativeStickyAssignor"]), (COOPERATIVE_STICKY,)
        )

    def test_object(self) -> None:
        """One may be an object."""
        own = Assignor("own", lambda members, partitions: {})
        self.assertEqual(named([own, "range"]), (own, RANGE))

    def test_wrong(self) -> None:
        """An unknown name is an error that names the nearest; so are no name, and one twice."""
        error = self.assertRaises(SettingError, named, ["stiky"])
        self.assertIn("did you mean sticky?", str(error))
        self.assertRaises(SettingError, named, [])
        self.assertRaises(SettingError, named, ["range", RANGE])
