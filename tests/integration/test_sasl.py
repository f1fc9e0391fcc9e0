"""Brokers with SASL: real clients, users that come and go, a cluster whose brokers log in at each other."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import ssl
import subprocess
import sys
import time
from typing import Any
from unittest import SkipTest

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka import KafkaConsumer, KafkaProducer
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.credentials import Credentials
from kafkatx.blocking.security import dial_with
from kafkatx.client import aio, threads
from kafkatx.clientcore.admin.security.credentials import UserCredential
from kafkatx.clientcore.errors import AuthenticationFailed
from kafkatx.errors import KafkaTXError
from kafkatx.security.jaas import PLAIN
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.broker.logins.tokens.issuer import ISSUER, key_set, token
from tests.integration.tls_files import TlsFiles
from tests.until import until

USERS = f'{PLAIN} required username="broker" password="b" user_broker="b" user_admin="adm1n";'
VALUE = b"v" * 10_000
SECRET = "wonderland"


def jaas(*listeners: str) -> dict[str, str]:
    """Return the settings of PLAIN users at some listeners."""
    return {f"listener.name.{name}.plain.sasl.jaas.config": USERS for name in listeners}


def sasl_address(broker: EmbeddedBroker) -> str:
    """Return the address of a broker's listener with SASL, which its log names."""
    found = re.search("SaslFactory starting on ([0-9]+)", broker.log.text())
    assert found is not None
    return f"127.0.0.1:{found[1]}"


