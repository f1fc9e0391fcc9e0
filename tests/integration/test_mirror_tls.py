"""A link to a source that requires certificates, and whose certificates are renewed."""

from __future__ import annotations

import asyncio
import os

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.configs import Configs
from kafkatx.client import aio
from kafkatx.clientcore.admin.configs import Resource, ResourceType
from kafkatx.testing import EmbeddedBroker
from kafkatx.tls.authority import make_authority
from tests.integration.tls_files import TlsFiles
from tests.until import WAIT_S, until


class MirrorTlsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a source with TLS, and write a record to it."""
        self.files = TlsFiles(self.mktemp())
        self.source = EmbeddedBroker(self.files.broker_settings(ssl_client_auth="required"))
        self.addCleanup(self.source.close)
        self.source.start()
        asyncio.run(self.produce())

    async def produce(self) -> None:
        """Write a record at the source."""
        settings = {"bootstrap.servers": self.source.bootstrap, **self.files.client_settings(user=True)}
        async with aio.Producer(settings) as producer:
            await producer.send("orders", b"one")

    def target(self, keystore: str) -> EmbeddedBroker:
        """Start a target whose link has a keystore."""
        link = {
            "bootstrap.servers": self.source.bootstrap,
            "topics": "orders",
            "refresh.interval.ms": "200",
            "reconnect.backoff.max.ms": "200",
            "security.protocol": "SSL",
            "ssl.truststore.location": self.files.ca,
            "ssl.keystore.location": keystore,
        }
        settings = {f"mirror.dc1.{name}": value for name, value in link.items()}
        target = EmbeddedBroker({"mirror.links": "dc1", **settings})
        self.addCleanup(target.close)
        return target.start()

    def mirrored(self, target: EmbeddedBroker) -> None:
        """Wait until the target has the record."""
        self.assertEqual([m.value for m in target.messages("orders", 1, timeout_s=WAIT_S)], [b"one"])

    def test_renewed(self) -> None:
        """A link that the source refuses says so, and mirrors once its keystore is replaced."""
        keystore = self.files.issue("link.pem", "link", by=make_authority("strangers"))
        target = self.target(keystore)
        until(lambda: "certificate verify failed" in self.source.output(), "the source refuses it")
        until(lambda: "topics of link dc1 cannot be followed" in target.output(), "the target says so")
        os.utime(self.files.issue("link.pem", "link"), (1, 1))
        self.mirrored(target)

    def test_unusable(self) -> None:
        """A link whose keystore cannot be read says why; a change of settings has it tried again."""
        keystore = os.path.join(self.files.directory, "missing.pem")
        target = self.target(keystore)
        until(lambda: "missing.pem: it cannot be read" in target.output(), "the log says why")
        self.files.issue("missing.pem", "link")
        with Cluster(target.bootstrap) as cluster:
            Configs(cluster).alter(Resource(ResourceType.BROKER, ""), {"log.cleaner.backoff.ms": "1000"})
        self.mirrored(target)
