"""The application at ``/metrics``: formats, and families of names."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

from twisted.internet.defer import Deferred

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.metrics.application import (
    OPEN_METRICS,
    TEXT,
    make_application,
    prefers_open_metrics,
)
from kafkatx.broker.metrics.table import FAMILIES, METRICS
from kafkatx.broker.metrics.table.process import PROCESS
from kafkatx.net.requests import Peer, Session
from kafkatx.web.calls import Call, WebError
from tests.broker.metrics.scraped import ScrapeTestCase, series

PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


class ApplicationTests(ScrapeTestCase):
    def test_formats(self) -> None:
        """Prometheus gets OpenMetrics, curl the text format; both have the same names."""
        plain, open_metrics = self.ask_for_metrics(), self.ask_for_metrics(PROMETHEUS_3)
        self.assertEqual((plain.content_type, open_metrics.content_type), (TEXT, OPEN_METRICS))
        self.assertEqual(set(series(self.ask_for_metrics())), set(series(self.ask_for_metrics(PROMETHEUS_3))))

    def test_negotiation(self) -> None:
        """The quality of each format decides; the text format wins a draw."""
        wanted = {
            PROMETHEUS_3: True,
            "": False,
            "*/*": False,
            "text/plain": False,
            "application/openmetrics-text": True,
            "application/openmetrics-text;q=0.5, text/plain;q=0.5": False,
            "text/plain;q=0.2, Application/OpenMetrics-Text; version=1.0.0": True,
            "application/openmetrics-text;q=0": False,
            "application/openmetrics-text;q=x": False,
        }
        self.assertEqual({accept: prefers_open_metrics(accept) for accept in wanted}, wanted)

    def test_families(self) -> None:
        """A setting chooses the names; those of the process are always there."""
        self.make_topic()
        for chosen in ("kafka", "exporter", "kminion", "kafkatx", ""):
            self.broker.config = self.broker.config.with_values({"kafkatx.metrics.families": chosen})
            self.application = make_application(self.sources)
            names = {metric.name for metric in METRICS if metric.family in (chosen, "")}
            found = set(self.scrape())
            self.assertTrue(found - {metric.name for metric in PROCESS.metrics} or not chosen)
            self.assertLessEqual(found, names)

    def test_access(self) -> None:
        """With an authorizer a client must be allowed to describe the cluster."""
        allowed: list[object] = []

        def allows(peer: Peer, *asked: object, quiet: bool = False) -> bool:
            allowed.append((peer.session.principal, peer.host, *asked))
            return len(allowed) > 1

        self.broker.authorization = Mock(allows=allows)
        application: Any = make_application(self.sources)
        call = Call("GET", "/", ("metrics",), {}, session=Session("User:ann"), client="192.0.2.7")
        asked = Deferred.fromCoroutine(application(call))
        error: Any = self.failureResultOf(asked, WebError).value
        self.assertEqual((error.status, error.code), (403, 40301))
        self.assertEqual(str(error), "User:ann may not describe the cluster")
        asked = Deferred.fromCoroutine(application(call))
        self.assertEqual(self.successResultOf(asked).status, 200)
        wanted = ("User:ann", "192.0.2.7", AclOperation.DESCRIBE, ResourceType.CLUSTER)
        self.assertEqual(allowed, [wanted, wanted])

    def test_other_paths(self) -> None:
        """Only GET of the path itself is answered."""
        for method, path, status in (("GET", ("metrics", "more"), 404), ("POST", ("metrics",), 405)):
            error: Any = self.assertRaises(WebError, self.application, Call(method, "/", path, {}))
            self.assertEqual(error.status, status)

    def test_table(self) -> None:
        """Each name is in the table once, and has a text."""
        names = [metric.name for metric in METRICS]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual([metric.name for metric in METRICS if not metric.help.endswith((".", ":"))], [])
        self.assertEqual({metric.family for metric in METRICS}, {family.name for family in FAMILIES})
