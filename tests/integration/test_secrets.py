"""Secrets of a broker that runs: neither its log nor what it tells clients has them."""

from __future__ import annotations

import os

from confluent_kafka.admin import AdminClient, ConfigResource
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.configs import Configs
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.errors import RequestError
from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.errors import BrokerDidNotStart
from kafkatx.tls.authority import issue
from tests.config.test_secrets import CANARY, accepts_any_text, secrets
from tests.integration.tls_files import HOSTS, TlsFiles
from tests.until import WAIT_S


class SecretsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a keystore whose password is the canary."""
        self.files = TlsFiles(self.mktemp())
        issued = issue(self.files.authority, "broker", HOSTS)
        encryption = BestAvailableEncryption(CANARY.encode())
        stored = pkcs12.serialize_key_and_certificates(b"b", issued.key, issued.certificate, None, encryption)
        self.keystore = self.files.write("broker.p12", stored)

    def broker(self, **more: str) -> EmbeddedBroker:
        """Return a broker whose secrets are the canary, as far as they may be any text."""
        named = {
            name: CANARY
            for name, row in secrets()
            if accepts_any_text(row) and not name.endswith(("keystore.key", "truststore.password"))
        }
        settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0,OUT://127.0.0.1:0",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:SSL",
            "ssl.keystore.location": self.keystore,
            "mirror.links": "dc1",
            "mirror.dc1.bootstrap.servers": "127.0.0.1:1",
            "mirror.dc1.security.protocol": "SSL",
            "mirror.dc1.ssl.keystore.location": self.keystore,
            **named,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        broker = EmbeddedBroker(settings, run_in="process")
        self.addCleanup(broker.close)
        return broker

    def test_nothing_shown(self) -> None:
        """Real clients are shown no secret, also when they try to change one; the log has none, either."""
        broker = self.broker().start()
        told = [self.described(broker)]
        with Cluster(broker.bootstrap) as cluster:
            for name, row in secrets():
                if not accepts_any_text(row):
                    continue
                error = self.assertRaises(
                    RequestError, Configs(cluster).alter, Resource(ResourceType.BROKER, ""), {name: CANARY}
                )
                told.append(str(error))
        broker.stop()
        told.append(broker.output())
        self.assertIn("ssl.keystore.password", "".join(told))
        self.assertNotIn(CANARY, "".join(told))

    def described(self, broker: EmbeddedBroker) -> str:
        """Return all that librdkafka shows of the broker's configs."""
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        asked = ConfigResource(ConfigResource.Type.BROKER, "0")
        (described,) = admin.describe_configs([asked], request_timeout=WAIT_S).values()
        entries = described.result(WAIT_S).values()
        shown = [
            (entry.name, entry.value, [one.value for one in entry.synonyms.values()]) for entry in entries
        ]
        self.assertTrue(all(entry.is_sensitive for entry in entries if entry.name.endswith("password")))
        return repr(shown)

    def test_wrong_password(self) -> None:
        """A keystore that the password does not open prevents the start, with an error that has none."""
        with open(self.keystore, "r+b") as file:
            file.seek(-20, os.SEEK_END)
            file.write(bytes(10))
        for secret in ("not the password", CANARY):
            broker = self.broker(
                ssl_keystore_password=secret, **{"listener.name.out.ssl.keystore.password": secret}
            )
            error = str(self.assertRaises(BrokerDidNotStart, broker.start))
            self.assertIn("ssl.keystore.location", error)
            for text in (error, broker.output()):
                self.assertNotIn(CANARY, text)
                self.assertNotIn("not the password", text)
