"""Tests of kafkatx.blocking.registry.client, with an HTTP server in a thread."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

import kafkatx.blocking.registry.client as module
from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.clientcore.registry import plans, requests
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.schemas.types import Schema
from tests.integration.tls_files import TlsFiles
from tests.schemas.http_registry import HttpRegistry


class BlockingRegistryTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a server."""
        self.server = HttpRegistry()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)

    def client(self, *urls: str, **more: Any) -> BlockingRegistry:
        """Return a client."""
        made = BlockingRegistry.of({"schema.registry.url": list(urls) or [self.server.url], **more})
        self.addCleanup(made.close)
        return made

    def test_requests(self) -> None:
        """Requests and plans have their results and errors; the login is sent."""
        client = self.client(basic_auth_user_info="a:b")
        self.assertEqual(client.send(requests.register("s/1", Schema('"int"'))).id, 1)
        self.assertEqual(client.run(plans.schema_of_id(1)).schema.text, '"int"')
        self.assertRaises(RegistryError, client.run, plans.schema_of_id(9))
        self.assertEqual(self.server.headers[0]["Authorization"], "Basic YTpi")

    def test_closed_between(self) -> None:
        """A connection that the registry has closed meanwhile is opened again."""
        self.server.close_each = True
        client = self.client()
        for _ in range(3):
            self.assertEqual(client.send(requests.subjects()), [])

    def test_fail_over(self) -> None:
        """The next registry is asked if one is down."""
        self.server.registry.add("s", '"int"')
        with socket.create_server(("127.0.0.1", 0)) as free:
            gone = f"http://127.0.0.1:{free.getsockname()[1]}"
        client = self.client(gone, self.server.url)
        self.assertEqual(client.send(requests.subjects()), ["s"])
        with self.assertRaises(RegistryUnavailable) as caught:
            self.client(gone).send(requests.subjects())
        self.assertIn(gone, str(caught.exception))

    def test_time_out(self) -> None:
        """A registry that does not reply in time counts as down."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            client = self.client(url, http_read_timeout_ms=20)
            with self.assertRaises(RegistryUnavailable) as caught:
                client.send(requests.subjects())
        self.assertIn("in time", str(caught.exception))

    def test_long_reply(self) -> None:
        """A reply above the limit is an error."""
        self.patch(module, "MAX_REPLY_BYTES", 100)
        self.server.registry.add("s" * 200, '"int"')
        self.assertRaises(RegistryUnavailable, self.client().send, requests.subjects())

    def test_import(self) -> None:
        """Its modules import no Twisted."""
        code = "import sys, kafkatx.blocking.registry; sys.exit('twisted.internet' in sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)


class TlsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a server with TLS."""
        self.files = TlsFiles(self.mktemp())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.files.broker)
        self.server = HttpRegistry(context)
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)

    def subjects(self, url: str = "", **more: object) -> list[str]:
        """Ask for the subjects."""
        with BlockingRegistry.of({"schema.registry.url": url or self.server.url, **more}) as client:
            return client.send(requests.subjects())

    def test_trusted(self) -> None:
        """A registry is trusted by the settings of TLS; those of the registry alone come first."""
        other = TlsFiles(self.mktemp())
        self.assertEqual(self.subjects(**{"ssl.truststore.location": self.files.ca}), [])
        both = {"ssl.truststore.location": other.ca, "schema.registry.ssl.truststore.location": self.files.ca}
        self.assertEqual(self.subjects(**both), [])

    def test_wrong_authority(self) -> None:
        """A certificate of another authority is refused, with the setting that would change that."""
        other = TlsFiles(self.mktemp())
        for given in ({"ssl.truststore.location": other.ca}, {}):
            error = self.assertRaises(RegistryUnavailable, self.subjects, **given)
            self.assertIn("certificate verify failed", str(error))
            self.assertIn("ssl.truststore.location", str(error))
        self.assertEqual(self.server.headers, [])

    def test_wrong_host(self) -> None:
        """A certificate for another host is refused, unless the check is off."""
        url, trusted = f"https://127.0.0.2:{self.server.port}", {"ssl.truststore.location": self.files.ca}
        error = self.assertRaises(RegistryUnavailable, self.subjects, url, **trusted)
        self.assertIn("for other hosts than 127.0.0.2", str(error))
        self.assertEqual(self.subjects(url, **trusted, **{"ssl.endpoint.identification.algorithm": ""}), [])
