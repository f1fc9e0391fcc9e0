"""Assignors by name, as settings choose them."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.group.assignors import (
    COOPERATIVE_STICKY,
    RANGE,
    ROUND_ROBIN,
    STICKY,
    Assignor,
    assignors_of,
)
from kafkatx.errors import SettingError


class Own:
    """A third party's assignor."""

    name = "own"
    cooperative = True

    def assign(self, members: Any, partitions: Any) -> Any:
        """Return an empty assignment of one member."""
        return {"m": []}

    def user_data(self, owned: Any, generation: int) -> bytes:
        """Return the generation."""
        return b"%d" % generation


class NamedTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Kafka's names are accepted, in the order in which they are given."""
        chosen = assignors_of(["sticky", "range", "roundrobin", "cooperative-sticky"])
        self.assertEqual(chosen, (STICKY, RANGE, ROUND_ROBIN, COOPERATIVE_STICKY))

    def test_java(self) -> None:
        """The class names of Java settings are understood."""
        self.assertEqual(
            assignors_of(["org.apache.kafka.clients.consumer.CooperativeStickyAssignor"]),
            (COOPERATIVE_STICKY,),
        )

    def test_object(self) -> None:
        """An assignor object is accepted, also without a list."""
        own = Assignor("own", lambda members, partitions: {})
        self.assertEqual(assignors_of([own, "range"]), (own, RANGE))
        self.assertEqual(assignors_of(own), (own,))

    def test_shape(self) -> None:
        """An object of another class is accepted, and a class too; one that lacks a method is refused."""
        for chosen in (Own(), Own, [Own]):
            (made,) = assignors_of(chosen)
            self.assertEqual((made.name, made.cooperative, made.user_data(None, 7)), ("own", True, b"7"))
            self.assertEqual(made.assign({}, {}), {"m": []})
        error = self.assertRaises(SettingError, assignors_of, object())
        self.assertIn("no name and no cooperative and no assign and no user_data", str(error))

    def test_installed(self) -> None:
        """Names are looked up where the caller says, except for Java class names."""
        self.assertEqual(assignors_of(["x"], {"x": Own()}.__getitem__)[0].name, "own")
        java = ["org.apache.kafka.clients.consumer.RangeAssignor"]
        self.assertEqual(assignors_of(java, {"x": Own()}.__getitem__), (RANGE,))

    def test_wrong(self) -> None:
        """An unknown name is an error that names the nearest; no name and a repeated name are errors."""
        error = self.assertRaises(SettingError, assignors_of, ["stiky"])
        self.assertIn("did you mean sticky?", str(error))
        self.assertRaises(SettingError, assignors_of, [])
        self.assertRaises(SettingError, assignors_of, ["range", RANGE])
