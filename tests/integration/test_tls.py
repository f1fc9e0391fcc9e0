"""Brokers with TLS: real clients, certificates that do not fit, peers that misbehave, and renewal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest import SkipTest

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.connection import Connection
from kafkatx.blocking.security import dial_with
from kafkatx.client import aio
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.testing.messages import create_topic
from kafkatx.tls.authority import make_authority
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.integration.tls_files import HOSTS, TlsFiles

VALUE = b"v" * 100_000
COUNT = 20


class TlsTestCase(SynchronousTestCase):
    """A broker with TLS, started by :meth:`start`."""

    def setUp(self) -> None:
        """The files of an authority."""
        self.files = TlsFiles(self.mktemp())

    def start(self, **settings: str) -> EmbeddedBroker:
        """Start a broker with further settings, until the end of the test."""
        broker = EmbeddedBroker(self.files.broker_settings(**settings))
        self.addCleanup(broker.stop)
        broker.start()
        host, _, port = broker.bootstrap.partition(":")
        self.host, self.port = host, int(port)
        return broker

    def ask(self, host: str | None = None, **settings: str) -> Any:
        """Ask for the metadata with our blocking client."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        with Connection(host or self.host, self.port, dial=dial_with(named), timeout_s=5) as connection:
            return connection.request(MetadataRequest([]))

    def wait_for(self, broker: EmbeddedBroker, text: str) -> None:
        """Wait until a line of the broker's log has *text*."""
        end = time.monotonic() + 10
        while not any(text in line for line in broker.log.text().splitlines()):
            self.assertLess(time.monotonic(), end, broker.log.text())
            time.sleep(0.02)


