"""The limit of the client: our throughput by that of the sink, and both by Apache Kafka's."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.ceiling import shown
from benchmarks.compare.results import Figure, Key


def figures(*rows: tuple[str, str, str, float]) -> dict[Key, Figure]:
    """Throughput of one round: experiment, cell, system, MB/s."""
    return {
        Key(letter, cell, system, "throughput_mb_per_s"): Figure.of({0: value})
        for letter, cell, system, value in rows
    }


class CeilingTests(SynchronousTestCase):
    def test_rows(self) -> None:
        """A row for each cell of (a) to (e) and their medians; who was not measured leaves columns empty."""
        found = figures(
            ("a", "50", "kafkatx", 90.0),
            ("a", "50", "sink", 100.0),
            ("a", "50", "kafka-4", 50.0),
            ("e", "lz4", "kafkatx", 50.0),
            ("e", "lz4", "sink", 50.0),
            ("i", "10 partitions", "kafkatx", 1.0),
            ("i", "10 partitions", "sink", 9.0),
        )
        self.assertEqual(
            shown(found).splitlines(),
            [
                "| throughput with librdkafka | kafkatx / sink | kafkatx / kafka-4 | sink / kafka-4 "
                "| kafkatx / kafka-3.9 | sink / kafka-3.9 |",
                "|---|---|---|---|---|---|",
                "| a: 50 | 0.90 | 1.80 | 2.00 |  |  |",
                "| e: lz4 | 1.00 |  |  |  |  |",
                "| **median** | 0.95 | 1.80 | 2.00 |  |  |",
            ],
        )

    def test_no_sink(self) -> None:
        """Without it there is no such table."""
        self.assertEqual(shown(figures(("a", "50", "kafkatx", 90.0), ("a", "50", "kafka-4", 50.0))), "")