class SaslTestCase(SynchronousTestCase):
    """A broker with SASL over TLS, and the user alice."""

    def setUp(self) -> None:
        """Start the broker; the administrator, who logs in with PLAIN, adds alice."""
        self.files = TlsFiles(self.mktemp())
        self.broker = self.start()
        self.add("alice", "SCRAM-SHA-256", "SCRAM-SHA-512")

    def start(self, **settings: str) -> EmbeddedBroker:
        """Start a broker, until the end of the test."""
        named = {
            name.replace("__", "~").replace("_", ".").replace("~", "_"): value
            for name, value in settings.items()
        }
        broker = EmbeddedBroker(
            {
                **self.files.broker_settings(listeners="SASL_SSL://127.0.0.1:0"),
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
                **jaas("sasl_ssl"),
                **named,
            }
        )
        self.addCleanup(broker.stop)
        broker.start()
        return broker

    def settings(self, mechanism: str, user: str, password: str) -> dict[str, str]:
        """Return the settings of our clients."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.location": self.files.ca,
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
        }

    def client(self, mechanism: str = "PLAIN", user: str = "admin", password: str = "adm1n") -> Cluster:
        """Return our blocking client."""
        dial = dial_with(self.settings(mechanism, user, password))
        cluster = Cluster(self.broker.bootstrap, dial=dial)
        self.addCleanup(cluster.close)
        return cluster

    def add(self, user: str, *mechanisms: str) -> None:
        """Add a user."""
        for mechanism in mechanisms:
            Credentials(self.client()).set_password(user, SECRET, mechanism, 4096)

    def librdkafka(self, mechanism: str, password: str = SECRET, **more: Any) -> dict[str, Any]:
        """Return the settings of librdkafka for alice."""
        return {
            "bootstrap.servers": self.broker.bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": self.files.ca,
            "sasl.mechanism": mechanism,
            "sasl.username": "alice",
            "sasl.password": password,
            **{name.replace("_", "."): value for name, value in more.items()},
        }


class ClientTests(SaslTestCase):
    """Each client produces and consumes, by each mechanism."""

    def test_librdkafka(self) -> None:
        """librdkafka, by SCRAM-SHA-512."""
        settings = self.librdkafka("SCRAM-SHA-512")
        producer = Producer(settings)
        producer.produce("t", VALUE)
        self.assertEqual(producer.flush(30), 0)
        consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        found: list[bytes] = []

        def read() -> bool:
            found.extend(message.value() for message in consumer.consume(1, 0.5))
            return bool(found)

        until(read, "librdkafka has read the record")
        consumer.close()
        self.assertEqual(found, [VALUE])

    def test_kafka_python(self) -> None:
        """kafka-python, by SCRAM-SHA-256."""
        settings: dict[str, Any] = {
            "bootstrap_servers": self.broker.bootstrap,
            "security_protocol": "SASL_SSL",
            "ssl_cafile": self.files.ca,
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_plain_username": "alice",
            "sasl_plain_password": SECRET,
        }
        producer = KafkaProducer(**settings)
        producer.send("t", VALUE).get(30)
        producer.close()
        consumer = KafkaConsumer("t", auto_offset_reset="earliest", consumer_timeout_ms=30_000, **settings)
        self.assertEqual(next(consumer).value, VALUE)
        consumer.close()

    def test_aiokafka(self) -> None:
        """aiokafka, by PLAIN and SCRAM-SHA-512."""

        async def exchange() -> bytes:
            settings: dict[str, Any] = {
                "bootstrap_servers": self.broker.bootstrap,
                "security_protocol": "SASL_SSL",
                "ssl_context": ssl.create_default_context(cafile=self.files.ca),
            }
            plain = {"sasl_plain_username": "admin", "sasl_plain_password": "adm1n"}
            async with AIOKafkaProducer(sasl_mechanism="PLAIN", **plain, **settings) as producer:
                await producer.send_and_wait("t", VALUE)
            scram = {"sasl_plain_username": "alice", "sasl_plain_password": SECRET}
            consumer = AIOKafkaConsumer(
                "t", auto_offset_reset="earliest", sasl_mechanism="SCRAM-SHA-512", **scram, **settings
            )
            async with consumer:
                record = await asyncio.wait_for(consumer.getone(), 30)
            return bytes(record.value)

        self.assertEqual(asyncio.run(exchange()), VALUE)

    def test_kcat(self) -> None:
        """kcat lists the broker, by SCRAM-SHA-256."""
        if shutil.which("kcat") is None:
            raise SkipTest("kcat is not installed")
        settings = self.librdkafka("SCRAM-SHA-256")
        options = [part for name in settings for part in ("-X", f"{name}={settings[name]}")]
        listed = subprocess.run(["kcat", "-L", *options], capture_output=True, text=True, timeout=60)
        self.assertIn(f"at {self.broker.bootstrap}", listed.stdout, listed.stderr)

    def test_our_client(self) -> None:
        """Our asyncio client, by SCRAM-SHA-512."""

        async def exchange() -> bytes | None:
            settings = {
                "bootstrap.servers": self.broker.bootstrap,
                **self.settings("SCRAM-SHA-512", "alice", SECRET),
            }
            async with aio.Producer(settings) as producer:
                await producer.send("t", VALUE)
            reading = {**settings, "group.id": "g", "auto.offset.reset": "earliest"}
            async with aio.Consumer(reading) as consumer:
                consumer.subscribe(["t"])
                async for record in consumer:
                    return bytes(record.value)
            return None

        self.assertEqual(asyncio.run(exchange()), VALUE)

    def test_admin(self) -> None:
        """The admin client for threads adds a user, who logs in, and deletes it."""
        settings = {"bootstrap.servers": self.broker.bootstrap, **self.settings("PLAIN", "admin", "adm1n")}
        with threads.Admin(settings) as admin:
            admin.credentials.set_password("carl", "sesame", "SCRAM-SHA-256", 4096)
            self.assertEqual(
                admin.credentials.describe(["carl"]), [UserCredential("carl", "SCRAM-SHA-256", 4096)]
            )
            self.client("SCRAM-SHA-256", "carl", "sesame").brokers()
            admin.credentials.delete("carl")
        self.assertRaises(AuthenticationFailed, self.client("SCRAM-SHA-256", "carl", "sesame").brokers)

    def test_command_line(self) -> None:
        """The command line takes the login from a file, and adds a user whose password is nowhere shown."""
        path = os.path.join(self.files.directory, "client.properties")
        with open(path, "w") as file:
            file.writelines(
                f"{name}={value}\n" for name, value in self.settings("PLAIN", "admin", "adm1n").items()
            )

        def run(*arguments: str) -> str:
            command = [sys.executable, "-m", "kafkatx", *arguments, "-b", self.broker.bootstrap]
            done = subprocess.run(
                [*command, "--command-config", path],
                capture_output=True,
                text=True,
                timeout=60,
                env={**os.environ, "KAFKATX_PASSWORD": "sesame"},
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout + done.stderr

        self.assertIn("state\tready\n", run("status"))
        shown = run("users", "add", "bob")
        self.assertEqual(
            run("users", "list"),
            "alice\tSCRAM-SHA-256\t4096\nalice\tSCRAM-SHA-512\t4096\nbob\tSCRAM-SHA-512\t8192\n",
        )
        self.client("SCRAM-SHA-512", "bob", "sesame").brokers()
        shown += run("users", "remove", "bob")
        self.assertNotIn("sesame", shown + self.broker.log.text())
        self.assertRaises(AuthenticationFailed, self.client("SCRAM-SHA-512", "bob", "sesame").brokers)


class RefusedTests(SaslTestCase):
    def test_librdkafka(self) -> None:
        """librdkafka is told of a wrong password and of a mechanism that there is not."""
        for settings, told in (
            (self.librdkafka("SCRAM-SHA-512", "wrong"), "invalid credentials"),
            (
                self.librdkafka(
                    "OAUTHBEARER",
                    sasl_oauthbearer_config="principal=x",
                    enable_sasl_oauthbearer_unsecure_jwt="true",
                ),
                "PLAIN,SCRAM-SHA-256",
            ),
        ):
            errors: list[str] = []
            named = {**settings, "error_cb": lambda error, errors=errors: errors.append(error.str())}
            admin = AdminClient(named)

            def is_told(admin: Any = admin, errors: list[str] = errors, told: str = told) -> bool:
                admin.poll(0.1)
                return told in "".join(errors)

            until(is_told, told)

    def test_our_clients(self) -> None:
        """Our clients fail at once with a wrong password, and show it nowhere."""
        error = self.assertRaises(AuthenticationFailed, self.client("PLAIN", "admin", "sesame").brokers)
        self.assertNotIn("sesame", str(error))

        async def start() -> str:
            settings = self.settings("SCRAM-SHA-256", "alice", "sesame")
            producer = aio.Producer({"bootstrap.servers": self.broker.bootstrap, **settings})
            try:
                await producer.start()
            except AuthenticationFailed as error:
                return str(error)
            finally:
                await producer.close()
            return ""

        text = asyncio.run(start())
        self.assertIn("the broker refuses the login by SCRAM-SHA-256", text)
        self.assertNotIn("sesame", text + self.broker.log.text())


class SessionTests(SaslTestCase):
    def test_again(self) -> None:
        """Our client and librdkafka log in again on their connections while they produce; none is lost."""
        self.broker = self.start(listener_name_sasl__ssl_connections_max_reauth_ms="500")
        self.add("alice", "SCRAM-SHA-512")

        async def produce() -> int:
            settings = {
                "bootstrap.servers": self.broker.bootstrap,
                **self.settings("SCRAM-SHA-512", "alice", SECRET),
            }
            sent = 0
            async with aio.Producer(settings) as producer:
                end_s = time.monotonic() + 1.5
                while time.monotonic() < end_s:
                    await producer.send("t", b"x")
                    sent += 1
                    await asyncio.sleep(0.02)
            return sent

        self.assertGreater(asyncio.run(produce()), 10)
        self.assertNotIn("its session has ended", self.broker.log.text())

    def test_revoked(self) -> None:
        """A user who is removed loses the connections at once, and cannot log in again."""
        alice = self.client("SCRAM-SHA-512", "alice", SECRET)
        alice.brokers()
        Credentials(self.client()).delete("alice", ["SCRAM-SHA-512", "SCRAM-SHA-256"])
        line = "the SCRAM-SHA-512 credentials of 'alice' were deleted"
        until(lambda: line in self.broker.log.text(), "the log says why")
        self.assertRaises(KafkaTXError, alice.any_broker().request, MetadataRequest([]))
        self.assertRaises(AuthenticationFailed, self.client("SCRAM-SHA-512", "alice", SECRET).brokers)


class TokenTests(SynchronousTestCase):
    """Logins by OAUTHBEARER."""

    def setUp(self) -> None:
        """Start a broker that knows the keys of an issuer, and write a token to a file."""
        folder = self.mktemp()
        os.makedirs(folder)
        self.path = os.path.join(os.path.abspath(folder), "token")
        keys = os.path.join(os.path.abspath(folder), "keys")
        with open(keys, "wb") as file:
            file.write(key_set("a"))
        self.broker = EmbeddedBroker(
            {
                "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
                "sasl.enabled.mechanisms": "OAUTHBEARER,PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
                "sasl.oauthbearer.expected.issuer": ISSUER,
                **jaas("sasl_plaintext"),
            }
        )
        self.addCleanup(self.broker.stop)
        self.broker.start()
        self.write(2)

    def token(self, seconds: int) -> str:
        """Return a token of alice that is valid for some seconds."""
        now_s = int(time.time())
        return token(iat=now_s, exp=now_s + seconds)

    def write(self, seconds: int) -> None:
        """Write a token to the file."""
        with open(self.path, "w") as file:
            file.write(self.token(seconds))

    def test_librdkafka(self) -> None:
        """librdkafka produces; its token comes from a function."""
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "oauth_cb": lambda _: (self.token(60), time.time() + 60),
            }
        )
        producer.produce("t", VALUE)
        self.assertEqual(producer.flush(60), 0)

    def test_our_client(self) -> None:
        """Our client produces while its tokens expire, and are renewed in the file."""

        async def produce() -> None:
            settings = {
                "bootstrap.servers": self.broker.bootstrap,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": f"file://{self.path}",
            }
            async with aio.Producer(settings) as producer:
                end_s = time.monotonic() + 3
                while time.monotonic() < end_s:
                    self.write(2)
                    await producer.send("t", b"x")
                    await asyncio.sleep(0.1)

        asyncio.run(produce())
        self.assertNotIn("closed the connection", self.broker.log.text())

    def test_blocking(self) -> None:
        """Our blocking client logs in; an expired token is refused, and in no log."""
        settings = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": f"file://{self.path}",
        }
        with Cluster(self.broker.bootstrap, dial=dial_with(settings)) as client:
            client.brokers()
        self.write(-60)
        with Cluster(self.broker.bootstrap, dial=dial_with(settings)) as client:
            self.assertRaises(AuthenticationFailed, client.brokers)
        until(lambda: "it has expired 6" in self.broker.log.text(), "the log says why")
        with open(self.path) as file:
            self.assertNotIn(file.read(), self.broker.log.text())


class ClusterTests(SynchronousTestCase):
    def test_cluster(self) -> None:
        """Brokers log in at each other; a user that one adds is known to all; acks=all waits for copies."""
        settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
            "inter.broker.listener.name": "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "default.replication.factor": "3",
            "min.insync.replicas": "3",
            **jaas("sasl_plaintext"),
        }
        with EmbeddedCluster(3, settings) as cluster:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
            info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
            change = UserScramCredentialUpsertion("alice", info, SECRET.encode())
            admin.alter_user_scram_credentials([change])["alice"].result(30)
            login = {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "alice",
                "sasl.password": SECRET,
            }
            for broker in cluster.brokers.values():
                with Cluster(sasl_address(broker), dial=dial_with(login)) as client:

                    def knows(client: Cluster = client) -> bool:
                        try:
                            return len(client.brokers()) == 3
                        except AuthenticationFailed:
                            return False

                    until(knows, "each broker knows alice")
            producer = Producer(
                {"bootstrap.servers": sasl_address(cluster.brokers[1]), **login, "acks": "all"}
            )
            producer.produce("t", VALUE)
            self.assertEqual(producer.flush(60), 0)


class LinkTests(SaslTestCase):
    def target(self, password: str) -> EmbeddedBroker:
        """Start a broker with a link to the other one, at which it logs in."""
        login = self.settings("SCRAM-SHA-512", "alice", password)
        target = EmbeddedBroker(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "mirror.links": "dc1",
                "mirror.dc1.bootstrap.servers": self.broker.bootstrap,
                "mirror.dc1.topics": ".*",
                "mirror.dc1.refresh.interval.ms": "200",
                **{f"mirror.dc1.{name}": value for name, value in login.items()},
            }
        )
        self.addCleanup(target.stop)
        target.start()
        return target

    def test_mirror_link(self) -> None:
        """A mirror link logs in at its source, and copies."""
        producer = Producer(self.librdkafka("SCRAM-SHA-512"))
        producer.produce("t", VALUE)
        self.assertEqual(producer.flush(60), 0)
        target = self.target(SECRET)
        with Cluster(target.bootstrap) as client:
            until(lambda: client.metadata(["t"]).topics, "the topic is mirrored")
        settings = {"bootstrap.servers": target.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
        reader = Consumer(settings)
        self.addCleanup(reader.close)
        reader.subscribe(["t"])
        until(lambda: reader.consume(1, 0.5), "the record is mirrored")

    def test_wrong_password(self) -> None:
        """The log tells of a link whose password is wrong, without the password."""
        target = self.target("sesame-7")
        until(lambda: "invalid credentials" in target.log.text(), "the log says why")
        self.assertNotIn("sesame", target.log.text())


PLUGIN = """
from kafkatx.extension import Extension
from kafkatx.interfaces.security.logins import ICredentialsChecker