class ClientTests(TlsTestCase):
    """Clients over TLS, with a user's certificate."""

    def setUp(self) -> None:
        """A broker that requires certificates."""
        super().setUp()
        self.broker = self.start(ssl_client_auth="required")

    def context(self) -> ssl.SSLContext:
        """Return the context of clients that take one."""
        context = ssl.create_default_context(cafile=self.files.ca)
        context.load_cert_chain(self.files.user)
        return context

    def test_librdkafka(self) -> None:
        """librdkafka produces and consumes large records."""
        settings = {
            "bootstrap.servers": self.broker.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": self.files.ca,
            "ssl.certificate.location": self.files.user,
            "ssl.key.location": self.files.user,
        }
        producer = Producer(settings)
        for _ in range(COUNT):
            producer.produce("t", VALUE)
        self.assertEqual(producer.flush(10), 0)
        consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        found: list[bytes] = []
        end = time.monotonic() + 15
        while len(found) < COUNT and time.monotonic() < end:
            found += [message.value() for message in consumer.consume(COUNT, 0.5)]
        consumer.close()
        self.assertEqual(found, [VALUE] * COUNT)

    def test_kafka_python(self) -> None:
        """kafka-python produces and consumes."""
        settings: dict[str, Any] = {
            "bootstrap_servers": self.broker.bootstrap,
            "security_protocol": "SSL",
            "ssl_context": self.context(),
        }
        producer = KafkaProducer(**settings)
        producer.send("t", VALUE).get(10)
        producer.close()
        consumer = KafkaConsumer("t", auto_offset_reset="earliest", consumer_timeout_ms=10_000, **settings)
        self.assertEqual(next(consumer).value, VALUE)
        consumer.close()

    def test_aiokafka(self) -> None:
        """aiokafka produces and consumes."""

        async def exchange() -> bytes:
            settings: dict[str, Any] = {
                "bootstrap_servers": self.broker.bootstrap,
                "security_protocol": "SSL",
                "ssl_context": self.context(),
            }
            async with AIOKafkaProducer(**settings) as producer:
                await producer.send_and_wait("t", VALUE)
            async with AIOKafkaConsumer("t", auto_offset_reset="earliest", **settings) as consumer:
                record = await asyncio.wait_for(consumer.getone(), 10)
            return bytes(record.value)

        self.assertEqual(asyncio.run(exchange()), VALUE)

    def test_kcat(self) -> None:
        """kcat lists the broker."""
        if shutil.which("kcat") is None:
            raise SkipTest("kcat is not installed")
        options = [
            *("security.protocol=SSL", f"ssl.ca.location={self.files.ca}"),
            *(f"ssl.certificate.location={self.files.user}", f"ssl.key.location={self.files.user}"),
        ]
        arguments = [part for option in options for part in ("-X", option)]
        listed = subprocess.run(
            ["kcat", "-b", self.broker.bootstrap, "-L", *arguments],
            capture_output=True,
            text=True,
            timeout=20,
        )
        self.assertIn(f"at {self.broker.bootstrap}", listed.stdout, listed.stderr)

    def test_blocking(self) -> None:
        """Our blocking client is answered."""
        answered = self.ask(**_underscored(self.files.client_settings(user=True)))
        self.assertEqual((answered.brokers[0].host, answered.brokers[0].port), (self.host, self.port))

    def test_our_client(self) -> None:
        """Our asyncio client produces and consumes."""

        async def exchange() -> bytes | None:
            settings = {"bootstrap.servers": self.broker.bootstrap, **self.files.client_settings(user=True)}
            async with aio.Producer(settings) as producer:
                await producer.send("t", VALUE)
            reading = {**settings, "group.id": "g", "auto.offset.reset": "earliest"}
            async with aio.Consumer(reading) as consumer:
                consumer.subscribe(["t"])
                async for record in consumer:
                    return bytes(record.value)
            return None

        self.assertEqual(asyncio.run(exchange()), VALUE)

    def test_command_line(self) -> None:
        """The command line reads the settings from a file, and shows none of them."""
        lines = "".join(f"{name}={value}\n" for name, value in self.files.client_settings(user=True).items())
        config = self.files.write("client.properties", lines.encode())
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "kafkatx",
                "topics",
                "create",
                "made",
                "-b",
                self.broker.bootstrap,
                "--command-config",
                config,
            ],
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class RefusedTests(TlsTestCase):
    """Certificates that do not fit, and protocols that do not."""

    def refused(self, **settings: str) -> str:
        """Return the error of our client."""
        named = {"security_protocol": "SSL", "ssl_truststore_location": self.files.ca, **settings}
        return str(self.assertRaises(ConnectionFailed, self.ask, **named))

    def test_wrong_authority(self) -> None:
        """A client refuses a broker of another authority, and the broker's log says that the client did."""
        broker = self.start()
        other = self.files.write("other.pem", make_authority("other").certificate_pem)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", self.refused(ssl_truststore_location=other))
        self.wait_for(broker, "its TLS handshake failed: tlsv1 alert unknown ca")

    def test_other_host(self) -> None:
        """A client refuses a certificate for another host, unless it is told not to look."""
        keystore = self.files.issue("elsewhere.pem", "b", ("elsewhere.example",))
        self.start(ssl_keystore_location=keystore)
        self.assertIn("IP address mismatch", self.refused())
        self.ask(
            security_protocol="SSL",
            ssl_truststore_location=self.files.ca,
            ssl_endpoint_identification_algorithm="",
        )

    def test_other_host_for_twisted(self) -> None:
        """Our Twisted client refuses a certificate of another authority, or for another host."""
        other = self.files.write("other.pem", make_authority("other").certificate_pem)
        self.start()
        self.assertIn("certificate verify failed", self.start_producer(ssl_truststore_location=other))
        self.start(ssl_keystore_location=self.files.issue("elsewhere.pem", "b", ("elsewhere.example",)))
        self.assertIn("127.0.0.1", self.start_producer())
        self.assertEqual(self.start_producer(ssl_endpoint_identification_algorithm=""), "")

    def start_producer(self, **more: str) -> str:
        """Start our Twisted client; return its error, or nothing."""

        async def start() -> str:
            settings = {
                "bootstrap.servers": f"{self.host}:{self.port}",
                **self.files.client_settings(),
                **{name.replace("_", "."): value for name, value in more.items()},
            }
            producer = aio.Producer(settings)
            try:
                await producer.start()
            except ConnectionFailed as error:
                return str(error)
            finally:
                await producer.close()
            return ""

        return asyncio.run(start())

    def test_expired(self) -> None:
        """A client refuses an expired certificate, and the broker's log says that it is."""
        broker = self.start(ssl_keystore_location=self.files.issue("old.pem", "b", HOSTS, days_ago=400))
        self.assertIn("certificate has expired", self.refused())
        self.wait_for(broker, "the certificate of the listener SSL has expired")

    def test_expired_client(self) -> None:
        """A broker refuses a user whose certificate has expired, and its log says so."""
        broker = self.start(ssl_client_auth="required")
        self.refused(ssl_keystore_location=self.files.issue("old-user.pem", "alice", days_ago=400))
        self.wait_for(broker, "certificate verify failed: the certificate has expired")

    def test_client_of_another_authority(self) -> None:
        """A broker refuses a user of another authority, and one without a certificate."""
        broker = self.start(ssl_client_auth="required")
        stranger = self.files.issue("stranger.pem", "eve", by=make_authority("tests"))
        self.refused(ssl_keystore_location=stranger)
        self.wait_for(broker, "certificate verify failed: no trusted authority has signed the certificate")
        self.refused()
        self.wait_for(broker, "peer did not return a certificate")

    def test_no_rule(self) -> None:
        """A certificate without a principal is refused."""
        rules = "RULE:CN=bob/bob/"
        broker = self.start(ssl_client_auth="required", ssl_principal_mapping_rules=rules)
        self.refused(ssl_keystore_location=self.files.user)
        self.wait_for(broker, "no rule of ssl.principal.mapping.rules matches its certificate, CN=alice")

    def test_plain_text(self) -> None:
        """A client without TLS is closed, and the log says why in one line."""
        broker = self.start()
        self.assertRaises(ConnectionFailed, self.ask)
        self.wait_for(broker, "it sends plain text to the TLS listener SSL; set security.protocol=SSL")

    def test_tls_on_plain_port(self) -> None:
        """A TLS client at a plain listener is closed, and the log says why in one line."""
        broker = self.start(listeners="PLAINTEXT://127.0.0.1:0")
        self.refused()
        self.wait_for(broker, "TLS")

    def test_old_version(self) -> None:
        """A client that speaks TLS 1.2 alone is refused where only 1.3 is enabled."""
        self.start(ssl_enabled_protocols="TLSv1.3")
        self.assertIn("VERSION", self.refused(ssl_enabled_protocols="TLSv1.2"))


