"""Tests of kafkatx.audit.files: which files belong to a table, and when they were committed."""

from __future__ import annotations

import json
import os

import attrs

from kafkatx.audit.tables import count_table
from kafkatx.spark.ingest.table.files import open_files
from kafkatx.spark.ingest.table.manifest import DATA, StagedFile
from kafkatx.spark.ingest.table.table import Table, placed
from tests.audit.test_tables import EMPTY, TableTestCase


class CommitTests(TableTestCase):
    """Tables of ``kafkatx ingest``."""

    def commit(self, number: int, written_ms: int, *names: str) -> None:
        """A manifest that lists these files, staged in a directory of its own."""
        listed = [{"path": name, "staged": f"_kafkatx/staging/{number}/{name}"} for name in names]
        with open(self.path(f"_kafkatx/commits/{number:012d}.json"), "w", encoding="utf-8") as file:
            json.dump({"version": 1, "written_ms": written_ms, "files": listed}, file)

    def test_published_or_not(self) -> None:
        """A committed file counts where it is; what is staged and not committed does not count."""
        self.write("part-1.parquet", [("t", 0, 0, 0)])
        self.write("_kafkatx/staging/2/part-2.parquet", [("t", 0, 1, 0)])
        self.write("_kafkatx/staging/3/part-3.parquet", [("t", 0, 2, 0)])
        self.write("_kafkatx/staging/1/part-1.parquet", [("t", 0, 0, 0)])
        self.commit(1, 5000, "part-1.parquet")
        self.commit(2, 7000, "part-2.parquet")
        self.assertEqual(self.counts(), {("t", 0): (2, 2)})
        count = count_table(self.directory, 1000).counts()["t", 0]
        self.assertEqual(count.written_ms, 7000)

    def test_ingestion(self) -> None:
        """Commits as an ingestion makes them, the last one killed before its files were moved."""
        table = Table(open_files(self.directory))
        table.open(EMPTY)
        for offset in (0, 1):
            staging = table.stage()
            self.write(f"{staging}/hour=00/a-data", [("t", 0, offset, 0)])
            size = os.path.getsize(self.path(f"{staging}/hour=00/a-data"))
            staged = StagedFile(f"{staging}/hour=00/a-data", DATA, 1, size, {"hour": "00"})
            number = table.next_commit
            files = placed([staged], number, "parquet")
            if offset:
                self.patch(table, "_put_in_place", lambda manifest: None)
                self.patch(table, "_remove_settled", lambda names: [])
            table.commit(staging, attrs.evolve(EMPTY, commit=number, written_ms=number * 100, files=files))
        self.assertEqual(self.counts(), {("t", 0): (2, 2)})
        self.assertEqual(count_table(self.directory, 1000).counts()["t", 0].written_ms, 200)

    def test_dead_letters(self) -> None:
        """Records that could not be decoded have arrived, too."""
        self.write("part-1.parquet", [("t", 0, 0, 0)], "kafka_")
        self.write_json("_dead_letters/part-1.json", [("t", 0, 1, 0)])
        self.assertEqual(self.counts(), {("t", 0): (2, 2)})

    def test_gone(self) -> None:
        """A table whose files are all gone has none of its records, and is a table."""
        self.commit(1, 5000, "part-1.parquet")
        self.assertEqual(self.counts(), {})

    def test_bad_manifest(self) -> None:
        """A commit that cannot be read is named."""
        self.commit(1, 5000)
        for text in ("{", "[]", '{"files": [{}]}', "[" * 100_000 + "]" * 100_000):
            with open(self.path("_kafkatx/commits/000000000001.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn("000000000001.json: this is not a commit", self.refused())
