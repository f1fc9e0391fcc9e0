"""Samples of several brokers as those of one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan

from kafkatx.broker.history.ring_buffer import EMPTY
from kafkatx.broker.history.series import Series, Total, find_series

JOIN: Mapping[Total, Callable[[list[float]], float]] = {Total.SUM: sum, Total.LEAST: min, Total.MOST: max}


def join(series: Series | None, values: Iterable[float]) -> float:
    """Return the value of a cluster, by those of its brokers; NaN if all are."""
    known = [value for value in values if not isnan(value)]
    if not known:
        return EMPTY
    return float(JOIN[Total.SUM if series is None else series.total](known))


def join_latest(brokers: Iterable[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the newest values of a cluster."""
    by_name: dict[str, list[float]] = {}
    for latest in brokers:
        for name, value in latest.items():
            by_name.setdefault(name, []).append(value)
    return {name: join(find_series(name), values) for name, values in by_name.items()}


def join_columns(name: str, columns: Sequence[Sequence[float]]) -> Sequence[float]:
    """Return a series of a cluster: a value for each interval."""
    if len(columns) == 1:
        return columns[0]
    series = find_series(name)
    return [join(series, values) for values in zip(*columns, strict=True)]
