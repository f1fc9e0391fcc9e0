"""Tests of kafkatx.log.inspect.dump: every kind of file becomes rows."""

from __future__ import annotations

import os
from typing import Any

from kafkatx.log.inspect.dump import Dump
from kafkatx.log.inspect.rows import KINDS, BatchRow, DamageRow, IndexRow, ProducerRow, RecordRow, TimeRow
from kafkatx.records.batch import Record
from kafkatx.records.checksum import crc32c
from kafkatx.records.compression import Codec
from kafkatx.records.legacy.message_sets import build
from kafkatx.testing.contracts.partition_log import NOW_MS, batch
from tests.log.inspect.shared import FIRST, LAST, LogCase


class DumpTests(LogCase):
    def rows(self, path: str | None = None, **options: Any) -> list[Any]:
        """Return the rows of the log dir, or of *path*."""
        return list(Dump(self.files, **options).rows(path or self.path))

    def test_log_dir(self) -> None:
        """A log dir gives its checkpoints, then of each partition everything but the indexes."""
        self.fill()
        found = [(KINDS[type(row)], os.path.basename(row.file)) for row in self.rows()]
        self.assertEqual(
            list(dict.fromkeys(found)),
            [
                ("offset", "recovery-point-offset-checkpoint"),
                ("offset", "log-start-offset-checkpoint"),
                ("offset", "replication-offset-checkpoint"),
                ("property", "meta.properties"),
                ("property", "partition.metadata"),
                ("epoch", "leader-epoch-checkpoint"),
                ("batch", FIRST),
                ("batch", "00000000000000000008.log"),
                ("batch", LAST),
                ("producer", "00000000000000000008.snapshot"),
                ("producer", "00000000000000000016.snapshot"),
                ("producer", "00000000000000000020.snapshot"),
            ],
        )

    def test_batches(self) -> None:
        """A batch's row has all that its header says."""
        self.fill()
        rows = self.rows(self.file(LAST))
        self.assertEqual(
            rows[1]._replace(crc=0),
            BatchRow(
                self.file(LAST), 137, 137, 2, 18, 19, 2, "none", "CreateTime", NOW_MS + 9, NOW_MS + 9,
                3, 1, 0, 18, False, False, 0, True,
            ),
        )  # fmt: skip
        self.spoil(LAST, 137 + 70)
        self.assertEqual(self.rows(self.file(LAST))[1], rows[1]._replace(crc_ok=False))

    def test_records(self) -> None:
        """Records follow their batch, from the offset that was asked for on."""
        self.fill()
        rows = self.rows(self.directory, records=True, offset=17)
        logs = [row for row in rows if isinstance(row, BatchRow | RecordRow)]
        self.assertEqual(
            [(type(row), getattr(row, "offset", None), row.position) for row in logs],
            [
                (BatchRow, None, 0),
                (RecordRow, 17, 0),
                (BatchRow, None, 137),
                (RecordRow, 18, 137),
                (RecordRow, 19, 137),
            ],
        )
        self.assertEqual(logs[-2][3:], (NOW_MS + 9, None, b"09" * 30, []))

    def test_old_formats(self) -> None:
        """Magic 0 and 1: what they have not is None; a wrapper does not tell how many are in it."""
        records = [Record(n, NOW_MS, None, b"v", []) for n in range(3)]
        os.makedirs(self.directory)
        sets = [build(records, 0), build(records, 1, Codec.GZIP, 3), build(records, 1, log_append_time=True)]
        with open(os.path.join(self.directory, FIRST), "wb") as file:
            file.write(b"".join(sets))
        rows = [row for row in self.rows(self.directory, records=True) if isinstance(row, BatchRow)]
        self.assertEqual(
            [(row.magic, row.last_offset, row.count, row.codec, row.timestamp_type) for row in rows],
            [
                (0, 0, 1, "none", None),
                (0, 1, 1, "none", None),
                (0, 2, 1, "none", None),
                (1, 5, None, "gzip", "CreateTime"),
                (1, 0, 1, "none", "LogAppendTime"),
                (1, 1, 1, "none", "LogAppendTime"),
                (1, 2, 1, "none", "LogAppendTime"),
            ],
        )
        inner = [row.offset for row in self.rows(self.directory, records=True) if isinstance(row, RecordRow)]
        self.assertEqual(inner, [0, 1, 2, 3, 4, 5, 0, 1, 2])

    def test_indexes(self) -> None:
        """The entries of an index that is named, or of all if that is asked for; what is cut off is told."""
        self.fill()
        index = FIRST.replace("log", "index")
        self.assertEqual(
            self.rows(self.file(index)),
            [IndexRow(self.file(index), 8 * n, 2 * n + 3, 137 * (n + 1)) for n in range(3)],
        )
        found = self.rows(self.directory, indexes=True, offset=16)
        self.assertEqual(sum(isinstance(row, TimeRow) for row in found), 1)
        self.write(index, self.read(index)[:-3])
        last = self.rows(self.file(index))[-1]
        self.assertEqual((type(last), last.position, last.size), (DamageRow, 16, 5))

    def test_snapshot(self) -> None:
        """A producer has a row for each batch that is remembered, the last one last."""
        self.fill()
        rows = self.rows(self.file("00000000000000000016.snapshot"))
        self.assertEqual([row.last_sequence for row in rows], [7, 9, 11, 13, 15])
        self.assertEqual(rows[-1], ProducerRow(rows[-1].file, 1, 0, 14, 15, 14, 15, NOW_MS, -1, -1))

    def test_damage(self) -> None:
        """A damaged part has its own row, and the rest is read."""
        self.fill()
        for name in ("leader-epoch-checkpoint", "00000000000000000016.snapshot"):
            self.write(name, b"nonsense")
            (row,) = self.rows(self.file(name))
            self.assertIsInstance(row, DamageRow)
        self.write(FIRST, bytes(137) + self.read(FIRST)[137:])
        rows = self.rows(self.file(FIRST))
        self.assertEqual([KINDS[type(row)] for row in rows], ["damage", "batch", "batch", "batch"])

    def test_records_that_are_none(self) -> None:
        """A batch whose records cannot be decoded is shown, and then what is wrong."""
        self.fill(count=0)
        data = bytearray(batch([b"x"]))
        data[21:23] = b"\0\1"  # gzip, which it is not
        data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
        self.write(FIRST, bytes(data))
        rows = self.rows(self.file(FIRST), records=True)
        self.assertEqual([KINDS[type(row)] for row in rows], ["batch", "damage"])
