"""Generator of the page of metrics, the dashboard and the alerts, from the table.

``python -m kafkatx.broker.metrics.documents`` takes the paths of the three, in this order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from kafkatx.broker.metrics.observability.alerts import alerts_page
from kafkatx.broker.metrics.observability.dashboard import dashboard_page
from kafkatx.broker.metrics.table import FAMILIES
from kafkatx.broker.metrics.table.row import Family, Metric

_HEAD = """\
# Metrics

All metrics that a broker serves at `/metrics` of its HTTP listener. [Monitoring](monitoring.md) says how to
read them with Prometheus and Grafana. A metric is served if `kafkatx.metrics.families` names its family; the
series of topics, partitions and groups have limits, the settings `kafkatx.metrics.max.*`.
"""

_FOOT = """
This page is generated: `make documents` writes it.
"""


def metrics_page() -> str:
    """Return the page in Markdown, with one table per family."""
    return _HEAD + "".join(map(_section, FAMILIES)) + _FOOT


def _section(family: Family) -> str:
    title = f"`{family.name}`" if family.name else "The process"
    rows = "".join(_rows(family))
    return f"\n## {title}\n\n{family.text}\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n{rows}"


def _rows(family: Family) -> Iterator[str]:
    for metric in family.metrics:
        yield f"| `{metric.name}` | {metric.kind.value} | {_labels(metric)} | {metric.help} |\n"


def _labels(metric: Metric) -> str:
    return ", ".join(f"`{label}`" for label in metric.labels)


if __name__ == "__main__":
    for path, text in zip(sys.argv[1:], (metrics_page(), dashboard_page(), alerts_page()), strict=True):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
