"""The collector of the broker itself: the cluster, the reactor, connections, requests, certificates."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.testing import StringTransport

from kafkatx.broker.metrics.application import make_application
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.net.poll_meter import PollMeter
from kafkatx.types import NO_LEADER
from kafkatx.web.calls import Call
from kafkatx.web.limits import WebLimits
from kafkatx.web.server import WebServerFactory
from kafkatx.web.site import Site
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.list_groups import ListGroupsRequest
from tests.broker.metrics.scraped import ScrapeTestCase
from tests.net.test_poll_meter import FakePoller


class ServerCollectorTests(ScrapeTestCase):
    def test_cluster(self) -> None:
        """The broker tells of the cluster as it sees it."""
        found = self.scrape()
        self.assertValues(found, {"kafka_brokers": 1, "kafkatx_fenced": 0})
        self.assertValues(found, {"kafka_broker_info": 1}, id="0", address="127.0.0.1:9092")
        self.assertValues(found, {"kafka_controller_kafkacontroller_activecontrollercount": 1})
        (info,) = found["kafkatx_info"]
        self.assertEqual(dict(info)["cluster"], self.broker.metadata.state.cluster_id)

    def test_offline_partitions(self) -> None:
        """The controller counts the partitions without a leader."""
        self.make_topic(partitions=2)
        metadata: Any = self.broker.metadata
        state = metadata.state
        topic = state.topics["t"]
        partitions = (attrs.evolve(topic.partitions[0], leader=NO_LEADER), topic.partitions[1])
        topics = {"t": attrs.evolve(topic, partitions=partitions)}
        name = "kafka_controller_kafkacontroller_offlinepartitionscount"
        for controller_id, count in ((0, 1), (7, 0)):
            metadata.state = attrs.evolve(state, topics=topics, controller_id=controller_id)
            self.assertValues(self.scrape(), {name: count})
        metadata.state = state

    def test_requests(self) -> None:
        """Requests are counted by API and version, and refused ones by their error."""
        for _ in range(3):
            self.ask(18, 3, ApiVersionsRequest("tests", "1"))
        self.ask(16, 4, ListGroupsRequest())
        found = self.scrape()
        requests = "kafka_network_requestmetrics_requests_total"
        self.assertValues(found, {requests: 3}, request="ApiVersions", version="3")
        self.assertValues(found, {requests: 1}, request="ListGroups", version="4")
        self.assertNotIn("kafka_network_requestmetrics_errors_total", found)

    def test_refused(self) -> None:
        """A request that is refused as a whole is counted by its error; so is a fault of ours."""
        errors = "kafka_network_requestmetrics_errors_total"
        route = self.dispatch._route(16, 4, None)
        assert route is not None

        def refuse(error: Exception) -> Any:
            def answer(*_: object) -> None:
                raise error

            return answer

        for error in (RequestError(ErrorCode.INVALID_REQUEST), RuntimeError("a bug")):
            route.answer = refuse(error)
            self.dispatch._routes[16, 4] = route
            self.ask(16, 4, ListGroupsRequest())
        self.flushLoggedErrors(RuntimeError)
        found = self.scrape()
        self.assertValues(found, {errors: 1}, request="ListGroups", error="INVALID_REQUEST")
        self.assertValues(found, {errors: 1}, request="ListGroups", error="UNKNOWN_SERVER_ERROR")

    def test_connections(self) -> None:
        """Connections are counted by their listener, open ones and all that came."""
        address = IPv4Address("TCP", "127.0.0.1", 5)
        opened = [self.server.connection(address, self.dispatch, name) for name in ("A", "A", "B")]
        for connection in opened:
            assert connection is not None
            connection.makeConnection(StringTransport(peerAddress=address))
        assert opened[0] is not None
        opened[0].connectionLost()
        assert opened[1] is not None
        opened[1].dataReceived(b"\0\0\0\x64" + bytes(46))
        found = self.scrape()
        count = "kafka_server_socket_server_metrics_connection_count"
        created = "kafka_server_socket_server_metrics_connection_creation_total"
        self.assertValues(found, {count: 1, created: 2}, listener="A")
        self.assertValues(found, {count: 1, created: 1}, listener="B")
        self.assertValues(found, {"kafkatx_request_memory_bytes": 50, "kafkatx_request_memory_exhausted": 0})

    def test_reactor(self) -> None:
        """The idle share of the reactor has the names of Apache Kafka's two pools of threads."""
        poller = FakePoller(self.clock)
        meter = PollMeter(poller, self.clock.seconds)
        self.application = make_application(attrs.evolve(self.sources, meter=meter))
        self.clock.advance(1)
        poller.wait_s = 3
        meter.poll()
        found = self.scrape()
        wanted = {
            "kafka_network_socketserver_networkprocessoravgidle_percent": 0.75,
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent": 0.75,
            "kafkatx_reactor_idle_seconds_total": 3,
            "kafkatx_reactor_busy_seconds_total": 1,
            "kafkatx_reactor_slow_turns_total": 1,
        }
        self.assertValues(found, wanted)

    def test_web(self) -> None:
        """Requests of HTTP are counted by status, those of all listeners together."""
        web = [WebServerFactory(Site(), WebLimits(), self.clock) for _ in range(2)]
        for factory in web:
            answer = factory.site.answer(Call("GET", "/", ("nowhere",), {}))
            self.successResultOf(Deferred.fromCoroutine(answer))
        self.application = make_application(attrs.evolve(self.sources, web=web))
        found = self.scrape()
        self.assertValues(found, {"kafkatx_http_requests_total": 2}, status="404")
        self.assertValues(found, {"kafkatx_http_connections": 0})

    def test_certificates(self) -> None:
        """The end of each listener's certificate is told, so that an alert comes before it."""

        class Tls:
            def ends(self) -> list[tuple[str, float]]:
                return [("SSL", 1_900_000_000.4), ("HTTPS", 1_950_000_000.0), ("HTTPS", 1_940_000_000.0)]

        tls: Any = Tls()
        self.application = make_application(attrs.evolve(self.sources, tls=tls))
        found = self.scrape()
        name = "kafkatx_certificate_not_after_seconds"
        self.assertValues(found, {name: 1_900_000_000}, listener="SSL")
        self.assertValues(found, {name: 1_940_000_000}, listener="HTTPS")

    def test_cold_reads(self) -> None:
        """Reads that had to wait for the disk are counted."""
        self.broker.cold_reads += 2
        self.assertValues(self.scrape(), {"kafkatx_cold_reads_total": 2})
