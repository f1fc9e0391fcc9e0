"""Compatibility levels: which of the previous schemas count, and which of the two reads."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.compatibility import CompatibilityLevel, check
from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import ParsedSchema, Schema, SchemaType

Level = CompatibilityLevel


def record(*fields: str) -> ParsedSchema:
    """Return a record with these fields, each ``name`` or ``name=default``, of type string."""
    parts = []
    for field in fields:
        name, _, default = field.partition("=")
        rest = f', "default": "{default}"' if default else ""
        parts.append(f'{{"name": "{name}", "type": "string"{rest}}}')
    text = f'{{"type": "record", "name": "r", "fields": [{", ".join(parts)}]}}'
    return engine(SchemaType.AVRO).parse(Schema(text), {})


A = record("a")
A_B = record("a", "b")
A_B_DEFAULT = record("a", "b=x")


class CompatibilityTests(SynchronousTestCase):
    def broken(self, new: ParsedSchema, *previous: ParsedSchema) -> set[str]:
        """Return the levels that *new* breaks."""
        return {level.value for level in Level if check(level, new, previous)}

    def test_none_before(self) -> None:
        """The first schema keeps each level."""
        self.assertEqual(self.broken(A), set())

    def test_added_without_default(self) -> None:
        """A new field without a default is read by old readers only."""
        self.assertEqual(self.broken(A_B, A), {"BACKWARD", "BACKWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"})

    def test_removed_without_default(self) -> None:
        """Without a field that had no default old data can be read, and old readers cannot read."""
        self.assertEqual(self.broken(A, A_B), {"FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"})

    def test_transitive(self) -> None:
        """Levels that are transitive see schemas before the latest, the others do not."""
        self.assertEqual(self.broken(A_B, A_B_DEFAULT, A), {"BACKWARD_TRANSITIVE", "FULL_TRANSITIVE"})
        self.assertEqual(self.broken(A, A_B_DEFAULT, A_B), {"FORWARD_TRANSITIVE", "FULL_TRANSITIVE"})

    def test_reasons(self) -> None:
        """A reason tells the position of the old schema, and which of the two is the reader."""
        backward = check(Level.BACKWARD_TRANSITIVE, A_B, [A_B_DEFAULT, A])
        self.assertEqual([(one.position, one.direction) for one in backward], [(1, Level.BACKWARD)])
        self.assertEqual(
            str(backward[0]),
            "the new schema (reader) cannot read data of the old one (writer): "
            "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/1: "
            "the reader's field b has no default, and the writer has no such field",
        )
        forward = check(Level.FULL, A, [A_B])
        self.assertEqual([one.direction for one in forward], [Level.FORWARD])
        self.assertIn("the old schema (reader) cannot read", str(forward[0]))
