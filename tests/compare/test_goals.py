"""The goals: what counts, what holds, and which cells miss."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.goals import Goal, goals, shown
from benchmarks.compare.results import Figure, Key

MB, CPU, REQUESTS = "throughput_mb_per_s", "broker_cpu_s_per_gb", "broker_cpu_s_per_million_requests"


def figures(*rows: tuple[str, str, str, str, float]) -> dict[Key, Figure]:
    """Figures of one round: experiment, cell, system, metric, value."""
    return {Key(*row[:4]): Figure(row[4], row[4], row[4], 1) for row in rows}


def found(*rows: tuple[str, str, str, str, float]) -> dict[str, Goal]:
    """Goals by what they are of."""
    return {goal.what: goal for goal in goals(figures(*rows))}


class GoalsTests(SynchronousTestCase):
    def test_throughput(self) -> None:
        """Each cell has to be as fast as Apache Kafka, and the median half as fast again."""
        rows = [
            (letter, "x", system, MB, value)
            for letter, ours in (("a", 2.0), ("c", 0.9), ("e", 3.0), ("f", 0.1))
            for system, value in (("kafkatx", ours), ("kafka-4", 1.0))
        ]
        by_what = found(*rows)
        worst, median = (
            by_what[f"throughput (librdkafka) / kafka-4, {which}"] for which in ("worst cell", "median")
        )
        self.assertEqual((worst.measured, worst.where, worst.held), (0.9, "c: x", False))
        self.assertEqual(worst.missing, ["c: x 0.90"])
        self.assertEqual((median.measured, median.held), (2.0, True))

    def test_tie(self) -> None:
        """A cell below 1 holds as a tie if its rounds are on both sides of 1; else it misses."""
        rounds = {"a": (0.9, 1.1, 0.95), "b": (0.9, 0.99, 0.95)}
        measured = {
            Key(letter, "x", system, MB): Figure.of(dict(enumerate(values)))
            for letter, ours in rounds.items()
            for system, values in (("kafkatx", ours), ("kafka-4", (1.0, 1.0, 1.0)))
        }
        worst = {goal.what: goal for goal in goals(measured)}["throughput (librdkafka) / kafka-4, worst cell"]
        self.assertEqual((worst.held, worst.missing, worst.tied), (False, ["b: x 0.95"], ["a: x 0.95"]))
        a_alone = {key: figure for key, figure in measured.items() if key.experiment == "a"}
        self.assertIn("| held; ties: a: x 0.95 |", shown(a_alone))

    def test_replayed(self) -> None:
        """Throughput of requests made beforehand is a goal of its own."""
        by_what = found(
            ("a", "1", "kafkatx", "replayed_mb_per_s", 1.4),
            ("a", "1", "kafka-4", "replayed_mb_per_s", 1.0),
        )
        worst, median = (
            by_what[f"throughput (replayed) / kafka-4, {which}"] for which in ("worst cell", "median")
        )
        self.assertEqual((worst.held, median.held), (True, False))

    def test_cpu_and_latency(self) -> None:
        """CPU counts by its median, latency by its worst cell."""
        rows = [
            (letter, cell, system, metric, value)
            for letter, cell, metric, ours in (
                ("a", "1", CPU, 0.4),
                ("a", "50", CPU, 0.6),
                ("a", "1", REQUESTS, 0.51),
                ("f", "1000", "p99_ms", 0.5),
                ("f", "10000", "p99_ms", 1.1),
            )
            for system, value in (("kafkatx", ours), ("kafka-3.9", 1.0))
        ]
        by_what = found(*rows)
        self.assertTrue(by_what["CPU seconds per GB / kafka-3.9, median"].held)
        self.assertFalse(by_what["CPU seconds per million requests / kafka-3.9, median"].held)
        self.assertEqual(by_what["p99 / kafka-3.9"].missing, ["f: 10000 1.10"])

    def test_floor(self) -> None:
        """Single messages may cost 2.5 times the floor's CPU, batches and fetches 1.5 times."""
        rows = [
            (letter, cell, system, CPU, value)
            for letter, cell in (("a", "1"), ("a", "50"), ("b", "200 kB"))
            for system, value in (("kafkatx", 2.0), ("floor", 1.0))
        ]
        held = {what: goal.held for what, goal in found(*rows).items()}
        self.assertEqual(
            held,
            {
                "CPU / floor, batches of 50": False,
                "CPU / floor, fetch": False,
                "CPU / floor, single messages": True,
            },
        )

    def test_standing(self) -> None:
        """Start-up and memory are numbers of our own; under load, whatever the load was."""
        by_what = found(
            ("h", "standing", "kafkatx", "first_produce_s", 0.4),
            ("h", "standing", "kafkatx", "rest_rss_mib", 61.0),
            ("h", "standing", "kafka-4", "rest_rss_mib", 700.0),
            ("h", "standing", "kafkatx", "peak_rss_mib", 90.0),
            ("g", "50 producers", "kafkatx", "peak_rss_mib", 160.0),
        )
        self.assertTrue(by_what["start to the first produce, s"].held)
        self.assertEqual(by_what["RSS at rest, MiB"].measured, 61.0)
        self.assertEqual(by_what["RSS under load, MiB"].missing, ["g: 50 producers 160.00"])

    def test_growth(self) -> None:
        """Each cell says itself how much of the small one's throughput it keeps."""
        by_what = found(
            ("i", "1 partitions", "kafkatx", "kept_throughput", 1.0),
            ("i", "1000 partitions", "kafkatx", "kept_throughput", 0.8),
            ("i", "10 GB", "kafkatx", "kept_throughput", 0.92),
            ("i", "10 GB", "kafka-4", "kept_throughput", 0.1),
        )
        self.assertEqual(by_what["throughput with more partitions"].missing, ["i: 1000 partitions 0.80"])
        self.assertTrue(by_what["throughput with more gigabytes in the log"].held)

    def test_calm(self) -> None:
        """Seconds are taken from rounds in which the host took no core away, if there are such."""
        start = Key("h", "standing", "kafkatx", "first_produce_s")
        stolen = start._replace(metric="stolen_percent")
        some = {start: Figure(0.6, 0.4, 0.7, 3, (0.4, 0.6, 0.7)), stolen: Figure(20, 1, 30, 3, (1, 20, 30))}
        self.assertEqual([goal.measured for goal in goals(some)], [0.4])
        some[stolen] = Figure(20, 20, 20, 3, (20, 20, 20))
        self.assertEqual([goal.measured for goal in goals(some)], [0.6])

    def test_shown(self) -> None:
        """Missed goals come first, with the cells; without figures there is no table."""
        rows = [
            ("h", "standing", "kafkatx", "rest_rss_mib", 50.0),
            ("c", "195", "kafkatx", MB, 0.5),
            ("c", "195", "kafka-4", MB, 1.0),
        ]
        lines = shown(figures(*rows)).splitlines()
        self.assertEqual(
            lines[2],
            "| throughput (librdkafka) / kafka-4, worst cell | at least 1.0 | 0.50 (c: 195)"
            " | **missed**: c: 195 0.50 |",
        )
        self.assertEqual(lines[-1], "| RSS at rest, MiB | under 60 | 50.00 (h: standing) | held |")
        self.assertEqual(shown({}), "")
