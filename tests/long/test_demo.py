"""``python -m kafkatx.demo`` with bytes that are no text."""

from __future__ import annotations

from tests.integration.spark import shared_spark
from tests.integration.test_spark_demo import DemoCase


class AnyBytesTests(DemoCase):
    def test_any_bytes(self) -> None:
        """Bytes that are no text go through, and come out as they were."""
        data = bytes(range(256)) * 20 + b"\n\n" + b"\xff" * 100_000 + b"\nlast"
        parquet = str(self.folder / "parquet")
        done = self.run_demo("-", "--to", parquet, "--brokers", "1", data=data)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        values = [bytes(row.value) for row in shared_spark().read.parquet(parquet).collect()]
        self.assertEqual(sorted(values), sorted(data.split(b"\n")))
