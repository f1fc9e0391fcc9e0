"""listeners and advertised.listeners."""

from __future__ import annotations

import socket

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig, Listener
from kafkatx.config.listeners import parse_listeners
from kafkatx.errors import SettingError
from kafkatx.nodes import Endpoint

PARSED = (
    ("PLAINTEXT://127.0.0.1:9092", Listener("PLAINTEXT", "127.0.0.1", 9092)),
    ("plaintext://localhost:0", Listener("PLAINTEXT", "localhost", 0)),
    ("PLAINTEXT://:9092", Listener("PLAINTEXT", "", 9092)),
    ("IN_SIDE://0.0.0.0:65535", Listener("IN_SIDE", "0.0.0.0", 65535)),
    ("PLAINTEXT://[::1]:9092", Listener("PLAINTEXT", "::1", 9092)),
    ("PLAINTEXT://[fe80::1%eth0]:9092", Listener("PLAINTEXT", "fe80::1%eth0", 9092)),
    ("PLAINTEXT://[localhost]:9092", None),
    ("PLAINTEXT://[fe80::1]:9092", Listener("PLAINTEXT", "fe80::1", 9092)),
    ("PLAINTEXT://my-host.example:9092", Listener("PLAINTEXT", "my-host.example", 9092)),
    ("127.0.0.1:9092", None),
    ("PLAINTEXT://127.0.0.1", None),
    ("PLAINTEXT://127.0.0.1:", None),
    ("PLAINTEXT://127.0.0.1:65536", None),
    ("PLAINTEXT://127.0.0.1:-1", None),
    ("PLAINTEXT://::1:9092", None),
    ("PLAINTEXT://a b:9092", None),
    ("://127.0.0.1:9092", None),
    ("PLAINTEXT:/127.0.0.1:9092", None),
)

# what is set, the ports that are bound, what clients are told
TOLD: tuple[tuple[dict[str, str], tuple[int, ...], tuple[str, int]], ...] = (
    ({}, (9092,), ("127.0.0.1", 9092)),
    ({"listeners": "PLAINTEXT://127.0.0.1:0"}, (5,), ("127.0.0.1", 5)),
    ({"listeners": "PLAINTEXT://localhost:0"}, (5,), ("127.0.0.1", 5)),
    ({"listeners": "PLAINTEXT://[::1]:0"}, (5,), ("::1", 5)),
    ({"listeners": "PLAINTEXT://10.0.0.7:9092"}, (9092,), ("10.0.0.7", 9092)),
    ({"listeners": "PLAINTEXT://:9092"}, (9092,), (socket.gethostname(), 9092)),
    ({"listeners": "PLAINTEXT://0.0.0.0:0"}, (5,), (socket.gethostname(), 5)),
    ({"listeners": "PLAINTEXT://[::]:0"}, (5,), (socket.gethostname(), 5)),
    ({"advertised.listeners": "PLAINTEXT://kafka.example:19092"}, (9092,), ("kafka.example", 19092)),
    ({"advertised.listeners": "plaintext://kafka.example:0"}, (5,), ("kafka.example", 5)),
    ({"port": "7"}, (7,), ("127.0.0.1", 7)),
    ({"port": "7", "host.name": "10.0.0.7"}, (7,), ("10.0.0.7", 7)),
    ({"advertised.host.name": "kafka.example"}, (9092,), ("kafka.example", 9092)),
    ({"advertised.host.name": "kafka.example", "advertised.port": "8"}, (9092,), ("kafka.example", 8)),
    (
        {
            "listeners": "A://:1,B://:2",
            "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
            "advertised.listeners": "B://b.example:0",
        },
        (1, 2),
        ("b.example", 2),
    ),
)

