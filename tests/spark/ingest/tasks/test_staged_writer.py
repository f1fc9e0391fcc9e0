"""Rows into staged files: what is held and what is open are bounded."""

from __future__ import annotations

import errno
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.spark.ingest.options import Bounds
from kafkatx.spark.ingest.table.files import LocalFiles
from kafkatx.spark.ingest.table.formats import format_writer
from kafkatx.spark.ingest.table.manifest import DATA
from kafkatx.spark.ingest.tasks import staged_writer
from kafkatx.spark.ingest.tasks.staged_writer import StagedWriter

SCHEMA = pa.schema([("n", pa.int64())])
ROW_BYTES = 8


def batch(*numbers: int) -> Any:
    """Rows of these numbers."""
    return pa.record_batch([pa.array(numbers, pa.int64())], schema=SCHEMA)


class StagedWriterTests(SynchronousTestCase):
    def setUp(self) -> None:
        """An empty directory, and a look at which files are open."""
        self.files = LocalFiles(str(Path(self.mktemp()).resolve()))
        self.open = self.most_open = 0

        def noted(*arguments: Any) -> Any:
            writer, test = format_writer(*arguments), self
            test.open += 1
            test.most_open = max(test.most_open, test.open)
            close = writer.close

            def closed() -> None:
                test.open -= 1
                close()

            writer.close = closed  # type: ignore[method-assign]
            return writer

        self.patch(staged_writer, "format_writer", noted)

    def writer(self, **bounds: int) -> StagedWriter:
        """By hour."""
        return StagedWriter(
            self.files,
            "staging",
            SCHEMA,
            names=("hour",),
            kind=DATA,
            format="parquet",
            compression="none",
            bounds=Bounds(**bounds),
        )

    def rows(self, writer: StagedWriter) -> Counter[tuple[str | None, int]]:
        """Close the writer, check its report, and return the rows of all files."""
        found: Counter[tuple[str | None, int]] = Counter()
        staged = writer.close()
        self.assertEqual(self.open, 0)
        self.assertEqual(len({file.staged for file in staged}), len(staged))
        for file in staged:
            path = Path(self.files.root, file.staged)
            rows = parquet.ParquetFile(path).read().to_pylist()
            self.assertEqual((file.rows, file.bytes, file.kind), (len(rows), path.stat().st_size, DATA))
            self.assertIn(f"/hour={file.values['hour']}/", file.staged)
            found.update((file.values["hour"], row["n"]) for row in rows)
        return found

    def test_one_file_each(self) -> None:
        """Rows of one folder come into one file, however they come; they wait as long as they may."""
        writer = self.writer()
        for n in range(100):
            writer.add((f"{n % 3:02}",), batch(n))
        self.assertEqual(self.most_open, 0)
        self.assertEqual(self.rows(writer), Counter((f"{n % 3:02}", n) for n in range(100)))
        self.assertEqual((len(writer.done), self.most_open), (3, 3))

    def test_few_open(self) -> None:
        """More folders than files may be open: the one that was left alone longest is closed."""
        writer = self.writer(max_open_files=3, row_group_bytes=1)
        for n in range(60):
            writer.add((str(n // 2 % 10),), batch(n))
        self.assertEqual(self.rows(writer), Counter((str(n // 2 % 10), n) for n in range(60)))
        self.assertEqual(self.most_open, 3)
        self.assertEqual(len(writer.done), 30)

    def test_bounded_memory(self) -> None:
        """However many folders, no more bytes wait than may; the largest go first, in large row groups."""
        most, writer = 0, self.writer(max_buffered_bytes=400 * ROW_BYTES, max_open_files=1000)
        for n in range(2000):
            writer.add((str(n % 200) if n % 2 else "large",), batch(n))
            most = max(most, sum(part.nbytes for parts in writer._waiting.values() for part in parts))
        self.assertLessEqual(most, 400 * ROW_BYTES)
        self.assertEqual(self.rows(writer).total(), 2000)
        large = next(file for file in writer.done if file.values["hour"] == "large")
        self.assertEqual(large.rows, 1000)
        groups = parquet.ParquetFile(Path(self.files.root, large.staged)).num_row_groups
        self.assertLess(groups, 10)

    def test_row_groups(self) -> None:
        """A folder with enough rows is written at once."""
        writer = self.writer(row_group_bytes=10 * ROW_BYTES)
        for n in range(25):
            writer.add(("0",), batch(n))
        self.rows(writer)
        file = parquet.ParquetFile(Path(self.files.root, writer.done[0].staged))
        self.assertEqual([file.metadata.row_group(n).num_rows for n in range(3)], [10, 10, 5])

    def test_file_size(self) -> None:
        """A file that is large enough is closed, and the next rows get another."""
        writer = self.writer(row_group_bytes=1, target_file_bytes=1)
        for n in range(5):
            writer.add(("0",), batch(n))
        self.assertEqual(len(writer.done), 5)
        self.assertEqual(self.rows(writer), Counter(("0", n) for n in range(5)))

    def test_full_disk(self) -> None:
        """No space: the error comes out, and letting go leaves nothing open, whatever closing says."""

        class Full:
            closed = False

            def write(self, data: bytes) -> int:
                raise OSError(errno.ENOSPC, "No space left on device")

            def tell(self) -> int:
                return 0

            def flush(self) -> None:
                pass

            def close(self) -> None:
                pass

        self.patch(LocalFiles, "output", lambda *_: Full())
        writer = self.writer(row_group_bytes=1)
        error = self.assertRaises(OSError, writer.add, ("0",), batch(1))
        self.assertEqual(error.errno, errno.ENOSPC)
        writer.abandon()
        self.assertEqual(writer._open, {})
