"""Figures of several rounds become medians, ratios and tables."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare import table
from benchmarks.compare.experiments import EXPERIMENTS
from benchmarks.compare.results import STOLEN, Figure, Key, Results, cells, ratios, read, systems

BATCHES = EXPERIMENTS["a"]


def measured() -> Results:
    """Two systems, two cells, three rounds."""
    results = Results({"cores": 2})
    rounds = ((100.0, 1000.0, 50.0), (120.0, 900.0, 60.0), (110.0, 1100.0, 40.0))
    for number, (one, fifty, theirs) in enumerate(rounds):
        for system, factor in (("kafkatx", 1.0), ("kafka-4", 0.5)):
            singles = {"records_per_s": one * factor, "throughput_mb_per_s": one * factor}
            results.add("a", "1", system, singles, number)
            batches = {"throughput_mb_per_s": fifty if factor == 1 else theirs}
            results.add("a", "50", system, batches, number)
    return results


class ResultsTests(SynchronousTestCase):
    def test_figures(self) -> None:
        """A figure is the median of its rounds, with the least and the most."""
        figures = measured().figures()
        self.assertEqual(
            figures[Key("a", "1", "kafkatx", "records_per_s")], Figure(110, 100, 120, 3, (100, 120, 110))
        )
        self.assertEqual(cells(figures, "a"), ["1", "50"])
        self.assertEqual(systems(figures, "a"), ["kafkatx", "kafka-4"])

    def test_document(self) -> None:
        """``results.json`` has the machine and one line for each figure wanted, and can be read again."""
        results = measured()
        text = results.as_json({"records_per_s"})
        self.assertIn(
            '\n{"experiment": "a", "cell": "1", "system": "kafkatx", "metric": "records_per_s", '
            '"median": 110.0, "min": 100.0, "max": 120.0, "rounds": 3},\n',
            text,
        )
        document = json.loads(text)
        self.assertEqual(document["machine"], {"cores": 2})
        kept = {key: f._replace(values=()) for key, f in results.figures().items() if "records" in key.metric}
        self.assertEqual(read(document), kept)

    def test_earlier(self) -> None:
        """An earlier run's figures and notes stay, but for those of experiments that are measured anew."""
        old = {
            Key("a", "1", "floor", "records_per_s"): Figure(1, 1, 1, 1),
            Key("b", "200 kB", "floor", "records_per_s"): Figure(2, 2, 2, 1),
        }
        results = Results({}, old)
        results.notes = [
            "(a) 1 failed with floor: x",
            "(b) 200 kB failed with floor: x",
            "kafka-4 was left out: x",
        ]
        results.forget("a")
        self.assertEqual(results.notes, ["(b) 200 kB failed with floor: x", "kafka-4 was left out: x"])
        results.add("a", "1", "kafkatx", {"records_per_s": 7}, 0)
        self.assertEqual(
            [(key.experiment, f.median) for key, f in results.figures().items()], [("b", 2), ("a", 7)]
        )

    def test_ratios(self) -> None:
        """Ours by theirs, where both have the cell."""
        figures = measured().figures()
        self.assertEqual(
            ratios(figures, "kafkatx", "kafka-4", "throughput_mb_per_s"), {("a", "1"): 2.0, ("a", "50"): 20.0}
        )
        self.assertEqual(ratios(figures, "kafkatx", "kafka-3.9", "records_per_s"), {})

    def test_ratios_of_rounds(self) -> None:
        """A machine that is twice as fast in a round is so for both: a round is compared with itself."""
        results = Results({})
        for number, (ours, theirs) in enumerate(((100.0, 80.0), (200.0, 160.0), (120.0, 90.0))):
            results.add("a", "1", "kafkatx", {"records_per_s": ours}, number)
            results.add("a", "1", "kafka-4", {"records_per_s": theirs}, number)
        self.assertEqual(ratios(results.figures(), "kafkatx", "kafka-4", "records_per_s"), {("a", "1"): 1.25})

    def test_disturbed_rounds(self) -> None:
        """A round in which the host took cores from one of the two counts if there is no other."""
        results = Results({})
        rounds = ((100.0, 50.0, 0.0, 10.0), (100.0, 400.0, 0.0, 10.1), (100.0, 500.0, 60.0, 0.0))
        for number, (ours, theirs, *stolen) in enumerate(rounds):
            results.add("a", "1", "kafkatx", {"records_per_s": ours, STOLEN: stolen[0]}, number)
            results.add("a", "1", "kafka-4", {"records_per_s": theirs, STOLEN: stolen[1]}, number)
            if number:
                results.add("a", "1", "floor", {"records_per_s": 10.0 / number, STOLEN: 11.0}, number)
        found = (ratios(results.figures(), "kafkatx", name, "records_per_s") for name in ("kafka-4", "floor"))
        self.assertEqual([one["a", "1"] for one in found], [2.0, 15.0])

    def test_failed_round(self) -> None:
        """A round that failed for one of two counts for neither; without a common one medians are taken."""
        results = Results({})
        for number, ours in enumerate((100.0, 500.0, 300.0)):
            results.add("a", "1", "kafkatx", {"records_per_s": ours}, number)
        results.add("a", "1", "kafka-4", {"records_per_s": 50.0}, 0)
        results.add("a", "1", "kafka-4", {"records_per_s": 100.0}, 2)
        results.add("a", "1", "floor", {"records_per_s": 60.0}, 3)
        figures = results.figures()
        kafka, floor = (figures[Key("a", "1", name, "records_per_s")] for name in ("kafka-4", "floor"))
        self.assertEqual(kafka, Figure(75, 50, 100, 2, (50, None, 100)))
        self.assertEqual(
            [ratios(figures, "kafkatx", name, "records_per_s")["a", "1"] for name in ("kafka-4", "floor")],
            [2.5, 5.0],
        )
        self.assertEqual(floor.values, (None, None, None, 60))