# what is set, and what its refusal says
REFUSED: tuple[tuple[dict[str, str], str], ...] = (
    ({"listeners": ""}, "listeners=: the value must be"),
    ({"listeners": "nonsense"}, "listeners=nonsense: a listener must be NAME://host:port"),
    (
        {"sasl.enabled.mechanisms": "GSSAPI"},
        "sasl.enabled.mechanisms=GSSAPI: the value must be one or more of",
    ),
    (
        {"listener.name.x.plain.connections.max.reauth.ms": "-1"},
        "listener.name.x.plain.connections.max.reauth.ms=-1: the value must be",
    ),
    ({"listeners": "OUTSIDE://:9093"}, "add OUTSIDE:PLAINTEXT to listener.security.protocol.map"),
    (
        {"listener.security.protocol.map": "PLAINTEXT:NONE", "listeners": "A://:1"},
        "=PLAINTEXT:NONE: an item must",
    ),
    (
        {"listener.security.protocol.map": "PLAINTEXT", "listeners": "A://:1"},
        "=PLAINTEXT: an item must be NAME:",
    ),
    ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "its own name"),
    (
        {"listeners": "A://h:1,B://h:1", "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT"},
        "two listeners have the same address",
    ),
    (
        {"listeners": "CONTROLLER://:9093", "controller.listener.names": "CONTROLLER"},
        "no listener for clients",
    ),
    ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "clients cannot connect to 0.0.0.0"),
    ({"advertised.listeners": "PLAINTEXT://:9092"}, "clients cannot connect to an empty host"),
    ({"advertised.listeners": "OUTSIDE://h:9092"}, "OUTSIDE is not in listeners"),
    (
        {"inter.broker.listener.name": "INSIDE"},
        "inter.broker.listener.name=INSIDE: there is no such listener",
    ),
    (
        {"security.inter.broker.protocol": "SSL"},
        "security.inter.broker.protocol=SSL: there is no such listener; add SSL://host:port",
    ),
    (
        {"security.inter.broker.protocol": "PLAINTEXT", "inter.broker.listener.name": "PLAINTEXT"},
        "inter.broker.listener.name=PLAINTEXT: security.inter.broker.protocol=PLAINTEXT is set, too",
    ),
    ({"port": "65536"}, "port=65536: the value must be a whole number from 0 to 65535"),
)


