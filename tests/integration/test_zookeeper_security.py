"""The tree on a ZooKeeper server that wants TLS, certificates or passwords; and generated broker ids."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import cast

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import ACL, CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from kafkatx.client.threads import Producer
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as b
from kafkatx.daemon.identity import identified
from kafkatx.errors import SettingError
from kafkatx.interfaces.nodes import ConnectionLost, Create, NotAuthenticated
from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings, ZooKeeperTree
from kafkatx.net.workers import ThreadWorkers
from kafkatx.testing import EmbeddedBroker
from kafkatx.tls.keystore import pem_identity
from tests.integration.certificates import self_signed
from tests.integration.zookeeper import ZooKeeperServer, shared_server
from tests.ports import free_port

_REACTOR = cast(IReactorFromThreads, reactor)
_JAAS = """\
Server {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    user_kafka="kafka's secret";
};
Client {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    username="kafka"
    password="kafka's secret";
};
"""


class SecureServer(ZooKeeperServer):
    """A server that wants certificates on one port, and takes user names and passwords on the other."""

    def __init__(self) -> None:
        self.files = Path(tempfile.mkdtemp(prefix="kafkatx-zookeeper-"))
        self.tls_port = free_port()
        pem = self.files / "server.pem"
        pem.write_bytes(self_signed().dumpPEM())
        (self.files / "other.pem").write_bytes(self_signed().dumpPEM())
        (self.files / "jaas.conf").write_text(_JAAS)
        super().__init__(
            settings={
                "secureClientPort": str(self.tls_port),
                "secureClientPortAddress": "127.0.0.1",
                "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
                "ssl.keyStore.location": str(pem),
                "ssl.trustStore.location": str(pem),
                "authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
                "authProvider.x509": "org.apache.zookeeper.server.auth.X509AuthenticationProvider",
            },
            java=(f"-Djava.security.auth.login.config={self.files / 'jaas.conf'}",),
        )

    def stop(self) -> None:
        """Kill the process and remove its files."""
        super().stop()
        shutil.rmtree(self.files)


@lru_cache(maxsize=1)
def secure_server() -> SecureServer:
    """Return the server of this process."""
    server = SecureServer()
    atexit.register(server.stop)
    return server


class SecurityCase(TestCase):
    """Trees on that server."""

    timeout = 60

    def setUp(self) -> None:
        """Start the server if no test has."""
        self.server = secure_server()
        self.folder, self.port = self.server.files, self.server.tls_port
        self.workers = ThreadWorkers(_REACTOR)
        self.addCleanup(self.workers.stop)

    def tree(self, connect: str, **settings: str) -> ZooKeeperTree:
        """Return a tree for a broker's settings, in which names have _ for a dot."""
        named = {f"zookeeper.{name.replace('_', '.')}": value for name, value in settings.items()}
        own = {name: named.pop(name) for name in list(named) if name.startswith("zookeeper.kafkatx.")}
        named |= {name.removeprefix("zookeeper."): value for name, value in own.items()}
        config = BrokerConfig.load(
            None, {"zookeeper.connect": connect, "zookeeper.connection.timeout.ms": "3000", **named}
        )
        worker = self.workers(f"zookeeper {time.monotonic()}")
        return ZooKeeperTree(ZooKeeperSettings.of(config), _REACTOR, worker, time.monotonic)

    def digest(self, chroot: str, **settings: str) -> ZooKeeperTree:
        """Return a tree with the right user name and password."""
        return self.tree(
            f"localhost:{self.server.port}{chroot}",
            kafkatx_zookeeper_username="kafka",
            kafkatx_zookeeper_password="kafka's secret",
            **settings,
        )

    def acls(self, path: str) -> Deferred[list[ACL]]:
        """Return the access control list of a node, as an anonymous client reads it."""

        def read() -> list[ACL]:
            client = KazooClient(f"127.0.0.1:{self.server.port}")
            client.start()
            try:
                found: list[ACL] = client.get_acls(path)[0]
                return found
            finally:
                client.stop()
                client.close()

        return deferToThread(read)