class TableTests(SynchronousTestCase):
    def test_table(self) -> None:
        """A row for each cell and a column for each system; what was not measured is left empty."""
        shown = table.table(measured().figures(), BATCHES, "records_per_s")
        self.assertEqual(
            shown,
            "| messages/s | kafkatx | kafka-4 |\n|---|---|---|\n| 1 | 110 (100-120) | 55 (50-60) |\n",
        )

    def test_papers_order(self) -> None:
        """Our messages a second by a rival's, which has single messages only; unknown is empty."""
        results = measured()
        results.add("a", "1", "rabbitmq", {"records_per_s": 22.0}, 0)
        results.add("a", "50", "kafkatx", {"records_per_s": 330.0}, 0)
        results.add("b", "200 kB", "kafkatx", {"records_per_s": 90.0}, 0)
        results.add("b", "200 kB", "activemq", {"records_per_s": 20.0}, 0)
        shown = table.papers_order(results.figures()).splitlines()
        self.assertIn("| kafkatx / rabbitmq | 4.55 | 15.00 |  |", shown)
        self.assertIn("| kafkatx / activemq |  |  | 4.50 |", shown)
        self.assertIn("| the paper's Kafka / rabbitmq | at least 2 | at least 2 | more than 4 |", shown)

    def test_no_rivals(self) -> None:
        """Without the paper's rivals there is no such table."""
        self.assertEqual(table.papers_order(measured().figures()), "")

    def test_numbers(self) -> None:
        """Large numbers are whole, small ones have three digits."""
        self.assertEqual(
            [table.number(n) for n in (1234567.8, 999.4, 0.01234)], ["1,234,568", "999", "0.0123"]
        )

    def test_every_experiment(self) -> None:
        """Each has cells of names that differ, and metrics that tables have words for."""
        self.assertEqual("".join(EXPERIMENTS), "abcdefghij")
        for experiment in EXPERIMENTS.values():
            names = [cell.name for cell in experiment.cells]
            self.assertEqual(len(set(names)), len(names), experiment.letter)
            self.assertEqual([m for m in experiment.metrics if m not in table.WORDS], [], experiment.letter)
