"""The ports of a broker's listeners, on a reactor without sockets."""

from __future__ import annotations

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import CannotListenError

from kafkatx.broker.handlers import SERVED
from kafkatx.broker.listeners.ports import Listeners
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.net.server import KafkaServerFactory, Limits, ListenerFactory
from tests.broker.running import BrokerTestCase

LIMITS = Limits(1 << 20, -1, -1)


class Port:
    """A bound port."""

    reading = True

    def __init__(self, number: int) -> None:
        self.number = number

    def getHost(self) -> IPv4Address:
        """Return its address."""
        return IPv4Address("TCP", "127.0.0.1", self.number)

    def stopReading(self) -> None:
        """Leave connections in the kernel."""
        self.reading = False

    def startReading(self) -> None:
        """Accept connections."""
        self.reading = True

    def stopListening(self) -> None:
        """Close it."""


class Reactor:
    """A reactor that notes what is bound."""

    def __init__(self) -> None:
        self.bound: list[tuple[int, str, Any]] = []
        self.ports: list[Port] = []
        self.error: CannotListenError | None = None

    def listenTCP(self, port: int, factory: object, backlog: int, interface: str) -> Port:
        """Bind a port, or fail."""
        if self.error is not None:
            raise self.error
        self.bound.append((port, interface, factory))
        self.ports.append(Port(port))
        return self.ports[-1]


class ListenersTests(BrokerTestCase):
    def listeners(self, **settings: str) -> Listeners:
        """Return listeners that are not bound."""
        self.reactor = Reactor()
        config = BrokerConfig.load(None, {name.replace("_", "."): text for name, text in settings.items()})
        return Listeners(config, self.broker.workers, self.reactor)

    def test_bound(self) -> None:
        """Each listener is bound with a factory of its own; without TLS nothing wraps it."""
        listeners = self.listeners(
            listeners="A://localhost:1,B://10.0.0.7:2",
            listener_security_protocol_map="A:PLAINTEXT,B:PLAINTEXT",
        )
        server = KafkaServerFactory(self.dispatch, LIMITS, self.clock)
        self.assertEqual(listeners.bind(self.broker, SERVED, server), [1, 2])
        bound = [(port, host, factory.listener) for port, host, factory in self.reactor.bound]
        self.assertEqual(bound, [(1, "127.0.0.1", "A"), (2, "10.0.0.7", "B")])
        self.assertEqual({type(factory) for _, _, factory in self.reactor.bound}, {ListenerFactory})
        for act, reading in ((None, False), (listeners.accept, True), (listeners.shut, False)):
            if act is not None:
                act()
            self.assertEqual({port.reading for port in self.reactor.ports}, {reading})
        self.assertIsNone(listeners.tls)
        self.assertIsNone(listeners.make_endpoint(None))

    def test_port_in_use(self) -> None:
        """A port that is in use is told by the setting."""
        listeners = self.listeners(listeners="PLAINTEXT://127.0.0.1:9092")

        self.reactor.error = CannotListenError("127.0.0.1", 9092, "in use")
        server = KafkaServerFactory(self.dispatch, LIMITS, self.clock)
        error = self.assertRaises(SettingError, listeners.bind, self.broker, SERVED, server)
        self.assertIn("listeners=PLAINTEXT://127.0.0.1:9092: cannot listen there: in use", str(error))

    def test_no_certificate(self) -> None:
        """A listener with TLS and without a certificate prevents the start, and says what to do."""
        listeners = self.listeners(listeners="SSL://127.0.0.1:9093")
        server = KafkaServerFactory(self.dispatch, LIMITS, self.clock)
        error = self.assertRaises(SettingError, listeners.bind, self.broker, SERVED, server)
        self.assertIn("listener SSL: ssl.keystore.location is not set", str(error))
        self.assertIn("kafkatx tls init", str(error))
