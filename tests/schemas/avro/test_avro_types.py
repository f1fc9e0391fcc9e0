"""The values of Avro's types."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.avro.avro_types import PRIMITIVES, Fixed, Primitive


class AvroTypesTests(SynchronousTestCase):
    def test_names(self) -> None:
        """A full name is taken apart at its last dot."""
        names = [
            (one.namespace, one.simple_name)
            for one in (Fixed("a.b.c", frozenset(), {}, 1), Fixed("c", frozenset(), {}, 1))
        ]
        self.assertEqual(names, [("a.b", "c"), ("", "c")])

    def test_identity(self) -> None:
        """Types are compared by identity, since they may contain themselves."""
        one, other = (Primitive(kind, {}) for kind in ("null", "null"))
        self.assertNotEqual(one, other)
        self.assertIn(one.kind, PRIMITIVES)
