"""Rows into folders."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.table.columns import Column
from kafkatx.spark.ingest.table.folders import (
    NULL,
    Partitioning,
    check_columns,
    file_columns,
    folder,
    folder_columns,
    to_times,
)

US = pa.timestamp("us", tz="UTC")


def us(text: str) -> int:
    """Microseconds of an ISO time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1_000_000)


class SplitTests(SynchronousTestCase):
    def split(self, columns: dict[str, Any], by: tuple[str, ...], time: str | None = "t") -> dict[Any, Any]:
        """The rows of each folder."""
        found = list(Partitioning(by, time).split(pa.record_batch(columns)))
        self.assertEqual(len(found), len({values for values, _ in found}))
        return {values: batch.to_pylist() for values, batch in found}

    def test_date_and_hour(self) -> None:
        """Rows go to their UTC day and hour, in order; the time stays in the rows."""
        texts = ["2015-05-19 19:59:59", "2015-05-20 00:00:00", "2015-05-19 19:00:00", "1969-12-31 23:59:59"]
        times = pa.array([us(text) for text in texts]).cast(US)
        found = self.split({"t": times, "n": [0, 1, 2, 3]}, ("date", "hour"))
        self.assertEqual(
            {values: [row["n"] for row in rows] for values, rows in found.items()},
            {("2015-05-19", "19"): [0, 2], ("2015-05-20", "00"): [1], ("1969-12-31", "23"): [3]},
        )
        self.assertEqual(set(found["2015-05-20", "00"][0]), {"t", "n"})

    def test_no_time(self) -> None:
        """No time, and one that no calendar has, give null; so does a column that is not there."""
        times = pa.array([None, (1 << 63) - 1, -(1 << 63) + 1, us("9999-12-31 23:00:00")], pa.int64()).cast(
            US
        )
        found = Partitioning(("date", "hour"), "t").split(pa.record_batch({"t": times}))
        self.assertEqual(
            {values: batch.num_rows for values, batch in found}, {(None, None): 3, ("9999-12-31", "23"): 1}
        )
        self.assertEqual(list(self.split({"n": [1]}, ("date",))), [(None,)])

    def test_columns(self) -> None:
        """Other columns by their values; they leave the rows, for the folders tell them."""
        found = self.split(
            {"a": ["x", None, "x", ""], "b": [True, False, True, None], "n": [0, 1, 2, 3]}, ("a", "b", "c")
        )
        self.assertEqual(
            found,
            {
                ("x", "true", None): [{"n": 0}, {"n": 2}],
                (None, "false", None): [{"n": 1}],
                ("", None, None): [{"n": 3}],
            },
        )

    def test_many_columns(self) -> None:
        """Many columns with many values each do not run into each other."""
        rows = 3000
        columns = {
            name: pa.array([(n * prime) % rows for n in range(rows)])
            for name, prime in zip("abcdef", (1, 7, 11, 13, 17, 19), strict=True)
        }
        found = self.split({**columns, "n": list(range(rows))}, tuple("abcdef"))
        self.assertEqual(len(found), rows)
        self.assertTrue(all(values[0] == str(batch[0]["n"]) for values, batch in found.items()))

    def test_one_folder(self) -> None:
        """Rows that belong together are not copied; without partitioning nothing is looked at."""
        batch = pa.record_batch({"t": pa.array([0, 1], pa.int64()).cast(US), "v": [b"x", b"y"]})
        for by in ((), ("date", "hour")):
            ((_, found),) = Partitioning(by, "t").split(batch)
            self.assertEqual(found.column("v").buffers()[2].address, batch.column("v").buffers()[2].address)
        self.assertEqual(list(Partitioning(("date",), "t").split(batch[:0])), [])

    def test_column_called_date(self) -> None:
        """A decoder's own column of the name is kept under another one."""
        columns = {"t": pa.array([0], pa.int64()).cast(US), "date": ["mine"], "date_": ["too"]}
        found = self.split(columns, ("date",))
        self.assertEqual(
            [(key, rows[0]["date__"], rows[0]["date_"]) for key, rows in found.items()],
            [(("1970-01-01",), "mine", "too")],
        )
        stored = file_columns([Column(name, "string") for name in columns], ("date",))
        self.assertEqual([column.name for column in stored], list(found["1970-01-01",][0]))


class TimesTests(SynchronousTestCase):
    def test_kinds(self) -> None:
        """Text with and without a zone, milliseconds, and dates; null where it is none of them."""
        one = us("2015-05-19 19:00:00")
        texts = pa.array(
            ["2015-05-19T19:00:00Z", "2015-05-19T21:00:00+02:00", "2015-05-19 19:00:00", "x", None]
        )
        for column, expected in (
            (texts, [one, one, one, None, None]),
            (texts[:2], [one, one]),
            (pa.array([one // 1000, 1 << 62]), [one, None]),
            (pa.array([1], pa.date32()), [86_400_000_000]),
            (pa.array([1.5]), [None]),
        ):
            found = to_times(column)
            self.assertEqual(found.type, US)
            self.assertEqual(found.cast(pa.int64()).to_pylist(), expected)


class FolderTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Folders are named as Hive names them; null and empty text alike, as in Spark."""
        self.assertEqual(folder(("date", "hour"), ("2015-05-19", "07")), "date=2015-05-19/hour=07")
        self.assertEqual(folder(("a", "b"), (None, "")), f"a={NULL}/b={NULL}")
        self.assertEqual(folder((), ()), "")

    def test_escaped(self) -> None:
        """Characters with a meaning in a path are escaped, and no name leaves the folder."""
        for text in ("../../etc", "a/b", "a=b", "100%", "tab\there", "{x,y}", "caf\u00e9 au lait"):
            name = folder(("a",), (text,))
            self.assertEqual(name.count("/"), 0)
            self.assertEqual(unquote(name.removeprefix("a=")), text)
        self.assertEqual(folder(("x/y",), ("1",)), "x%2Fy=1")


class CheckTests(SynchronousTestCase):
    COLUMNS = (Column("t", "timestamp"), Column("n", "double"), Column("s", "string"))

    def refused(self, by: str, time: str) -> str:
        """Return the error."""
        error = self.assertRaises(SettingError, check_columns, self.COLUMNS, by.split(","), time, True)
        return str(error)

    def test_refused(self) -> None:
        """Columns that are not there, make no names, or give no time."""
        self.assertIn("partition-by x: there is no such column: there are t, n, s", self.refused("x", "t"))
        self.assertIn("partition-by n: a column of type double", self.refused("date,n", "t"))
        self.assertIn("time-column n: a column of type double", self.refused("date", "n"))
        self.assertIn("time-column u: there is no such column", self.refused("hour", "u"))

    def test_allowed(self) -> None:
        """Known columns, columns that may still come, and an unused time column are allowed."""
        check_columns(self.COLUMNS, ("date", "s"), "t", True)
        check_columns(self.COLUMNS, ("x", "hour"), "later", False)
        check_columns(self.COLUMNS, ("s",), "n", True)

    def test_columns(self) -> None:
        """Columns of folders are not in files; they have the types that Spark infers."""
        columns = [*self.COLUMNS, Column("date", "string")]
        self.assertEqual([c.name for c in file_columns(columns, ("date", "s"))], ["t", "n", "date_"])
        self.assertEqual(
            folder_columns(columns, ("date", "hour", "s", "x")),
            [Column("date", "date"), Column("hour", "int"), Column("s", "string"), Column("x", "string")],
        )
