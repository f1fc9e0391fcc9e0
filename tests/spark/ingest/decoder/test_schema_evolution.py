"""The columns of a table after records with new fields."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.decoder import merged, widened
from kafkatx.spark.ingest.decoder.inference import MAX_FIELDS
from kafkatx.spark.ingest.table.columns import Column

A = Column("a", "bigint")


class WidenedTests(SynchronousTestCase):
    def test_types_stay(self) -> None:
        """Only what is new is added, at the ends."""
        drifts = [{"c": "bigint", "u": "struct<y:bigint>"}, {"u": "struct<y:double,x:string>", "c": "bigint"}]
        wider = widened([A, Column("u", "struct<x:bigint>")], drifts)
        self.assertEqual(wider, [A, Column("u", "struct<x:bigint,y:double>"), Column("c", "bigint")])

    def test_clashes(self) -> None:
        """The first of several names that Spark does not tell apart becomes a column, the others do not."""
        self.assertEqual(
            widened([A], [{"New": "bigint"}, {"new": "string"}, {"A": "string"}]),
            [A, Column("New", "bigint")],
        )

    def test_full(self) -> None:
        """A table with many columns gets no more."""
        many = [Column(f"c{number}", "bigint") for number in range(MAX_FIELDS - 1)]
        wider = widened(many, [{"x": "bigint"}, {"y": "bigint"}])
        self.assertEqual([column.name for column in wider[MAX_FIELDS - 1 :]], ["x"])

    def test_all_or_none(self) -> None:
        """None of a batch's new fields becomes a column if they have no room beside another's."""
        many = [Column(f"c{number}", "bigint") for number in range(MAX_FIELDS - 3)]
        wider = widened(
            many, [{"x": "bigint", "y": "bigint"}, {"p": "bigint", "q": "bigint"}, {"r": "bigint"}]
        )
        self.assertEqual([column.name for column in wider[MAX_FIELDS - 3 :]], ["x", "y", "r"])

    def test_clashes_in_structs(self) -> None:
        """Two batches with names in a known struct that Spark does not tell apart: the first one's stays."""
        known = [Column("u", "struct<x:bigint>")]
        wider = widened(known, [{"u": "struct<y:bigint>"}, {"u": "struct<Y:bigint>", "z": "bigint"}])
        self.assertEqual(wider, [Column("u", "struct<x:bigint,y:bigint>")])


class MergedTests(SynchronousTestCase):
    def test_several(self) -> None:
        """Drifts of several batches become one, of a type that all values fit."""
        drift = merged([A], [{"b": "bigint"}, {"b": "double", "c": "string"}])
        self.assertEqual(drift, {"b": "double", "c": "string"})

    def test_exclusive(self) -> None:
        """The first of several drifts that exclude each other counts."""
        self.assertEqual(merged([A], [{"new": "bigint"}, {"NEW": "bigint"}]), {"new": "bigint"})
