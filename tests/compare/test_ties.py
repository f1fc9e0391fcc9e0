"""Where two are close: rounds ahead, cell by cell and all together."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.results import STOLEN, Figure, Key
from benchmarks.compare.ties import shown


def figures(*rows: tuple[str, str, str, str, tuple[float, ...]]) -> dict[Key, Figure]:
    """Experiment, cell, system, metric, and what each round measured."""
    return {Key(*row[:4]): Figure.of(dict(enumerate(row[4]))) for row in rows}


class TiesTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """A row for each cell that is close to a rival; disturbed rounds do not count."""
        found = figures(
            ("d", "10", "kafkatx", "throughput_mb_per_s", (9.0, 11.0, 12.0, 50.0)),
            ("d", "10", "kafkatx", "client_busy_percent", (100.0, 99.0, 98.0, 10.0)),
            ("d", "10", "kafkatx", STOLEN, (0.0, 0.0, 0.0, 60.0)),
            ("d", "10", "kafka-4", "throughput_mb_per_s", (10.0, 10.0, 10.0, 10.0)),
            ("d", "10", "kafka-3.9", "throughput_mb_per_s", (18.0, 5.0, 12.0, 10.0)),
            ("e", "lz4", "kafkatx", "throughput_mb_per_s", (8.0,)),
            ("e", "lz4", "kafka-4", "throughput_mb_per_s", (10.0,)),
            ("e", "none", "kafkatx", "throughput_mb_per_s", (20.0,)),
            ("e", "none", "kafka-4", "throughput_mb_per_s", (10.0,)),
        )
        self.assertEqual(
            shown(found).splitlines(),
            [
                "| throughput with librdkafka, rounds ahead | kafkatx / kafka-4 | kafkatx / kafka-3.9 "
                "| client's core busy, % |",
                "|---|---|---|---|",
                "| d: 10 | 2 of 3, 1.10 (0.90-1.20) | 2 of 3, 1.00 (0.50-2.20) | 99 |",
                "| e: lz4 | 0 of 1, 0.80 (0.80-0.80) |  |  |",
                "| **all** | 2 of 4, 1.00 (0.80-1.20) | 2 of 3, 1.00 (0.50-2.20) |  |",
            ],
        )

    def test_none(self) -> None:
        """Without a close cell there is no such table."""
        far = figures(
            ("a", "1", "kafkatx", "throughput_mb_per_s", (9.0,)),
            ("a", "1", "kafka-4", "throughput_mb_per_s", (2.0,)),
        )
        self.assertEqual(shown(far), "")
