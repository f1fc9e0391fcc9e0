"""Fields: the parts that descriptors derive."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.types import InvalidSchema
from tests.schemas.protobuf.documents import message, parsed


class FieldsTests(SynchronousTestCase):
    def test_map(self) -> None:
        """A map is a repeated field of an entry, whose name is in camel case."""
        (found,) = parsed(message("map<string, int32> my_map_2 = 1;")).file.message_type
        (entry,) = found.nested_type
        self.assertEqual((entry.name, entry.options.map_entry), ("MyMap2Entry", True))
        self.assertEqual(found.field[0].type_name, ".Order.MyMap2Entry")
        self.assertEqual([field.name for field in entry.field], ["key", "value"])

    def test_optional(self) -> None:
        """An optional field of proto3 has a oneof of its own, after the others, with a name that is free."""
        body = "optional int32 a = 1; oneof x { int32 b = 2; } optional int32 _a = 3;"
        (found,) = parsed(message(body)).file.message_type
        self.assertEqual([one.name for one in found.oneof_decl], ["x", "X_a", "XX_a"])
        self.assertEqual([field.oneof_index for field in found.field], [1, 0, 2])

    def test_defaults(self) -> None:
        """A default of another type is refused, where that can be seen."""
        for body in (
            'optional int32 a = 1 [default = "x"];',
            "optional int32 a = 1 [default = x];",
            "optional bool a = 1 [default = 1];",
        ):
            self.assertRaises(InvalidSchema, parsed, message(body, syntax="proto2"))

    def test_map_key(self) -> None:
        """Keys of maps are whole numbers, flags or texts."""
        for key in ("double", "bytes", "Order"):
            self.assertRaises(InvalidSchema, parsed, message(f"map<{key}, int32> a = 1;"))