class HandshakeTests(TlsTestCase):
    """Peers that do not finish their handshakes."""

    def client(self) -> dict[str, str]:
        """Return the settings of a client that behaves."""
        return _underscored(self.files.client_settings())

    def test_slow(self) -> None:
        """A handshake that is not done in time is closed; a peer that sends it in bytes gains nothing."""
        broker = self.start(kafkatx_tls_handshake_timeout_ms="300")
        with socket.create_connection((self.host, self.port)) as slow:
            slow.settimeout(10)
            slow.sendall(b"\x16\x03\x01")
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(slow.recv(10), b"")
        self.wait_for(broker, "its TLS handshake was not done within 0.3 s")

    def test_half_open(self) -> None:
        """A thousand half-open handshakes keep no client out: the oldest ones are closed."""
        broker = self.start(kafkatx_tls_handshakes_max="100")
        opened = [socket.create_connection((self.host, self.port)) for _ in range(1000)]
        try:
            self.ask(**self.client())
            self.wait_for(broker, "kafkatx.tls.handshakes.max=100 reached")
        finally:
            for each in opened:
                each.close()

    def test_turns(self) -> None:
        """Handshakes above the rate wait for their turn, and succeed."""
        self.start(kafkatx_tls_handshakes_per_second="20")
        began_s = time.monotonic()
        for _ in range(10):
            self.ask(**self.client())
        self.assertGreater(time.monotonic() - began_s, 0.25)

    def test_garbage(self) -> None:
        """Bytes that begin like TLS and are none cost their connection only."""
        broker = self.start()
        for garbage in (b"\x16", b"\x16\x03\x01\xff\xff" + bytes(70_000), b"\x16" + os.urandom(300)):
            with socket.create_connection((self.host, self.port)) as peer:
                peer.sendall(garbage)
        self.ask(**self.client())
        self.assertFalse([line for line in broker.log.text().splitlines() if "Traceback" in line])


