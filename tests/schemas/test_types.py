"""Tests of :mod:`kafkatx.schemas.types`."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.types import Reference, Schema, SchemaType


class SchemaTests(SynchronousTestCase):
    def test_identity(self) -> None:
        """Schemas are equal if text, type and references are; the type is Avro unless it is said."""
        self.assertEqual(Schema('"int"'), Schema('"int"', SchemaType.AVRO, ()))
        self.assertNotEqual(Schema('"int"'), Schema('"int"', SchemaType.JSON))
        self.assertNotEqual(Schema('"int"'), Schema('"int"', references=(Reference("a", "a-value", 1),)))
