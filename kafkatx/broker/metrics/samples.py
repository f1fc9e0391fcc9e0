"""The samples of one scrape, and their text in the formats of Prometheus and OpenMetrics. Pure.

A sample is a line, ``name{label="value",...} number``, made when it is added: 50,000 of them take some 30 ms,
where objects of a library take twenty times that. :meth:`Samples.pieces` puts the lines of one name together,
as both formats ask for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from kafkatx.broker.metrics.table.row import Kind, Metric

PIECE = 2000
"""Lines that are joined in one step."""

_LABEL = re.compile(r'(\w+)(="(?:[^"\\]|\\.)*")')
"""A label's name, and the rest of it."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def label(name: str, value: object) -> str:
    """Return a label as it stands in a line; several are joined with commas."""
    return f'{name}="{str(value).translate(_ESCAPES)}"'


def labels(**values: object) -> str:
    """Return several labels."""
    return ",".join(label(name, value) for name, value in values.items())


class Samples:
    """The samples of one scrape.

    :ivar count: the number of samples.
    :param metrics: those that are wanted, in order; samples of others are dropped.
    :param aliases: rows for samples of other metrics, once more: the row of each such metric.
    """

    def __init__(
        self, metrics: Iterable[Metric], aliases: Mapping[Metric, Metric] = MappingProxyType({})
    ) -> None:
        self._lines: dict[Metric, list[str]] = {metric: [] for metric in metrics}
        self._shown = list(self._lines)
        self._sources = {alias: metric for metric, alias in aliases.items() if alias in self._lines}
        for metric in self._sources.values():
            self._lines.setdefault(metric, [])

    @property
    def count(self) -> int:
        """The number of samples."""
        return sum(len(self._lines[self._sources.get(metric, metric)]) for metric in self._shown)

    def add(self, metric: Metric, value: float, named: str = "") -> None:
        """Add a sample.

        :param named: its labels, of :func:`labels`.
        """
        lines = self._lines.get(metric)
        if lines is not None:
            lines.append(f"{metric.name}{{{named}}} {value}\n" if named else f"{metric.name} {value}\n")

    def show(self, metric: Metric) -> None:
        """Show samples of one more metric, after all others: its name comes from a client."""
        if metric not in self._lines:
            self._lines[metric] = []
            self._shown.append(metric)

    def pieces(self, open_metrics: bool = False) -> Iterator[bytes]:
        """Encode the samples, a piece with each step; metrics without samples are left out."""
        for metric in self._shown:
            source = self._sources.get(metric, metric)
            lines: Iterable[str] = self._lines[source]
            if not lines:
                continue
            if source is not metric:
                lines = (_renamed(line, source, metric) for line in lines)
            start, rest = _head(metric, open_metrics), iter(lines)
            while some := list(islice(rest, PIECE)):
                yield (start + "".join(some)).encode("utf-8", "replace")
                start = ""
        if open_metrics:
            yield b"# EOF\n"


def _renamed(line: str, source: Metric, alias: Metric) -> str:
    """Return a line with the names of another metric and of its labels."""
    others = dict(zip(source.labels, alias.labels, strict=True))
    return alias.name + _LABEL.sub(lambda found: others[found[1]] + found[2], line.removeprefix(source.name))


def _head(metric: Metric, open_metrics: bool) -> str:
    """Return the lines about a metric; OpenMetrics names a counter without the ending of its samples."""
    name = metric.name
    if open_metrics and metric.kind is Kind.COUNTER:
        name = name.removesuffix("_total")
    text = metric.help.replace("\\", r"\\").replace("\n", r"\n")
    if open_metrics:
        text = text.replace('"', r"\"")
    return f"# HELP {name} {text}\n# TYPE {name} {metric.kind.value}\n"