class ListenersTests(SynchronousTestCase):
    """Tests of listeners and advertised addresses."""

    def test_parse(self) -> None:
        """A listener is NAME://host:port, with IPv6 addresses in brackets; all else is refused."""
        for text, listener in PARSED:
            if listener is None:
                self.assertRaises(SettingError, parse_listeners, "listeners", [text])
            else:
                self.assertEqual(parse_listeners("listeners", [text]), (listener,))

    def test_shown_as_written(self) -> None:
        """A listener is shown as it is written."""
        for text in ("PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://[::1]:0", "PLAINTEXT://:9092"):
            self.assertEqual(str(parse_listeners("listeners", [text])[0]), text)

    def test_default(self) -> None:
        """Without settings the broker listens on loopback only."""
        self.assertEqual(BrokerConfig.load().listeners(), (Listener("PLAINTEXT", "127.0.0.1", 9092),))

    def test_old_names(self) -> None:
        """port and host.name say where to listen if listeners does not; alone, the port stays on loopback."""
        for values, listener in (
            ({"port": "7"}, Listener("PLAINTEXT", "127.0.0.1", 7)),
            ({"port": "7", "host.name": ""}, Listener("PLAINTEXT", "", 7)),
            ({"port": "7", "listeners": "PLAINTEXT://h:8"}, Listener("PLAINTEXT", "h", 8)),
        ):
            self.assertEqual(BrokerConfig.load(None, values).listeners(), (listener,))

    def test_inter_broker(self) -> None:
        """Other brokers use the listener that is named for them, and its own advertised address if any."""
        two = {
            "listeners": "A://:1,B://10.0.0.7:2",
            "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
        }
        for settings, port, internal in (
            ({}, 1, None),
            ({"inter.broker.listener.name": "a"}, 1, None),
            ({"inter.broker.listener.name": "b"}, 2, ("10.0.0.7", 2)),
            ({"advertised.listeners": "B://b.example:9,A://a.example:8"}, 2, None),
            (
                {
                    "advertised.listeners": "B://b.example:9,A://a.example:8",
                    "inter.broker.listener.name": "A",
                },
                1,
                ("a.example", 8),
            ),
        ):
            config = BrokerConfig.load(None, {**two, **settings})
            self.assertEqual(config.inter_broker_port((1, 2)), port, settings)
            self.assertEqual(config.internal((1, 2)), internal, settings)

    def test_inter_broker_protocol(self) -> None:
        """security.inter.broker.protocol chooses the listener of that name."""
        config = BrokerConfig.load(
            None, {"listeners": "PLAINTEXT://:1,SSL://:2", "security.inter.broker.protocol": "SSL"}
        )
        self.assertEqual((config.inter_broker.name, config.inter_broker.protocol), ("SSL", "SSL"))

    def test_endpoints(self) -> None:
        """Each listener has its advertised address and its protocol; unnamed ones are not advertised."""
        two = {
            "listeners": "A://127.0.0.1:0,B://10.0.0.7:2",
            "listener.security.protocol.map": "A:PLAINTEXT,B:SSL",
        }
        a, b = Endpoint("A", "127.0.0.1", 1), Endpoint("B", "10.0.0.7", 2, "SSL")
        self.assertEqual(BrokerConfig.load(None, two).endpoints((1, 2)), (a, b))
        told = BrokerConfig.load(None, {**two, "advertised.listeners": "B://b.example:0"})
        self.assertEqual(told.endpoints((1, 2)), (Endpoint("B", "b.example", 2, "SSL"),))

    def test_http(self) -> None:
        """Listeners for HTTP are named by their protocol; others are told the first one's address."""
        for values, told in (
            ({"http.listeners": "HTTPS://10.0.0.7:0,HTTP://:8081"}, Endpoint("HTTPS", "10.0.0.7", 5, "SSL")),
            ({"http.listeners": "http://10.0.0.7:8081"}, Endpoint("HTTP", "10.0.0.7", 5)),
            (
                {"http.listeners": "HTTP://:1", "http.advertised.listener": "HTTPS://proxy:0"},
                Endpoint("HTTPS", "proxy", 5, "SSL"),
            ),
            ({"http.listeners": "HTTPS://localhost:1"}, None),
            ({}, None),
        ):
            found = BrokerConfig.load(None, values).http_advertised((5, 6), "b.example")
            self.assertEqual(found, told, values)
        error = self.assertRaises(SettingError, BrokerConfig.load, None, {"http.listeners": "SSL://:1"})
        self.assertIn("HTTPS://host:port for TLS", str(error))

    def test_controllers_are_left_out(self) -> None:
        """Listeners of KRaft controllers are left out, with one warning each, whatever protocol they have."""
        config = BrokerConfig.load(
            None,
            {
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL",
                "advertised.listeners": "PLAINTEXT://h:1,CONTROLLER://h:2",
            },
        )
        self.assertEqual(config.listeners(), (Listener("PLAINTEXT", "", 9092),))
        self.assertEqual(config.advertised([9092]), ("h", 1))
        self.assertEqual(
            config.warnings, ("listeners=CONTROLLER://:9093: ignored, kafkatx has no KRaft controller",)
        )

    def test_told(self) -> None:
        """Clients are told what is advertised, else an address that fits what is bound."""
        for values, ports, told in TOLD:
            self.assertEqual(BrokerConfig.load(None, values).advertised(ports), told, values)

    def test_refused(self) -> None:
        """Addresses that cannot be used are rejected, and the message has the remedy."""
        for values, what in REFUSED:
            message = str(self.assertRaises(SettingError, BrokerConfig.load, None, values))
            self.assertIn(what, message)
