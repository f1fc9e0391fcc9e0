"""Values of decoders as values of JSON."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import NamedTuple

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.formats.plain_values import DEEPEST, plain_value


class Point(NamedTuple):
    """A tuple with names."""

    x: int
    y: bytes


@dataclasses.dataclass
class Box:
    """An object with fields."""

    point: Point


class PlainValueTests(SynchronousTestCase):
    def test_kinds(self) -> None:
        """Times, bytes, tuples and objects become what filters know; Decimal stays a number."""
        number = uuid.UUID(int=1)
        value = {
            "when": datetime(2026, 11, 27, tzinfo=timezone.utc),
            "day": date(2026, 11, 27),
            "box": Box(Point(1, b"\xe9")),
            "list": (Decimal("1.5"), {1}, number),
            3: None,
        }
        self.assertEqual(
            plain_value(value),
            {
                "when": "2026-11-27T00:00:00+00:00",
                "day": "2026-11-27",
                "box": {"point": {"x": 1, "y": "é"}},
                "list": [Decimal("1.5"), [1], str(number)],
                "3": None,
            },
        )

    def test_deep(self) -> None:
        """A value that is nested too deeply, or contains itself, is an error."""
        value: list[object] = []
        value.append(value)
        self.assertIn(str(DEEPEST), str(self.assertRaises(ValueError, plain_value, value)))
