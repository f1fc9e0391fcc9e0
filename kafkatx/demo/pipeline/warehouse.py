"""The table that the ingestion has loaded, as its commits tell, without Spark. Reads files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kafkatx.audit.files import BadTable
from kafkatx.demo.pipeline.delays import Delays
from kafkatx.spark.ingest.table.commits import manifest_commits, manifest_path, read_manifest
from kafkatx.spark.ingest.table.files import open_files
from kafkatx.spark.ingest.table.manifest import DATA, Manifest

TIMESTAMP = "timestamp"


class Warehouse:
    """A table of Parquet files; manifests are read once.

    :ivar commits: all manifests that were found so far.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._files = open_files(directory)
        self.commits: list[Manifest] = []

    def rows(self) -> int:
        """Return the number of rows that are committed now."""
        for number in manifest_commits(self._files)[len(self.commits) :]:
            self.commits.append(read_manifest(self._files, number))
        return sum(manifest.rows for manifest in self.commits)

    def delays(self, first: int = 0) -> Delays:
        """Return the time from each record's timestamp to the commit of its row.

        A row is visible as soon as its manifest has got its name, the last change of the file's status.

        :param first: number of commits to leave out at the beginning.
        :raises BadTable: pyarrow is not installed.
        """
        self.rows()
        return Delays.merged(self.delays_of(manifest).to_object() for manifest in self.commits[first:])

    def delays_of(self, manifest: Manifest) -> Delays:
        """Return the delays of one commit's records."""
        delays, seen_ms = Delays(), self.visible_ms(manifest)
        for timestamp_ms, count in self._timestamps(manifest):
            delays.add(seen_ms - timestamp_ms, count)
        return delays

    def visible_ms(self, manifest: Manifest) -> int:
        """Return when a commit became visible, in ms since the epoch."""
        path = os.path.join(self._directory, manifest_path(manifest.commit))
        return os.stat(path).st_ctime_ns // 1_000_000

    def _timestamps(self, manifest: Manifest) -> Iterator[tuple[int, int]]:
        """Yield each timestamp in ms of a commit's rows, and their number."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise BadTable("to read a table pyarrow is needed: pip install 'kafkatx[spark]'") from error
        for file in manifest.files:
            if file.kind == DATA:
                with parquet.ParquetFile(os.path.join(self._directory, file.path)) as opened:
                    column = opened.read([TIMESTAMP]).column(0)
                in_ms = column.cast(pyarrow.timestamp("ms", column.type.tz), safe=False)
                for found in in_ms.cast(pyarrow.int64()).value_counts().to_pylist():
                    yield found["values"], found["counts"]
