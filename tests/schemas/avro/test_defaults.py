"""Default values: which are values of their types."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.json_text import JSON
from kafkatx.schemas.types import InvalidSchema
from tests.schemas.avro.documents import array, enum, field, fixed, mapping, parsed, record

POINT = record(field("x", "int"), field("y", "int", default=0), name="p")

GOOD: list[tuple[JSON, JSON]] = [
    ("null", None),
    ("boolean", True),
    ("int", -(2**31)),
    ("long", 2**63 - 1),
    ("float", 1),
    ("double", 0.5),
    ("bytes", "\u00ff"),
    ("string", ""),
    (enum("a"), "a"),
    (fixed(1), "x"),
    (array("int"), [1, 2]),
    (mapping("int"), {"a": 1}),
    (["null", "int"], None),
    (["null", "int"], 1),
    (["int", "null"], None),
    (POINT, {"x": 1}),
    (array(POINT), [{"x": 1, "y": 2}]),
    (["null", POINT], {"x": 1}),
]

BAD: list[tuple[JSON, JSON]] = [
    ("null", "null"),
    ("boolean", 1),
    ("int", 2**31),
    ("int", 1.0),
    ("int", True),
    ("int", "1"),
    ("long", 2**63),
    ("double", "1"),
    ("string", None),
    ("bytes", 1),
    (array("int"), 1),
    (array("int"), [1, "2"]),
    (mapping("int"), [1]),
    (mapping("int"), {"a": None}),
    (["null", "int"], "1"),
    ([], None),
    (POINT, {}),
    (POINT, {"x": 1, "y": None}),
    (POINT, None),
]


class DefaultsTests(SynchronousTestCase):
    def test_good(self) -> None:
        """Values of the type, or of any branch of a union, are taken."""
        for type_, default in GOOD:
            parsed(record(field("f", type_, default=default)))

    def test_bad(self) -> None:
        """Other values are refused, with the field and the type; a stored schema may have them."""
        for type_, default in BAD:
            document = record(field("f", type_, default=default))
            error = self.assertRaises(InvalidSchema, parsed, document)
            self.assertIn("of the field f of r is no value of its type", str(error), (type_, default))
            parsed(document, stored=True)

    def test_recursive(self) -> None:
        """A record within itself may have a default that has defaults."""
        parsed(record(field("next", ["null", "r"], default={}), name="r"))
        parsed(record(field("next", "r", default={"next": {}}), name="r"))

    def test_branches(self) -> None:
        """Unions in unions of records do not multiply the work."""
        default: JSON = {"f": 1}
        for _ in range(60):
            default = {"f": default}
        both = [record(field("f", "string"), name="c"), record(field("f", "boolean"), name="d")]
        a = record(field("f", [*both]), name="a")
        root = record(
            field("f", [a, record(field("f", ["null", "a", "b"]), name="b")]),
            field("g", ["a", "b"], default=default),
        )
        self.assertRaises(InvalidSchema, parsed, root)

    def test_bound(self) -> None:
        """Values times branches are bounded."""
        branches = [record(field("z", "int"), name=f"b{number}") for number in range(3000)]
        root = record(field("f", array([*branches]), default=[{"z": ""} for _ in range(300)]))
        many = record(*(field(f"f{number}", {"type": "array", "items": "int"}) for number in range(3)))
        parsed(many)
        self.assertRaises(InvalidSchema, parsed, root)
