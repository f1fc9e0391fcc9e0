"""Tests of kafkatx.schemas.messages.plain."""

from __future__ import annotations

import dataclasses
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.plain import field_names, plain


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: int
    y: Any = None


@attrs.frozen
class Line:
    """An attrs class."""

    points: list[Point]


class PlainTests(SynchronousTestCase):
    def test_objects(self) -> None:
        """Dataclasses and attrs classes become dicts, however deep they are."""
        made = plain({"lines": [Line([Point(1, Point(2))])], "pair": ("a.B", Point(3))})
        point = {"x": 2, "y": None}
        self.assertEqual(
            made, {"lines": [{"points": [{"x": 1, "y": point}]}], "pair": ("a.B", {"x": 3, "y": None})}
        )

    def test_others(self) -> None:
        """Other values stay the same."""
        for value in (1, "a", None, b"x", object()):
            self.assertIs(plain(value), value)
        self.assertIsNone(field_names(object))

    def test_circle(self) -> None:
        """A value that contains itself is an error, not the end of the process."""
        circle: list[Any] = []
        circle.append(circle)
        self.assertRaises(ValueError, plain, circle)
