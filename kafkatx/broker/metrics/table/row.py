"""A row of the table of metrics: name, kind, labels and help; and families of rows. Pure."""

from __future__ import annotations

import enum

import attrs


class Kind(enum.Enum):
    """The type of a metric, as Prometheus names it."""

    COUNTER = "counter"
    GAUGE = "gauge"


@attrs.frozen(eq=False)
class Metric:
    """A metric: all series of one name.

    :ivar family: the value of ``kafkatx.metrics.families`` that asks for it; "": it is always there.
    :ivar labels: names of its labels, in order.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    family: str


class Family:
    """Metrics that one value of ``kafkatx.metrics.families`` switches on.

    :ivar metrics: the rows, in the order of the exposition.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.metrics: list[Metric] = []

    def counter(self, name: str, text: str, *labels: str) -> Metric:
        """Add a number that only grows; its name ends with ``_total``."""
        if not name.endswith("_total"):
            raise ValueError(f"{name}: the name of a counter ends with _total")
        return self._add(Metric(name, Kind.COUNTER, text, labels, self.name))

    def gauge(self, name: str, text: str, *labels: str) -> Metric:
        """Add a number that grows and shrinks."""
        return self._add(Metric(name, Kind.GAUGE, text, labels, self.name))

    def _add(self, metric: Metric) -> Metric:
        self.metrics.append(metric)
        return metric
