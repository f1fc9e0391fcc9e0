"""Values that make no folder's name."""

from __future__ import annotations

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.decoder.folder_names import FolderNames


class FolderNamesTests(SynchronousTestCase):
    def test_refused(self) -> None:
        """A row is refused if its escaped value is too long for a name; others, and nulls, are not."""
        column = pa.array(["a", "x" * 300, None, "/" * 100, "x" * 300])
        found = dict(FolderNames(["city"]).refused({"city": column}))
        self.assertEqual(sorted(found), [1, 3, 4])
        self.assertIn("partition-by city", found[1])

    def test_not_looked_at(self) -> None:
        """Date and hour, columns that are absent, and those that are not text are never refused."""
        names = FolderNames(["date", "hour", "city", "number"])
        self.assertEqual(list(names.refused({"number": pa.array([1]), "date": pa.array(["x" * 999])})), [])

    def test_conflict(self) -> None:
        """A new field conflicts by its name in other case, by its type, or by the length of its value."""
        names = FolderNames(["city"])
        for name, value, reason in (
            ("City", "a", "same name to Spark"),
            ("city", {"a": 1}, "makes no folder's name"),
            ("city", "x" * 300, "bytes"),
        ):
            self.assertIn(reason, names.conflict_of(name, value) or "")
        fine: list[tuple[object, object]] = [("town", {"a": 1}), ("city", "Rome"), (7, "x")]
        for found, content in fine:
            self.assertIsNone(names.conflict_of(found, content))
