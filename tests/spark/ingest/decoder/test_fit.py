"""Values converted for columns of lists and structs, and the fields that have no column."""

from __future__ import annotations

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.decoder.fit import Fit, fit_of, room_beside, table_fit
from kafkatx.spark.ingest.decoder.inference import ELEMENT, MAX_FIELDS
from kafkatx.spark.ingest.decoder.scalars import Misfit
from kafkatx.spark.ingest.table.columns import Column, arrow_type


def fit(text: str) -> Fit:
    """Return the conversion for a type in words."""
    return fit_of(arrow_type(text))


class FitTests(SynchronousTestCase):
    def test_nested(self) -> None:
        """Lists are converted by element, structs by field; a field that is missing is null."""
        found = fit("array<struct<a:bigint,b:string>>").fit([{"a": 2.0}, {"b": 7}, None])
        self.assertEqual(found, [{"a": 2, "b": None}, {"a": None, "b": "7"}, None])

    def test_map(self) -> None:
        """A list of keys and values takes an object, too."""
        found = fit("array<struct<key:string,value:bigint>>").fit({"x": 1})
        self.assertEqual(found, [{"key": "x", "value": 1}])

    def test_misfits(self) -> None:
        """The error names the way to the value that does not fit."""
        for text, value, reason in (
            ("array<bigint>", 7, "7 is no list"),
            ("struct<a:bigint>", [1], "is no object"),
            ("struct<a:array<bigint>>", {"a": [1, "x"]}, "a.*'x'"),
        ):
            self.assertRaisesRegex(Misfit, reason, fit(text).fit, value)

    def test_leaves(self) -> None:
        """A type's leaves are the simple columns that it is made of."""
        self.assertEqual(fit("struct<a:array<struct<x:int,y:int>>,b:string>").leaves, 3)


class UnknownTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """Each field without a column comes with the path to it; one without a value does not."""
        known = fit("struct<a:array<struct<x:bigint>>>")
        value = {"a": [{"x": 1, "y": 2}], "b": 3, "c": None}
        found = sorted(known.unknown(value, (), 9), key=str)
        self.assertEqual(found, sorted([(("b",), 3), (("a", ELEMENT, "y"), 2)], key=str))

    def test_impossible(self) -> None:
        """A field that cannot become a column is refused, with the reason."""
        for name, room, reason in (("A", 9, "upper and lower case"), ("b", 0, "columns or more already")):
            with self.assertRaisesRegex(Misfit, reason):
                list(fit("struct<a:bigint>").unknown({name: 1}, (), room))


class TableFitTests(SynchronousTestCase):
    def test_reserved(self) -> None:
        """No field takes the name of a column that is not the decoder's."""
        table = table_fit((Column("a", "bigint"),), ("kafka_topic",))
        with self.assertRaisesRegex(Misfit, "another column"):
            list(table.unknown({"Kafka_Topic": "t"}, (), table.room))

    def test_room(self) -> None:
        """The room is what the table's simple columns leave, and never negative."""
        self.assertEqual(table_fit((Column("a", "struct<x:int,y:int>"),), ()).room, MAX_FIELDS - 2)
        self.assertEqual(room_beside(MAX_FIELDS + 5), 0)

    def test_natural(self) -> None:
        """A simple column knows the Python types that Arrow converts by itself."""
        self.assertIn(int, fit_of(pa.int64()).natural)
        self.assertNotIn(str, fit_of(pa.int64()).natural)
