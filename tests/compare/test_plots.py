"""Pictures are drawn of what was measured, and of nothing else."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare import plots
from benchmarks.compare.experiments import EXPERIMENTS
from benchmarks.compare.plots import REPLAYED
from benchmarks.compare.results import Figure, Key

ONE = Figure(2.0, 1.0, 3.0, 3)


class PlotTests(SynchronousTestCase):
    def drawn(self, letter: str, *keys: Key) -> list[tuple[str, list[str]]]:
        """Draw an experiment; the panels, by what they show, and the systems in them."""
        panels: list[tuple[str, list[str]]] = []
        draw = plots._draw

        def look(axes: object, *arguments: object) -> None:
            draw(axes, *arguments)  # type: ignore[arg-type]
            shown: list[str] = axes.get_legend_handles_labels()[1]  # type: ignore[attr-defined]
            panels.append((axes.get_ylabel(), shown))  # type: ignore[attr-defined]

        self.patch(plots, "_draw", look)
        folder: str = self.mktemp()
        os.mkdir(folder)
        plots.plot(dict.fromkeys(keys, ONE), EXPERIMENTS[letter], folder)
        with open(os.path.join(folder, f"{letter}.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        return panels

    def test_two_clients(self) -> None:
        """The measures of two clients stand side by side; a system without figures is in no legend."""
        found = self.drawn(
            "a",
            *(
                Key("a", cell, "kafkatx", metric)
                for cell in ("1", "50")
                for metric in ("records_per_s", REPLAYED)
            ),
            Key("a", "1", "rabbitmq", "records_per_s"),
        )
        self.assertEqual(
            found,
            [("messages/s", ["kafkatx", "rabbitmq"]), ("MB/s, of requests made beforehand", ["kafkatx"])],
        )

    def test_over_numbers(self) -> None:
        """Cells that are numbers are drawn as a line."""
        keys = [Key("d", size, "kafkatx", "throughput_mb_per_s") for size in ("10", "100", "1000")]
        self.assertEqual(self.drawn("d", *keys), [("MB/s", ["kafkatx"])])

    def test_one_metric(self) -> None:
        """An experiment with one client has one panel."""
        found = self.drawn("f", Key("f", "1000", "kafkatx", "p99_ms"))
        self.assertEqual(found, [("p99, ms", ["kafkatx"])])
