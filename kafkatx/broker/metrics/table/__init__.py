"""The table of all metrics: ``docs/metrics.md`` is generated from it, dashboards are checked against it."""

from __future__ import annotations

from kafkatx.broker.metrics.table.exporter import EXPORTER
from kafkatx.broker.metrics.table.kafka import KAFKA
from kafkatx.broker.metrics.table.kminion import KMINION
from kafkatx.broker.metrics.table.own import OWN
from kafkatx.broker.metrics.table.process import PROCESS
from kafkatx.broker.metrics.table.row import Metric

FAMILIES = (KAFKA, EXPORTER, KMINION, OWN, PROCESS)
METRICS: tuple[Metric, ...] = tuple(metric for family in FAMILIES for metric in family.metrics)
