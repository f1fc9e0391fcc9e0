"""Tests of kafkatx.schemas.messages.avro.logical_types; values are compared in test_resolution."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.avro_format import parse
from kafkatx.schemas.messages.avro.logical_types import annotation, converted, most_digits, reading_annotation
from kafkatx.schemas.types import Schema


class AnnotationTests(SynchronousTestCase):
    def found(self, type_: str, **attributes: Any) -> dict[str, Any]:
        """Return the annotation of a type that counts."""
        return annotation(parse(Schema(json.dumps({"type": type_, **attributes})), {}))

    def test_valid(self) -> None:
        """An annotation has its parameters; a scale that is left out is 0."""
        self.assertEqual(self.found("int", logicalType="date"), {"logicalType": "date"})
        decimal = {"logicalType": "decimal", "precision": 9}
        self.assertEqual(self.found("bytes", **decimal), {**decimal, "scale": 0})

    def test_invalid(self) -> None:
        """An annotation that breaks a rule is ignored."""
        for attributes in ({}, {"precision": "9"}, {"precision": True}, {"precision": 9.0}, {"precision": 0}):
            self.assertEqual(self.found("bytes", logicalType="decimal", **attributes), {})
        for scale in (10, -1, "2", None):
            self.assertEqual(self.found("bytes", logicalType="decimal", precision=9, scale=scale), {})
        self.assertEqual(self.found("long", logicalType="date"), {})
        self.assertEqual(self.found("long", logicalType=["date"]), {})

    def test_digits(self) -> None:
        """A fixed has room for the digits of the largest number that it always holds."""
        for size in (0, 1, 2, 4, 8, 16, 40, 400):
            largest = (1 << (8 * size - 1)) - 1 if size else 0
            digits = most_digits(size)
            self.assertLessEqual(10**digits - 1, largest)
            self.assertGreater(10 ** (digits + 1) - 1, largest)

    def test_exact(self) -> None:
        """A decimal of many digits is exact; one with more than its precision has no value."""
        leaf = {"type": "bytes", **reading_annotation(parse(Schema(json.dumps(WIDE)), {}))}
        unscaled = 10**60 - 1
        value = converted(leaf, unscaled.to_bytes(26, "big"))
        self.assertEqual(value, Decimal((0, (9,) * 60, -30)))
        self.assertRaises(ValueError, converted, leaf, (10**60).to_bytes(26, "big"))

    def test_precision_beyond_the_data(self) -> None:
        """A precision that no record can fill costs nothing; other numbers are compared with it."""
        self.assertEqual(str(converted(decimal_of(10**9, 10**9), b"\5")), "5E-1000000000")
        self.assertEqual(converted(decimal_of(10**9), b""), 0)
        for precision, number in ((2, 99), (2, -99), (4, 9999), (5, 32767)):
            leaf = decimal_of(precision)
            self.assertEqual(converted(leaf, number.to_bytes(2, "big", signed=True)), number)
        for number in (100, -100):
            self.assertRaises(ValueError, converted, decimal_of(2), number.to_bytes(1, "big", signed=True))


WIDE = {"type": "bytes", "logicalType": "decimal", "precision": 60, "scale": 30}


def decimal_of(precision: int, scale: int = 0) -> dict[str, Any]:
    """Return the schema of a decimal for fastavro's reader."""
    text = json.dumps({**WIDE, "precision": precision, "scale": scale})
    return {"type": "bytes", **reading_annotation(parse(Schema(text), {}))}