class TlsTests(SecurityCase):
    def tls(self, chroot: str, trusted: str, own: str | None = "server.pem", **more: str) -> ZooKeeperTree:
        """Return a tree with TLS."""
        if own is not None:
            more["ssl_keystore_location"] = str(self.folder / own)
        host = more.pop("host", "localhost")
        return self.tree(
            f"{host}:{self.port}{chroot}",
            ssl_client_enable="true",
            ssl_truststore_location=str(self.folder / trusted),
            **more,
        )

    async def test_connects(self) -> None:
        """With TLS, a certificate of its own and a chroot the tree works; its nodes are the broker's."""
        tree = self.tls("/tls/a", "server.pem", set_acl="true")
        await tree.connect()
        await tree.multi([Create("/n", b"x" * 500_000)])
        self.assertEqual(len((await tree.read("/n"))[0]), 500_000)
        await tree.close()
        found = await self.acls("/tls/a/n")
        self.assertEqual([each.id.scheme for each in found], ["x509", "world"])
        self.assertEqual([each.perms for each in found], [31, 1])

    async def test_keystore(self) -> None:
        """Keystores of PKCS12 do as well as PEM files."""
        password = "changeit"
        pem = (self.folder / "server.pem").read_bytes()
        own = pem_identity(pem, pem, None)
        encryption = BestAvailableEncryption(password.encode())
        store = self.folder / "server.p12"
        store.write_bytes(
            pkcs12.serialize_key_and_certificates(b"own", own.key, own.certificate, None, encryption)  # type: ignore[arg-type]
        )
        tree = self.tls("/pkcs12", "server.pem", "server.p12", ssl_keystore_password=password)
        await tree.connect()
        await tree.close()

    async def test_refused(self) -> None:
        """Servers that are not trusted or have another name are refused, and the error says why."""
        for tree, why in (
            (self.tls("", "other.pem"), f"localhost:{self.port}: [SSL: CERTIFICATE_VERIFY_FAILED]"),
            (self.tls("", "server.pem", host="127.0.0.1"), "IP address mismatch"),
        ):
            error = await self.assertFailure(tree.connect(), ConnectionLost)
            self.assertIn(why, str(error))
            self.assertIn("no ZooKeeper server of", str(error))
            await tree.close()

    async def test_name_not_checked(self) -> None:
        """Without identification of the host its name does not matter."""
        tree = self.tls("", "server.pem", host="127.0.0.1", ssl_endpoint_identification_algorithm="")
        await tree.connect()
        await tree.close()


class SaslTests(SecurityCase):
    async def test_connects(self) -> None:
        """With user name and password the tree works, and goes on after a lost connection."""
        tree = self.digest("/sasl/a")
        await tree.connect()
        await tree.multi([Create("/n")])
        await tree.close()
        tree = self.tree(
            f"localhost:{self.server.port}/sasl/a",
            kafkatx_zookeeper_jaas_file=str(self.folder / "jaas.conf"),
        )
        await tree.connect()
        self.assertEqual(await tree.children("/"), ["n"])
        await tree.close()

    async def test_wrong_password(self) -> None:
        """A wrong password ends the start at once, with an error that says so."""
        for chroot in ("", "/sasl/b"):
            tree = self.tree(
                f"localhost:{self.server.port}{chroot}",
                kafkatx_zookeeper_username="kafka",
                kafkatx_zookeeper_password="wrong",
            )
            error = await self.assertFailure(tree.connect(), NotAuthenticated)
            self.assertIn("user name or password is wrong", str(error))
            await tree.close()

    async def test_acls(self) -> None:
        """zookeeper.set.acl makes nodes that others cannot change, as Apache Kafka's."""
        tree = self.digest("/acl", set_acl="true")
        await tree.connect()
        await tree.multi([Create("/config"), Create("/config/users"), Create("/consumers")])
        own = [ACL(each.perms, each.id._replace(scheme="sasl", id="kafka")) for each in CREATOR_ALL_ACL]
        self.assertEqual(await self.acls("/acl"), own + READ_ACL_UNSAFE)
        self.assertEqual(await self.acls("/acl/config"), own + READ_ACL_UNSAFE)
        self.assertEqual(await self.acls("/acl/consumers"), OPEN_ACL_UNSAFE)
        data, _ = await tree.read("/config/users")
        self.assertEqual(data, b"")
        await tree.close()


