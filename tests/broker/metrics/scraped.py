"""A broker in memory, and what a scrape of it gives, read by Prometheus' own parser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open_metrics
from prometheus_client.parser import text_string_to_metric_families as read_text
from twisted.internet.defer import Deferred

from kafkatx.broker.metrics.application import OPEN_METRICS, make_application
from kafkatx.broker.metrics.sources import Sources
from kafkatx.broker.metrics.table import METRICS
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.web.calls import Answer, Call
from tests.broker.running import BrokerTestCase

LIMITS = Limits(1 << 20, -1, -1)

Series = dict[str, dict[frozenset[tuple[str, str]], float]]
"""Values by name and labels."""


def series(answer: Answer) -> Series:
    """Read an answer; fail if a series is there twice, or is not as the table says."""
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    read: Any = read_open_metrics if answer.content_type == OPEN_METRICS else read_text
    table = {metric.name: metric for metric in METRICS}
    found: Series = {}
    for family in read(body.decode()):
        for sample in family.samples:
            metric = table.get(sample.name)
            if metric is None:
                assert sample.name.startswith("kafka_client_"), sample.name
            else:
                assert family.type == metric.kind.value, sample.name
                assert sorted(sample.labels) in ([], sorted(metric.labels)), sample
            of_name, key = found.setdefault(sample.name, {}), frozenset(sample.labels.items())
            assert key not in of_name, f"twice: {sample}"
            of_name[key] = sample.value
    return found


class ScrapeTestCase(BrokerTestCase):
    """A broker whose metrics are read."""

    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.server = KafkaServerFactory(self.dispatch, LIMITS, self.clock)
        self.sources = Sources(self.broker, self.server, None, None, ())
        self.application = make_application(self.sources)

    def ask_for_metrics(self, accept: str = "") -> Answer:
        """Ask for the metrics, a second after the last time."""
        self.clock.advance(1)
        asked: Any = self.application(Call("GET", "/metrics", ("metrics",), {}, {"accept": accept}))
        answer: Answer = self.successResultOf(Deferred.fromCoroutine(asked))
        return answer

    def scrape(self) -> Series:
        """Return all series."""
        return series(self.ask_for_metrics())

    def value(self, found: Series, name: str, **labels: str) -> float | None:
        """Return the value of one series; None if it is not there."""
        return found.get(name, {}).get(frozenset(labels.items()))

    def assertValues(self, found: Series, wanted: Mapping[str, float], **labels: str) -> None:
        """Compare series that have the same labels."""
        self.assertEqual({name: self.value(found, name, **labels) for name in wanted}, dict(wanted))
