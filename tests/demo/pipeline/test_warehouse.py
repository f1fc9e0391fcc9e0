"""Tests of kafkatx.demo.pipeline.warehouse, with a table of two commits."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow
from pyarrow import parquet
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline.warehouse import Warehouse
from kafkatx.spark.ingest.table.commits import manifest_path
from kafkatx.spark.ingest.table.manifest import DATA, DEAD, Manifest, TableFile

BEGAN_MS = 1_700_000_000_000


class WarehouseTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a directory without a table."""
        self.folder = Path(self.mktemp()).resolve()
        (self.folder / "_kafkatx/commits").mkdir(parents=True)
        self.warehouse = Warehouse(str(self.folder))

    def commit(self, number: int, times_ms: list[int], previous: str = "") -> None:
        """Commit rows with these timestamps, and a dead letter."""
        kind = pyarrow.timestamp("us", "UTC")
        column = pyarrow.array([time_ms * 1000 + 999 for time_ms in times_ms], pyarrow.int64()).cast(kind)
        parquet.write_table(pyarrow.table({"timestamp": column}), self.folder / f"{number}.parquet")
        files = (
            TableFile("", DATA, len(times_ms), 1, path=f"{number}.parquet"),
            TableFile("", DEAD, 1, 1, path="none"),
        )
        made = Manifest(number, 0, "parquet", (), None, (), {}, {}, {}, files, previous)
        (self.folder / manifest_path(number)).write_bytes(made.to_json())

    def test_nothing(self) -> None:
        """A table that is not there yet has no rows and no delays."""
        self.assertEqual((self.warehouse.rows(), self.warehouse.delays().count), (0, 0))

    def test_rows(self) -> None:
        """Rows are counted commit by commit, without dead letters."""
        self.commit(1, [BEGAN_MS] * 3)
        self.assertEqual(self.warehouse.rows(), 3)
        self.commit(2, [BEGAN_MS] * 4)
        self.assertEqual(self.warehouse.rows(), 7)
        self.assertEqual([one.commit for one in self.warehouse.commits], [1, 2])

    def test_delays(self) -> None:
        """A delay is from the timestamp, in ms, to the manifest's name; commits at the beginning may be left
        out.
        """
        self.commit(1, [BEGAN_MS, BEGAN_MS, BEGAN_MS + 10])
        self.commit(2, [BEGAN_MS + 20])
        seen_ms = os.stat(self.folder / manifest_path(1)).st_ctime_ns // 1_000_000
        self.warehouse.rows()
        found = self.warehouse.delays_of(self.warehouse.commits[0]).to_object()
        self.assertEqual(found, {str(seen_ms - BEGAN_MS): 2, str(seen_ms - BEGAN_MS - 10): 1})
        self.assertEqual(self.warehouse.delays().count, 4)
        self.assertEqual(self.warehouse.delays(first=1).count, 1)
