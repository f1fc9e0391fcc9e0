"""Rejected records leave no trace in the columns."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.decoder.inference import MAX_FIELDS
from kafkatx.spark.ingest.table.columns import Column
from tests.spark.ingest.decoder.batches import documents, reasons, rows, settled, types


class RoomTests(SynchronousTestCase):
    def test_too_many_fields_in_one(self) -> None:
        """One record with more fields than a table gets leaves no trace: all others become rows."""
        monster = {f"f{n}": 1 for n in range(MAX_FIELDS + 1)}
        for found in ([monster, {"a": 1}], [{"a": 1}, monster], [{"u": {"x": 1}}, {"u": monster, "a": 2}]):
            decoding, decoded = settled([documents(*found), documents({"b": 2}, monster)])
            self.assertLessEqual(len(types(decoding)), 4)
            self.assertEqual([row["b"] for item in decoded for row in rows(item) if row.get("b")], [2])
            self.assertIn(f"{MAX_FIELDS + 1} new fields, as 'f0'", reasons(decoded[1])[1])

    def test_room_is_used_up_by_rows_only(self) -> None:
        """Records that together have too many fields: each has all its columns, or none."""
        halves = [{f"{name}{n}": 1 for n in range(600)} for name in "abc"]
        for batches in (
            [documents(*halves, {"x": 1})],
            [documents(half) for half in (*halves, {"x": 1})],
            [documents(halves[0], {"x": 1}), documents(*halves[1:])],
        ):
            decoding, decoded = settled(batches)
            names = {name[0] for name in types(decoding)}
            self.assertEqual((names, len(types(decoding))), ({"a", "x"}, 601))
            self.assertEqual(sum(len(reasons(item)) for item in decoded), 2)

    def test_clash_leaves_no_trace(self) -> None:
        """A record that is rejected for one of its names brings no other column, in whatever batch it is."""
        good, bad = {"a": 1, "u": {"x": 1}}, {"A": 1, "new": 1}
        for batches in ([documents(good, bad)], [documents(good), documents(bad)]):
            decoding, decoded = settled(batches)
            self.assertEqual(set(types(decoding)), {"a", "u"})
            self.assertEqual(sum(len(reasons(item)) for item in decoded), 1)
        known = [Column("u", "struct<x:bigint>")]
        decoding, decoded = settled([documents({"u": {"y": 1}}), documents({"u": {"Y": 1}, "new": 1})], known)
        self.assertEqual(types(decoding), {"u": "struct<x:bigint,y:bigint>"})

    def test_map_like(self) -> None:
        """A new object whose names are data becomes text and costs no record, also over batches."""
        found = [{"names": {f"name-{n}": 1}, "id": n} for n in range(2 * MAX_FIELDS)]
        for batches in (
            [documents(*found)],
            [documents(*found[at : at + 300]) for at in range(0, len(found), 300)],
        ):
            decoding, decoded = settled(batches)
            self.assertEqual(types(decoding), {"names": "string", "id": "bigint"})
            self.assertEqual([reasons(item) for item in decoded], [{}] * len(batches))
