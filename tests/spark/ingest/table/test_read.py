"""The files of a table that a reader finds."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.errors import TableDamaged
from kafkatx.spark.ingest.table import read
from kafkatx.spark.ingest.table.commits import all_manifests
from kafkatx.spark.ingest.table.manifest import DATA
from kafkatx.spark.ingest.table.read import _located, read_table
from tests.spark.ingest.memory import MemoryFiles
from tests.spark.ingest.table.test_table import ingest


class LocatedTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Ingest a table of several commits."""
        self.files = MemoryFiles()
        ingest(self.files)
        self.manifests = all_manifests(self.files)
        self.data = [file for item in self.manifests for file in item.files if file.kind == DATA]

    def test_in_place(self) -> None:
        """Committed files are in the table's folders; dead letters are not among them."""
        found = _located(self.files, self.manifests, False)
        self.assertEqual(found, {"": [file.path for file in self.data]})

    def test_staged(self) -> None:
        """A committed file that was not moved yet is found in its staging directory."""
        file = self.data[0]
        self.files.create_dir(file.staged.rpartition("/")[0])
        self.files.move(file.path, file.staged)
        found = _located(self.files, self.manifests, False)
        (staging,) = found.keys() - {""}
        self.assertEqual(found[staging], [file.staged])

    def test_gone(self) -> None:
        """A file that was deleted is an error, unless it is to be left out."""
        self.files.remove(self.data[0].path)
        self.assertRaisesRegex(TableDamaged, "is gone", _located, self.files, self.manifests, False)
        found = _located(self.files, self.manifests, True)
        self.assertEqual(len(found[""]), len(self.data) - 1)


class ReadTableTests(SynchronousTestCase):
    def test_nothing_ingested(self) -> None:
        """A directory without commits is an error."""
        spark: Any = None
        self.patch(read, "open_files", lambda directory: MemoryFiles())
        self.assertRaisesRegex(TableDamaged, "nothing was ingested", read_table, spark, "memory")

    def test_avro(self) -> None:
        """A table of Avro is refused, with what reads it."""
        spark: Any = None
        files = MemoryFiles()
        ingest(files)
        last = all_manifests(files)[-1]
        self.patch(read, "open_files", lambda directory: files)
        self.patch(read, "all_manifests", lambda files: [attrs.evolve(last, format="avro")])
        self.assertRaisesRegex(SettingError, "spark-avro", read_table, spark, "memory")
