"""Tests of kafkatx.spark.ingest.decoder.inference."""

from __future__ import annotations

from datetime import date, datetime
from itertools import permutations
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.decoder.inference import MAX_DEPTH, MAX_FIELDS, MAX_NAME, Seen
from kafkatx.spark.ingest.table.columns import arrow_type, ddl_type


def seen(*values: Any) -> str | None:
    """The type that values have together, in words."""
    found = Seen()
    for value in values:
        found.add(value)
    kind = found.type()
    return None if kind is None else ddl_type(kind)


class SeenTests(SynchronousTestCase):
    def test_simple(self) -> None:
        """Each kind of value has its type."""
        for value, word in (
            (True, "boolean"),
            (0, "bigint"),
            ((1 << 63) - 1, "bigint"),
            (1 << 63, "string"),
            (-(1 << 63) - 1, "string"),
            (1.0, "double"),
            ("", "string"),
            (b"", "binary"),
            (datetime(2015, 5, 19), "timestamp"),
            (date(2015, 5, 19), "date"),
            (object(), "string"),
        ):
            self.assertEqual(seen(value), word)

    def test_nothing(self) -> None:
        """An object without values has no type, however it is nested."""
        nothing: tuple[Any, ...] = (None, [], {}, [None, []], {"a": {"b": [{}]}}, [[], {"a": None}])
        for value in nothing:
            self.assertIsNone(seen(value))
            self.assertEqual(seen(value, 5), "bigint")
            self.assertEqual(seen(5, value), "bigint")

    def test_together(self) -> None:
        """Whole numbers are numbers; everything else that differs is text."""
        for values, word in (
            ((1, 2.5), "double"),
            ((1, True), "string"),
            ((1, "x"), "string"),
            ((1, 2.5, "x"), "string"),
            (({"a": 1}, [1]), "string"),
            (({"a": 1}, 5), "string"),
            (([1], [2.5]), "array<double>"),
            (([1], ["x"]), "array<string>"),
            (([{"a": 1}], [{"b": "x"}]), "array<struct<a:bigint,b:string>>"),
            (({"a": 1}, {"a": 2.5, "b": []}, {"b": [1]}), "struct<a:double,b:array<bigint>>"),
        ):
            self.assertEqual(seen(*values), word)

    def test_any_order(self) -> None:
        """The type does not depend on what comes first, apart from the order of fields."""
        for values in (
            (1, 2.5, "x", {"a": 1}),
            ([1], [[1]], {"a": 1}),
            (1, 2, 2.5),
            ([{"a": 1}], [{"a": "x"}]),
        ):
            self.assertEqual(len({seen(*order) for order in permutations(values)}), 1)

    def test_lists_of_structs(self) -> None:
        """Fields of all elements are gathered."""
        self.assertEqual(
            seen([{"a": 1}, {}, {"b": {"c": True}}]), "array<struct<a:bigint,b:struct<c:boolean>>>"
        )

    def test_bad_names(self) -> None:
        """An object is text if a field of it could not be a column; names are told apart as Spark does."""
        for value in ({"": 1}, {"x" * (MAX_NAME + 1): 1}, {"\ud800": 1}, {"a": 1, "A": 2}):
            self.assertEqual(seen({"f": value}), "struct<f:string>", value)
        self.assertEqual(seen({"f": {"a": 1}}, {"f": {"A": 1}}), "struct<f:string>")

    def test_deep(self) -> None:
        """An object that is nested too deeply is text."""
        value: Any = 1
        for _ in range(MAX_DEPTH + 5):
            value = {"a": value}
        word = seen(value) or ""
        self.assertEqual(word.count("struct"), MAX_DEPTH)
        self.assertIn("a:string", word)
        empty: list[Any] = []
        for _ in range(500):
            empty = [empty]
        self.assertEqual((seen(empty) or "").count("array"), MAX_DEPTH)

    def test_map_like(self) -> None:
        """An object whose names are data, one for each record, becomes text and not a thousand columns."""
        found = Seen()
        for number in range(2 * MAX_FIELDS):
            found.add({"names": {f"name-{number}": 1}, "id": number})
        self.assertEqual(ddl_type(found.fields()["names"]), "string")

    def test_types(self) -> None:
        """Types that others have seen count as the values that they saw."""
        for first, second, word in (
            ("bigint", "double", "double"),
            ("array<bigint>", "array<string>", "array<string>"),
            ("struct<a:bigint>", "struct<b:boolean,a:double>", "struct<a:double,b:boolean>"),
            ("struct<a:bigint>", "array<bigint>", "string"),
            ("struct<a:bigint>", "struct<A:bigint>", "string"),
            ("bigint", "struct<a:bigint>", "string"),
            ("date", "date", "date"),
        ):
            found = Seen()
            found.add_type(arrow_type(first))
            found.add_type(arrow_type(second))
            kind = found.type()
            self.assertEqual(ddl_type(kind), word, (first, second))
