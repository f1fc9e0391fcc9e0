"""The names of metrics and labels in a query of Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkatx.broker.metrics.table import METRICS

_NAME = re.compile(r"\b(?:kafka|kafkatx|process)_[a-z0-9_]+")
_SELECTOR = re.compile(r"\b([a-z_]+)\{([^}]*)\}")
_BY = re.compile(r"\bby \(([^)]*)\)")
_LABEL = re.compile(r"([a-z_]+)=")

ADDED = {"instance", "job"}
"""The labels that Prometheus adds."""


def faults(query: str) -> Iterator[str]:
    """Yield what a query names and the table does not have."""
    table = {metric.name: metric for metric in METRICS}
    named = [table[name] for name in _NAME.findall(query) if name in table]
    for name in _NAME.findall(query):
        if name not in table:
            yield name
    for name, selector in _SELECTOR.findall(query):
        for label in _LABEL.findall(selector):
            if label not in ADDED and name in table and label not in table[name].labels:
                yield f"{name}: {label}"
    labels = ADDED.union(*(metric.labels for metric in named))
    for by in _BY.findall(query):
        for label in by.split(", "):
            if label not in labels:
                yield f"by {label}"
