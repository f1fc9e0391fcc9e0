"""The figures as pictures: lines over numbers as the seeds draw them, bars over names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from benchmarks.compare.experiments.place import Experiment
from benchmarks.compare.results import Figure, Key, cells, systems
from benchmarks.compare.table import WORDS

COLOURS = {
    "kafkatx": "#1f77b4",
    "kafka-4": "#d62728",
    "kafka-3.9": "#ff9896",
    "rabbitmq": "#ff7f0e",
    "activemq": "#9467bd",
    "floor": "#7f7f7f",
    "sink": "#c7c7c7",
}


REPLAYED = "replayed_mb_per_s"


def plot(figures: Mapping[Key, Figure], experiment: Experiment, folder: str) -> None:
    """Draw an experiment's first metric, and beside it that of requests made beforehand, if any were."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    is_replayed = any(key.experiment == experiment.letter and key.metric == REPLAYED for key in figures)
    metrics = [experiment.metrics[0], *([REPLAYED] if is_replayed else [])]
    size = (7 if len(metrics) == 1 else 5.5 * len(metrics), 4)
    picture, panels = pyplot.subplots(1, len(metrics), figsize=size, dpi=110, squeeze=False)
    for axes, metric in zip(panels[0], metrics, strict=True):
        _draw(axes, figures, experiment, metric)
    picture.suptitle(experiment.title, fontsize=10)
    picture.tight_layout()
    picture.savefig(os.path.join(folder, f"{experiment.letter}.png"))
    pyplot.close(picture)


def _draw(axes: Any, figures: Mapping[Key, Figure], experiment: Experiment, metric: str) -> None:
    """Draw a metric: medians, with least and most as bars of error."""
    names = cells(figures, experiment.letter)
    drawn = [
        system
        for system in systems(figures, experiment.letter)
        if any(Key(experiment.letter, name, system, metric) in figures for name in names)
    ]
    over_numbers = len(names) > 2 and all(name.isdigit() for name in names)
    for place, system in enumerate(drawn):
        found = [
            (at, figures.get(Key(experiment.letter, name, system, metric))) for at, name in enumerate(names)
        ]
        known = [(at, figure) for at, figure in found if figure is not None]
        medians = [figure.median for _, figure in known]
        errors = [
            [figure.median - figure.min for _, figure in known],
            [figure.max - figure.median for _, figure in known],
        ]
        colour = COLOURS.get(system)
        if over_numbers:
            positions = [float(names[at]) for at, _ in known]
            axes.errorbar(positions, medians, errors, marker="o", capsize=3, color=colour, label=system)
        else:
            width = 0.8 / len(drawn)
            shifted = [at + (place - (len(drawn) - 1) / 2) * width for at, _ in known]
            axes.bar(shifted, medians, width, yerr=errors, capsize=2, color=colour, label=system)
    if over_numbers:
        axes.set_xscale("log")
        axes.set_xticks([float(name) for name in names], names)
        axes.minorticks_off()
    else:
        axes.set_xticks(
            range(len(names)),
            names,
            rotation=30 if len(names) > 4 else 0,
            ha="right" if len(names) > 4 else "center",
        )
    axes.set_ylim(bottom=0)
    axes.set_ylabel(WORDS.get(metric, metric))
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=8)