CLIENT = ("zookeeper.connect", "kafkatx.zookeeper.jaas.file")
"""Settings of a broker that a client has, too."""


class BrokerTests(TestCase):
    timeout = 60

    def test_restricted(self) -> None:
        """A broker with user name and password serves; others may not change its nodes, but find it."""
        server = secure_server()
        settings: dict[str, str | int] = {
            "broker.id": 1,
            "zookeeper.connect": f"localhost:{server.port}/restricted",
            "zookeeper.set.acl": True,
            "kafkatx.zookeeper.jaas.file": str(server.files / "jaas.conf"),
        }
        with EmbeddedBroker(settings, run_in="process") as broker:
            topic = broker.topic("t")
            broker.produce(topic, "x")
            self.assertEqual(len(broker.messages(topic, 1)), 1)
            found = {name: value for name, value in settings.items() if name in CLIENT}
            with Producer(found, timeout_s=20) as producer:
                self.assertEqual(producer.send(topic, b"y").result(20).offset, 1)
            wrong = {"kafkatx.zookeeper.username": "kafka", "kafkatx.zookeeper.password": "wrong"}
            with self.assertRaises(ConnectionFailed) as caught, Producer({**found, **wrong}):
                self.fail("the password is wrong")
            self.assertIn("user name or password is wrong", str(caught.exception))
            client = KazooClient(f"127.0.0.1:{server.port}/restricted")
            client.start()
            self.addCleanup(client.close)
            self.addCleanup(client.stop)
            self.assertIn(topic, client.get_children("/brokers/topics"))
            for path in (
                "/",
                "/brokers/ids/1",
                f"/brokers/topics/{topic}",
                "/controller",
                "/kafkatx/changes",
            ):
                self.assertRaises(NoAuthError, client.set, path, b"")
            self.assertRaises(NoAuthError, client.create, "/brokers/topics/other", b"")
            self.assertRaises(NoAuthError, client.get, "/config/users")


class BrokerIdTests(TestCase):
    timeout = 60

    def config(self, chroot: str, **settings: str) -> BrokerConfig:
        """Return the settings of a broker without an id."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        connect = f"127.0.0.1:{shared_server().port}{chroot}"
        return identified(
            BrokerConfig.load(None, {"zookeeper.connect": connect, "log.dirs": self.mktemp(), **named})
        )

    def test_generated(self) -> None:
        """Each broker without an id gets another one, above those that are reserved."""
        ids = [self.config("/ids/a")[b.BROKER_ID] for _ in range(3)]
        self.assertEqual(ids, [1001, 1002, 1003])
        self.assertEqual(self.config("/ids/a", reserved_broker_max_id="50")[b.BROKER_ID], 54)
        self.assertEqual(self.config("/ids/b")[b.BROKER_ID], 1001)

    def test_no_server(self) -> None:
        """Without ZooKeeper there is no id; the error names the setting and the server."""
        error = self.assertRaises(
            SettingError,
            self.config,
            "",
            zookeeper_connect=f"127.0.0.1:{free_port()}",
            zookeeper_connection_timeout_ms="300",
        )
        self.assertIn("broker.id: it is not set, and ZooKeeper could not generate one: no Zoo", str(error))
        self.assertIn("Connection refused", str(error))
