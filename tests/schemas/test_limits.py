"""The limits of schemas that need no parsing."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.limits import MAX_REFERENCES, MAX_SIZE_BYTES, check_sizes
from kafkatx.schemas.types import InvalidSchema, Reference, Schema


class LimitsTests(SynchronousTestCase):
    def reason(self, schema: Schema, dependencies: dict[str, Schema]) -> str:
        """Return why a schema is refused."""
        return str(self.assertRaises(InvalidSchema, check_sizes, schema, dependencies))

    def test_size(self) -> None:
        """A text is measured in bytes; the largest passes, one byte more does not."""
        check_sizes(Schema("ü" * (MAX_SIZE_BYTES // 2)), {})
        self.assertIn("1000001 bytes", self.reason(Schema("ü" * (MAX_SIZE_BYTES // 2) + "x"), {}))
        self.assertIn("'far'", self.reason(Schema(""), {"far": Schema("x" * (MAX_SIZE_BYTES + 1))}))

    def test_total(self) -> None:
        """The schema with all that it depends on is bounded, too."""
        large = Schema("x" * MAX_SIZE_BYTES)
        check_sizes(large, {str(number): large for number in range(9)})
        self.assertIn("11000000 bytes", self.reason(large, {str(number): large for number in range(10)}))

    def test_references(self) -> None:
        """More references, direct or not, than allowed are refused."""
        many = MAX_REFERENCES + 1
        self.assertIn(
            "101 references", self.reason(Schema("", references=(Reference("", "", 1),) * many), {})
        )
        self.assertIn("101 others", self.reason(Schema(""), {str(one): Schema("") for one in range(many)}))

    def test_half_a_character(self) -> None:
        """A text that is no Unicode is refused with the place."""
        self.assertIn("half a character at 2", self.reason(Schema("ab\ud800"), {}))
