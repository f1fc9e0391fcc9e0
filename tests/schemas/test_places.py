"""Places in messages."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.places import below


class PlacesTests(SynchronousTestCase):
    def test_escapes(self) -> None:
        """A part with a slash or a tilde is escaped as in a JSON pointer."""
        self.assertEqual(below("/a", "b/c~", 1), "/a/b~1c~0/1")

    def test_bound(self) -> None:
        """A long place ends with an ellipsis, and does not grow any more."""
        place = ""
        for _ in range(1000):
            place = below(place, "properties")
        self.assertEqual(len(place), 401)
        self.assertTrue(place.endswith("…"))
