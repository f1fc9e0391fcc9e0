"""The collector of what clients push (KIP-714): their names become those of Prometheus. Pure.

``org.apache.kafka.producer.node.request.latency.avg`` of node 1 is the series
``kafka_client_producer_node_request_latency_avg{client_id="app",client_instance_id="...",node_id="1"}``.
"""

from __future__ import annotations

import re

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.limits import MetricsLimits
from kafkatx.broker.metrics.samples import Samples, label, labels
from kafkatx.broker.metrics.sources import Steps
from kafkatx.broker.metrics.table import own as o
from kafkatx.broker.metrics.table.row import Kind, Metric
from kafkatx.broker.telemetry.otlp import Labels
from kafkatx.broker.telemetry.recent_values import ClientValues

PREFIX = "kafka_client_"
MOST_NAMES = 1000
"""Different metrics of all clients; names come from clients."""

MOST_SERIES = 500
"""Series of one client."""

STEP = 100

_THEIRS = "org.apache.kafka."
_OTHER = re.compile("[^a-zA-Z0-9]+")
_OWN_LABELS = ("client_id", "client_instance_id")


class ClientCollector:
    """The metrics of clients, by the names that they have sent."""

    def __init__(self, broker: Broker, limits: MetricsLimits) -> None:
        self._broker = broker
        self._limits = limits
        self._rows: dict[tuple[str, bool], Metric] = {}
        self._names: set[str] = set()

    def collect(self, samples: Samples) -> Steps:
        """See :class:`Collector`."""
        if "telemetry" not in vars(self._broker):  # no client has asked yet
            return
        telemetry = self._broker.telemetry
        clients = telemetry.recent()
        samples.add(o.CLIENT_INSTANCES, len(telemetry.instances))
        samples.add(o.CLIENT_PUSHES, telemetry.pushes)
        samples.add(o.CLIENT_REFUSED, telemetry.refused)
        samples.add(o.CLIENT_VALUES, telemetry.values.count)
        samples.add(o.CLIENT_DROPPED, sum(one.dropped for one in clients))
        samples.add(o.LEFT_OUT, max(0, len(clients) - self._limits.clients), label("kind", "clients"))
        for one in clients[: self._limits.clients]:
            yield from self._client(samples, one)

    def _client(self, samples: Samples, one: ClientValues) -> Steps:
        client = one.client
        ids = labels(client_id=client.client_id, client_instance_id=client.client_instance_id)
        about = labels(
            software_name=client.client_software_name,
            software_version=client.client_software_version,
            address=client.client_source_address,
            principal=one.principal,
        )
        samples.add(o.CLIENT_INFO, 1, f"{ids},{about}")
        shown: set[tuple[Metric, str]] = set()
        for number, ((name, named), value) in enumerate([*one.values.items()][:MOST_SERIES]):
            if number % STEP == 0:
                yield None
            row = self._row(name, value.is_sum)
            text = _label_text(named)
            if row is not None and (row, text) not in shown:
                shown.add((row, text))
                samples.show(row)
                samples.add(row, value.value, ids + text)

    def _row(self, name: str, is_sum: bool) -> Metric | None:
        """Return the row of a name; None if there are too many, or if another one has become the same."""
        found = self._rows.get((name, is_sum))
        if found is None and len(self._rows) < MOST_NAMES:
            shown = metric_name(name, is_sum)
            if shown in self._names:
                return None
            self._names.add(shown)
            text = f"{name}, as clients push it."
            kind = Kind.COUNTER if is_sum else Kind.GAUGE
            found = self._rows[name, is_sum] = Metric(shown, kind, text, _OWN_LABELS, "")
        return found


def metric_name(name: str, is_sum: bool) -> str:
    """Return the name of a series; that of a sum ends with ``_total``, that of no other one does."""
    shown = PREFIX + _OTHER.sub("_", name.removeprefix(_THEIRS)).strip("_").lower()
    if shown.endswith("_total"):
        shown = shown.removesuffix("_total")
        return f"{shown}_total" if is_sum else f"{shown}_value"
    return f"{shown}_total" if is_sum else shown


def _label_text(named: Labels) -> str:
    """Return labels as they stand after the ids in a line."""
    found: dict[str, str] = {}
    for name, value in named:
        shown = _OTHER.sub("_", name).strip("_").lower()
        if shown and shown not in _OWN_LABELS:
            found.setdefault(f"_{shown}" if shown[0].isdigit() else shown, value)
    return "".join(f",{label(name, value)}" for name, value in found.items())