class RenewalTests(TlsTestCase):
    """Certificates that change while the broker runs."""

    def serial(self) -> int:
        """Return the serial number of the certificate that a new connection gets."""
        context = ssl.create_default_context(cafile=self.files.ca)
        with (
            socket.create_connection((self.host, self.port)) as below,
            context.wrap_socket(below, server_hostname=self.host) as connection,
        ):
            certificate = connection.getpeercert()
        assert certificate is not None
        return int(str(certificate["serialNumber"]), 16)

    def changes(self, before: int, act: Callable[[], object]) -> None:
        """Act until new connections get another certificate."""
        end = time.monotonic() + 10
        while self.serial() == before:
            self.assertLess(time.monotonic(), end)
            act()
            time.sleep(0.05)

    def test_dynamic_config(self) -> None:
        """A dynamic config of the listener makes new connections get the new certificate; old ones go on."""
        self.start(ssl_keystore_location=self.files.broker)
        before = self.serial()
        settings = _underscored(self.files.client_settings())
        named = {name.replace("_", "."): value for name, value in settings.items()}
        with Connection(self.host, self.port, dial=dial_with(named)) as old:
            old.request(MetadataRequest([]))
            new = self.files.issue("new.pem", "broker", HOSTS)
            _alter(old, {"listener.name.ssl.ssl.keystore.location": new})
            self.changes(before, lambda: None)
            old.request(MetadataRequest([]))

    def test_bad_file(self) -> None:
        """A file that cannot be used is refused, and leaves the certificate as it was."""
        self.start()
        before = self.serial()
        named = self.files.client_settings()
        with Connection(self.host, self.port, dial=dial_with(named)) as client:
            client.request(MetadataRequest([]))
            bad = self.files.write("bad.pem", b"nonsense")
            refused = self.assertRaises(
                AssertionError, _alter, client, {"listener.name.ssl.ssl.keystore.location": bad}
            )
        self.assertIn("bad.pem", str(refused))
        self.assertEqual(self.serial(), before)


def _underscored(settings: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "_"): value for name, value in settings.items()}


def _alter(connection: Connection, configs: dict[str, str]) -> None:
    """Change dynamic configs of broker 0."""
    from kafkatx.wire.messages.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )

    changed = [AlterableConfig(name, 0, value) for name, value in configs.items()]
    (answer,) = connection.request(
        IncrementalAlterConfigsRequest([AlterConfigsResource(4, "0", changed)])
    ).responses
    assert not answer.error_code, answer.error_message


class ClusterTests(SynchronousTestCase):
    """Brokers with TLS among each other."""

    def test_three_brokers(self) -> None:
        """Three brokers replicate over TLS, with certificates on both sides."""
        files = TlsFiles(self.mktemp())
        settings: dict[str, str | int] = {
            "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
            "inter.broker.listener.name": "SSL",
            "listener.name.ssl.ssl.keystore.location": files.broker,
            "listener.name.ssl.ssl.truststore.location": files.ca,
            "listener.name.ssl.ssl.client.auth": "required",
            "min.insync.replicas": 3,
        }
        with EmbeddedCluster(3, settings) as cluster:
            broker = cluster.brokers[1]
            create_topic(broker.bootstrap, "t", 3, {}, 3)
            producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
            errors: list[object] = []
            for number in range(30):
                producer.produce(
                    "t", VALUE, partition=number % 3, callback=lambda error, _: errors.append(error)
                )
            self.assertEqual(producer.flush(20), 0)
            self.assertEqual(errors, [None] * 30)
