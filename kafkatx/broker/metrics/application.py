"""The application at ``/metrics``. It answers; :mod:`kafkatx.broker.metrics.scraper` does the work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kafkatx.broker.authorization.http_guard import HttpGuard
from kafkatx.broker.metrics.collectors.clients import ClientCollector
from kafkatx.broker.metrics.collectors.groups import GroupCollector
from kafkatx.broker.metrics.collectors.mirrors import MirrorCollector
from kafkatx.broker.metrics.collectors.partitions import PartitionCollector
from kafkatx.broker.metrics.collectors.process import ProcessCollector
from kafkatx.broker.metrics.collectors.replicas import ReplicaCollector
from kafkatx.broker.metrics.collectors.server import ServerCollector
from kafkatx.broker.metrics.collectors.transactions import TransactionCollector
from kafkatx.broker.metrics.limits import MetricsLimits
from kafkatx.broker.metrics.samples import Samples
from kafkatx.broker.metrics.scraper import Scraper
from kafkatx.broker.metrics.sources import Collector, Sources
from kafkatx.broker.metrics.table import METRICS
from kafkatx.broker.metrics.table.kminion import ALIASES
from kafkatx.web.calls import Answer, Application, Call
from kafkatx.web.routes import Routes

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def collectors(sources: Sources, limits: MetricsLimits) -> Sequence[Collector]:
    """Return a new collector of each kind."""
    broker = sources.broker
    return (
        ServerCollector(sources),
        ProcessCollector(broker, partial(broker.workers, "metrics")),
        PartitionCollector(broker, limits),
        ReplicaCollector(broker),
        GroupCollector(broker, limits),
        TransactionCollector(broker),
        MirrorCollector(broker),
        ClientCollector(broker, limits),
    )


def make_application(sources: Sources) -> Application:
    """Return what answers requests for ``/metrics``."""
    limits = MetricsLimits.of(sources.broker.config)
    wanted = [metric for metric in METRICS if not metric.family or metric.family in limits.families]
    scraper = Scraper(collectors(sources, limits), lambda: Samples(wanted, ALIASES), sources.broker.clock)

    guard = HttpGuard(sources.broker.authorization)

    async def answer(call: Call) -> Answer:
        guard.check(call)
        samples = await scraper.scrape()
        open_metrics = prefers_open_metrics(call.headers.get("accept", ""))
        return Answer(200, samples.pieces(open_metrics), OPEN_METRICS if open_metrics else TEXT)

    routes = Routes()
    routes.add("GET", "/metrics", answer)
    return routes.answer


def prefers_open_metrics(accept: str) -> bool:
    """Return True if a client would rather have OpenMetrics than Prometheus' text format."""
    best = {"application/openmetrics-text": 0.0, "text/plain": 0.0}
    for item in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        if kind in best:
            best[kind] = max(best[kind], _quality(parameters))
    return best["application/openmetrics-text"] > best["text/plain"]


def _quality(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0
