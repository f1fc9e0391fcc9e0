"""Types in words."""

from __future__ import annotations

import pyarrow as pa
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.spark.ingest.table.columns import Column, arrow_type, columns_of, ddl_type, parse_ddl, to_ddl


class TypeTests(SynchronousTestCase):
    def test_there_and_back(self) -> None:
        """Every type, also in one another, and names that are no words."""
        for text in (
            *("boolean", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp"),
            *("array<array<int>>", "struct<>", "struct<a:int,b:array<struct<c:string>>>"),
            "struct<`a b`:int,`x``y`:string,`<:>,`:date>",
        ):
            self.assertEqual(ddl_type(arrow_type(text)), text)

    def test_schema(self) -> None:
        """Columns from text, in any case and with Spark's other words; to text and back."""
        columns = parse_ddl("client STRING, `user agent` string,n: Long, at struct<x: double, y: real>")
        self.assertEqual(
            columns,
            [
                Column("client", "string"),
                Column("user agent", "string"),
                Column("n", "bigint"),
                Column("at", "struct<x:double,y:float>"),
            ],
        )
        self.assertEqual(parse_ddl(to_ddl(columns)), columns)
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
        self.assertEqual(columns_of(schema), columns)

    def test_refused(self) -> None:
        """A text that is no type or does not end, a name that comes twice, and endless nesting fail."""
        for text in (
            "",
            "a",
            "a nonsense",
            "a int b",
            "a array<int",
            "a int, a string",
            "a struct<:int>",
            ",",
        ):
            error = self.assertRaises(SettingError, parse_ddl, text)
            self.assertIn(f"schema {text!r}", str(error))
        self.assertRaises(SettingError, arrow_type, "array<" * 10_000 + "int" + ">" * 10_000)
        self.assertRaises(SettingError, ddl_type, pa.uint8())
