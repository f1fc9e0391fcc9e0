"""The HTTP listener of a broker: ports, health, and who may ask."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs, formatEvent

from kafkatx.broker.console.holder import ConsoleHolder
from kafkatx.broker.http.endpoint import HttpEndpoint, allowed_hosts
from kafkatx.broker.metrics.holder import MetricsHolder
from kafkatx.broker.registry.holder import RegistryHolder
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.net.server import KafkaServerFactory, Limits
from tests.broker.running import BrokerTestCase


class FakePort:
    """A port that notes whether it is read."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port, self.reading = host, port or 4711, True

    def getHost(self) -> FakePort:
        """Return host and port."""
        return self

    def stopReading(self) -> None:
        """Note it."""
        self.reading = False

    def startReading(self) -> None:
        """Note it."""
        self.reading = True

    def stopListening(self) -> None:
        """Note it."""
        self.reading = False


class EndpointTests(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {"http.listeners": "HTTP://localhost:0,HTTP://0.0.0.0:8081"}

    def setUp(self) -> None:
        """Make an endpoint that listens at fake ports."""
        super().setUp()
        self.ports: list[FakePort] = []
        self.factories: list[Any] = []
        self.fails, self.taken = False, -1
        self.registry = RegistryHolder(self.broker)
        server = KafkaServerFactory(self.dispatch, Limits(1 << 20, -1, -1), self.clock)
        self.metrics = MetricsHolder(self.broker, server, None, self)
        self.console_server = server
        self.console = ConsoleHolder(self.broker, server, self.metrics, self.registry)
        self.endpoint = HttpEndpoint(self.broker, self.registry, self.metrics, self.console, self)
        self.callLater, self.seconds = self.clock.callLater, self.clock.seconds

    def listenTCP(self, port: int, factory: Any, backlog: int, host: str) -> FakePort:
        """Listen, as a reactor does."""
        if self.fails or port == self.taken:
            raise CannotListenError(host, port, OSError("in use"))
        self.ports.append(FakePort(host, port))
        self.factories.append(factory)
        return self.ports[-1]

    def get(self, path: str, number: int = 0, host: str = "localhost") -> bytes:
        """Ask for a path at a listener; return all of the response."""
        protocol, transport = self.factories[number].buildProtocol(None), StringTransport()
        protocol.makeConnection(transport)
        protocol.dataReceived(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        sent: bytes = transport.value()
        return sent

    def test_ports(self) -> None:
        """The ports are bound at once, and read when the broker is ready; a cut stops that."""
        self.endpoint.listen()
        self.assertEqual(self.endpoint.bound, [("127.0.0.1", 4711), ("127.0.0.1", 8081)])
        self.assertEqual([port.reading for port in self.ports], [False, False])
        self.endpoint.accept()
        self.assertEqual([port.reading for port in self.ports], [True, True])
        self.endpoint.isolate()
        self.assertEqual([port.reading for port in self.ports], [False, False])
        self.endpoint.accept()
        self.successResultOf(Deferred.fromCoroutine(self.endpoint.stop()))
        self.assertEqual([port.reading for port in self.ports], [False, False])

    def test_in_use(self) -> None:
        """A port that is in use is told with the setting."""
        self.fails = True
        error = self.assertRaises(SettingError, self.endpoint.listen)
        self.assertIn("http.listeners=HTTP://localhost:0", str(error))

    def test_fallback(self) -> None:
        """A port that is in use is replaced by any free one, if the settings say so."""
        self.taken = 8081
        self.broker.config = self.broker.config.with_values({"kafkatx.http.port.fallback": "true"})
        self.endpoint.listen()
        self.assertEqual([port for _, port in self.endpoint.bound], [4711, 4711])

    def test_health(self) -> None:
        """The broker is live when it listens, and ready when clients can use it."""
        self.endpoint.listen()
        self.assertIn(b" 200 OK", self.get("/health/live"))
        self.assertIn(b" 503 ", self.get("/health/ready"))
        self.endpoint.health.ready = True
        self.assertIn(b" 200 OK", self.get("/health/ready"))
        self.broker.replicas.halted.callback("all log dirs have failed")
        self.assertIn(b"every log dir is offline", self.get("/health/ready"))

    def test_root(self) -> None:
        """A browser is led to the console, if there is one; other clients get the registry's answer."""
        browser = "/ HTTP/1.1\r\nAccept: text/html,*/*\r\nX-Rest:"
        self.endpoint.listen()
        self.assertIn(b" 200 OK", self.get(browser))
        self.broker.config = self.broker.config.with_values({"kafkatx.console.enable": "true"})
        console = ConsoleHolder(self.broker, self.console_server, self.metrics, self.registry)
        self.endpoint = HttpEndpoint(self.broker, self.registry, self.metrics, console, self)
        self.endpoint.listen()
        led = self.get(browser, 2)
        self.assertIn(b" 302 ", led)
        self.assertIn(b"Location: /console/\r\n", led)
        self.assertIn(b" 200 OK", self.get("/", 2))

    def test_hosts(self) -> None:
        """A listener answers requests for its own names, which are more for one on all interfaces."""
        own = socket.gethostname()
        self.endpoint.listen()
        for number, host, status in (
            (0, "evil.example", 403),
            (0, own, 403),
            (0, "10.0.0.1", 200),
            (1, "evil.example", 403),
            (1, own.upper(), 200),
        ):
            self.assertIn(b" %d " % status, self.get("/health/live", number, host), (number, host))

    def test_allowed_hosts(self) -> None:
        """The names are those that are advertised, and those of the setting; TLS needs no check of names."""
        advertised = {
            "listeners": "PLAINTEXT://:0",
            "advertised.listeners": "PLAINTEXT://A.example:9092",
            "http.advertised.listener": "HTTP://b.example:80",
        }
        allowed = {"kafkatx.http.allowed.hosts": "C.example"}
        for listener, values, expected in (
            ("HTTP://:1", advertised, {"a.example", "b.example"}),
            ("HTTP://:1", {"advertised.host.name": "d.example"}, {"d.example"}),
            ("HTTP://localhost:1", advertised, set()),
            ("HTTP://localhost:1", allowed, {"c.example"}),
            ("HTTP://e.example:1", allowed, {"c.example", "e.example"}),
            ("HTTPS://:1", advertised, None),
            ("HTTPS://:1", allowed, {"c.example"}),
            ("HTTP://:1", {"kafkatx.http.allowed.hosts": "*"}, None),
        ):
            config = BrokerConfig.load(None, {"http.listeners": listener, **values})
            (one,) = config.http_listeners()
            found = allowed_hosts(config, one)
            own = set() if "localhost" in listener else {socket.gethostname().lower()}
            self.assertEqual(found, None if expected is None else expected | own, (listener, values))

    def test_tls(self) -> None:
        """A listener with TLS is wrapped by the broker's certificates, and its URL says so."""
        self.broker.config = self.broker.config.with_values(
            {"http.listeners": "HTTP://localhost:0,HTTPS://localhost:8443"}
        )
        wrapped: list[Any] = []

        def wrap(factory: Any) -> str:
            wrapped.append(factory)
            return "wrapped"

        tls: Any = SimpleNamespace(wrap=wrap, principal={"HTTPS": "User:CN=broker"}.get)
        endpoint = HttpEndpoint(self.broker, self.registry, self.metrics, self.console, self, tls)
        endpoint.listen()
        self.assertEqual((self.factories[1], wrapped[0].listener), ("wrapped", "HTTPS"))
        self.assertIsNone(self.factories[0].site.logins)  # no header tells who its clients are
        self.assertEqual(list(wrapped[0].site.logins._brokers()), ["User:CN=broker"])
        self.assertEqual(endpoint.urls, ["http://127.0.0.1:4711", "https://127.0.0.1:8443"])

    def test_registry(self) -> None:
        """Both listeners have one registry, which is made with the first request."""
        self.endpoint.listen()
        before = len(self.broker.topics.role_listeners)
        self.assertIn(b"BACKWARD", self.get("/config"))
        self.assertIn(b"BACKWARD", self.get("/config", 1))
        self.assertEqual(len(self.broker.topics.role_listeners), before + 1)
        self.assertIn(b" 404 ", self.get("/nowhere"))
        self.successResultOf(Deferred.fromCoroutine(self.endpoint.stop()))

    def test_metrics(self) -> None:
        """Both listeners have the metrics of one broker, which tell of both."""
        self.endpoint.listen()
        self.assertIn(b" 404 ", self.get("/nowhere"))
        self.clock.advance(1)
        for number in (0, 1):
            answer = self.get_all("/metrics", number)
            self.assertIn(b'kafkatx_http_requests_total{status="404"} 1', answer)

    def get_all(self, path: str, number: int) -> bytes:
        """Ask for a path whose answer comes in pieces."""
        protocol, transport = self.factories[number].buildProtocol(None), StringTransport()
        protocol.makeConnection(transport)
        protocol.dataReceived(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.clock.advance(0)
        sent: bytes = transport.value()
        return sent

    def test_console(self) -> None:
        """A console that the settings ask for is there at both listeners, and open to all who reach them."""
        self.endpoint.listen()
        self.assertIn(b" 404 ", self.get("/console/api/v1/session"))
        self.broker.config = self.broker.config.with_values({"kafkatx.console.enable": "true"})
        self.endpoint.listen()
        self.endpoint.accept()
        self.clock.advance(1)
        for number in (2, 3):
            protocol, transport = self.factories[number].buildProtocol(None), StringTransport()
            protocol.makeConnection(transport)
            protocol.dataReceived(b"GET /console/api/v1/session HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.clock.pump([0] * 20)
            self.assertIn(b'"principal":"User:ANONYMOUS"', transport.value())
        self.successResultOf(Deferred.fromCoroutine(self.endpoint.stop()))

    def test_open_console(self) -> None:
        """The log tells of a console that all others may use to change everything, and of no other one."""
        for settings, warned in (
            ({"kafkatx.console.enable": "false"}, False),
            ({"kafkatx.console.enable": "true"}, True),
            ({"kafkatx.console.enable": "true", "kafkatx.console.read.only": "true"}, False),
            ({"kafkatx.console.enable": "true", "http.listeners": "HTTP://127.0.0.1:1"}, False),
        ):
            self.broker.config = self.broker.config.with_values(settings)
            with capturedLogs() as events:
                self.endpoint.listen()
            found = [line for line in map(formatEvent, events) if "lets everyone" in line]
            self.assertEqual(len(found), int(warned), (settings, found))

    def test_load_rest(self) -> None:
        """Everything that a request needs can be imported before."""
        self.assertEqual(list(self.endpoint.load_rest()), [None, None, None])