acme = Extension(ICredentialsChecker, "acme", "acme_directory:DirectoryChecker", "Users of a directory.")
"""
CHECKER = """
from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from zope.interface import implementer

from kafkatx.interfaces import IConfigurable


@implementer(IConfigurable)
class DirectoryChecker:
    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, config, workers):
        self.worker = workers("directory")

    def configure(self, settings):
        self.suffix = settings["suffix"].encode()

    def requestAvatarId(self, credentials):
        return self.worker(lambda: self.bind(credentials.username, credentials.password))

    def bind(self, user, password):
        if password != user + self.suffix:
            raise UnauthorizedLogin()
        return user
"""


def restore(path: str | None) -> None:
    """Set PYTHONPATH, which processes of brokers inherit."""
    os.environ.pop("PYTHONPATH", None)
    if path is not None:
        os.environ["PYTHONPATH"] = path


class PluginTests(SynchronousTestCase):
    def test_checker(self) -> None:
        """A checker of another distribution decides who may log in, in a thread of its own."""
        folder = os.path.abspath(self.mktemp())
        os.makedirs(os.path.join(folder, "kafkatx", "plugins"))
        for name, text in (("kafkatx/plugins/acme.py", PLUGIN), ("acme_directory.py", CHECKER)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        before = os.environ.get("PYTHONPATH")
        self.addCleanup(restore, before)
        restore(os.pathsep.join(filter(None, (folder, before))))
        broker = EmbeddedBroker(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
                "sasl.enabled.mechanisms": "PLAIN",
                "kafkatx.plain.checkers": "acme",
                "kafkatx.plugin.acme.suffix": "-1",
            },
            run_in="process",
        )
        self.addCleanup(broker.stop)
        broker.start()
        settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "eve"}
        for password, accepted in (("eve-1", True), ("eve-2", False)):
            dial = dial_with({**settings, "sasl.password": password})
            with Cluster(sasl_address(broker), dial=dial) as client:
                if accepted:
                    client.brokers()
                else:
                    self.assertRaises(AuthenticationFailed, client.brokers)
