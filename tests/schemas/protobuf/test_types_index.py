"""Names of types: found from the place where they stand."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.types import InvalidSchema
from tests.schemas.protobuf.documents import parsed

NESTED = """
syntax = "proto3"; package a.b;
message C {
  message D { C up = 1; D self = 2; E near = 3; b.E far = 4; .a.b.E full = 5; Q other = 6; message E {} }
}
message E {}
enum Q { Z = 0; }
"""


class TypesIndexTests(SynchronousTestCase):
    def test_scopes(self) -> None:
        """The nearest type of a name is meant; a name with a dot in front is full."""
        inner = parsed(NESTED).file.message_type[0].nested_type[0]
        self.assertEqual(
            [field.type_name for field in inner.field],
            [".a.b.C", ".a.b.C.D", ".a.b.C.D.E", ".a.b.E", ".a.b.E", ".a.b.Q"],
        )
        self.assertEqual(inner.field[5].type, inner.field[5].TYPE_ENUM)

    def test_missing(self) -> None:
        """A name of no type is refused with the field that has it."""
        for text in (
            'syntax = "proto3"; message A { B b = 1; }',
            'syntax = "proto3"; message A { .x.A b = 1; }',
            "message A { } extend B { optional int32 b = 1; }",
            "service A { rpc b (C) returns (C); }",
        ):
            error = self.assertRaises(InvalidSchema, parsed, text)
            self.assertIn("which b has; is an import missing", str(error))

    def test_types(self) -> None:
        """The messages and enums of all files are listed by full name."""
        self.assertEqual(set(parsed(NESTED).types), {"a.b.C", "a.b.C.D", "a.b.C.D.E", "a.b.E", "a.b.Q"})
