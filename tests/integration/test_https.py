"""The HTTP listener with TLS: other programs' clients and ours, certificates, and brokers that forward."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from typing import Any, ClassVar

import requests
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.registry import BlockingRegistry
from kafkatx.client.aio import Producer
from kafkatx.clientcore.registry import requests as of_registry
from kafkatx.clientcore.registry.errors import RegistryUnavailable
from kafkatx.testing import EmbeddedBroker, EmbeddedCluster
from tests.broker.logins.tokens.issuer import ISSUER, key_set, token
from tests.integration.test_cli import COMMAND
from tests.integration.tls_files import HOSTS, TlsFiles
from tests.until import until

TEXT = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})


class HttpsCase(SynchronousTestCase):
    """The files of an authority, and the settings of brokers whose HTTP listener has TLS."""

    client_auth: ClassVar[str] = "requested"

    def setUp(self) -> None:
        """Make the files."""
        self.files = TlsFiles(os.path.abspath(self.mktemp()))
        self.settings = {
            "http.listeners": "HTTPS://127.0.0.1:0",
            "listener.name.https.ssl.keystore.location": self.files.broker,
            "listener.name.https.ssl.truststore.location": self.files.ca,
            "listener.name.https.ssl.client.auth": self.client_auth,
        }
        self.user = {"ssl.truststore.location": self.files.ca, "ssl.keystore.location": self.files.user}

    def ask(self, url: str, text: str | None = None, cafile: str | None = None) -> Any:
        """Ask by urllib, with the user's certificate; return the body."""
        context = ssl.create_default_context(cafile=cafile or self.files.ca)
        context.load_cert_chain(self.files.user)
        data = None if text is None else json.dumps({"schema": text}).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20, context=context) as response:
            return json.loads(response.read())


class ClientTests(HttpsCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.broker = EmbeddedBroker(self.settings)
        self.addCleanup(self.broker.close)
        self.broker.start()
        self.assertTrue(self.broker.http.startswith("https://"), self.broker.http)

    def test_others(self) -> None:
        """confluent-kafka, requests, curl and a health check speak to it."""
        client = SchemaRegistryClient({"url": self.broker.http, "ssl.ca.location": self.files.ca})
        first = client.register_schema("c-value", Schema(TEXT, "AVRO"))
        with requests.Session() as session:
            session.trust_env = False  # variables of the environment come before session.verify
            session.verify, session.cert = self.files.ca, self.files.user
            self.assertEqual(session.get(f"{self.broker.http}/schemas/ids/{first}").json()["schema"], TEXT)
            self.assertEqual(session.get(f"{self.broker.http}/health/ready").status_code, 200)
        command = ("curl", "-s", "-m", "10", "--cacert", self.files.ca, f"{self.broker.http}/subjects")
        self.assertEqual(subprocess.run(command, capture_output=True, check=True).stdout, b'["c-value"]')

    def test_ours(self) -> None:
        """The producer's encoder, the blocking client and the command line do, by the names of ssl.*."""

        async def produce() -> None:
            settings = {
                **self.user,
                "bootstrap.servers": self.broker.bootstrap,
                "schema.registry.url": self.broker.http,
                "value.serializer": "avro",
                "kafkatx.value.schema": TEXT,
            }
            async with Producer(settings) as producer:
                await producer.send("o", {"a": 5})

        asyncio.run(produce())
        with BlockingRegistry.of({"schema.registry.url": self.broker.http, **self.user}) as client:
            self.assertEqual(client.send(of_registry.subjects()), ["o-value"])
        config = self.files.write(
            "client.properties",
            "\n".join(
                f"{name}={value}"
                for name, value in {**self.user, "schema.registry.url": self.broker.http}.items()
            ).encode(),
        )
        told = ("-b", self.broker.bootstrap, "--command-config", config)
        done = subprocess.run(
            [*COMMAND, "consume", "o", "-e", "--decode", "avro", *told], capture_output=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stdout), (0, b'{"a":5}\n'), done.stderr)

    def test_refused(self) -> None:
        """A client that does not trust the authority goes, with a message that says what to set."""
        with BlockingRegistry.of({"schema.registry.url": self.broker.http}) as client:
            error = self.assertRaises(RegistryUnavailable, client.send, of_registry.subjects())
        self.assertIn("schema.registry.ssl.truststore.location", str(error))
        plain = self.broker.http.replace("https", "http")
        with self.assertRaises((OSError, urllib.error.URLError)):
            urllib.request.urlopen(f"{plain}/subjects", timeout=20)
        until(lambda: "use https:// in its URL" in self.broker.output(), "the broker's log says why")

    def test_renewal(self) -> None:
        """A dynamic config makes new connections get another certificate."""
        other = TlsFiles(os.path.abspath(self.mktemp()))
        self.ask(f"{self.broker.http}/subjects")
        keystore = other.issue("new.pem", "broker", HOSTS)
        subprocess.run(
            [
                *(*COMMAND, "configs", "alter", "--broker", "0", "-b", self.broker.bootstrap),
                *("--set", f"listener.name.https.ssl.keystore.location={keystore}"),
            ],
            check=True,
            capture_output=True,
        )

        def renewed() -> bool:
            try:
                self.ask(f"{self.broker.http}/subjects", cafile=other.ca)
            except OSError:
                return False
            return True

        until(renewed, "the new certificate")


class LoginTests(HttpsCase):
    def setUp(self) -> None:
        """Start two brokers whose HTTP listeners want a login, with a user."""
        super().setUp()
        self.settings |= {
            "kafkatx.http.authentication": "basic,bearer",
            "kafkatx.plain.checkers": "scram",
            "sasl.oauthbearer.jwks.endpoint.url": f"file://{self.files.write('keys.json', key_set('a'))}",
            "sasl.oauthbearer.expected.issuer": ISSUER,
        }
        self.cluster = EmbeddedCluster(2, self.settings)
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.urls = [broker.http for broker in self.cluster.brokers.values()]
        self.users("add", "alice")

    def users(self, *arguments: str) -> None:
        """Change the users."""
        environment = {
            **os.environ,
            "KAFKATX_PASSWORD": "wonderland",
            "KAFKATX_BOOTSTRAP": self.cluster.bootstrap,
        }
        subprocess.run(
            [*COMMAND, "users", *arguments], check=True, capture_output=True, env=environment, timeout=60
        )

    def status(self, url: str, password: str | None, path: str = "/subjects") -> int:
        """Ask with a password; return the status."""
        auth = None if password is None else ("alice", password)
        with requests.Session() as session:
            session.trust_env = False
            found = session.get(f"{url}{path}", auth=auth, verify=self.files.ca, timeout=20)
        if found.status_code == 401:
            self.assertEqual(found.headers["WWW-Authenticate"].partition(" ")[0], "Basic")
        return found.status_code

    def test_tokens(self) -> None:
        """A token is let in at each broker, also where another one answers; an expired one is not."""
        now_s = int(time.time())
        for seconds, status in ((60, 200), (-60, 401)):
            bearer = {"Authorization": f"Bearer {token(iat=now_s, exp=now_s + seconds)}"}
            for number, url in enumerate(self.urls):
                with requests.Session() as session:
                    session.trust_env = False
                    session.verify, session.headers = self.files.ca, bearer  # type: ignore[assignment]
                    body = {"schema": TEXT}
                    found = session.post(f"{url}/subjects/t{number}/versions", json=body, timeout=20)
                self.assertEqual(found.status_code, status, found.text)

    def test_logins(self) -> None:
        """A password, or a certificate, is let in at each broker, also where another one answers."""
        for number, url in enumerate(self.urls):
            until(lambda url=url: self.status(url, "wonderland") == 200, "the user is known")  # type: ignore[misc]
            self.assertEqual([self.status(url, None), self.status(url, "wrong")], [401, 401])
            self.assertEqual(self.status(url, None, "/health/live"), 200)
            login = {"ssl.ca.location": self.files.ca, "basic.auth.user.info": "alice:wonderland"}
            client = SchemaRegistryClient({"url": url, **login})
            self.assertEqual(client.register_schema(f"s{number}", Schema(TEXT, "AVRO")), 1)
            self.assertEqual(self.ask(f"{url}/subjects/c{number}/versions", TEXT)["id"], 1)  # by certificate
        config = self.files.write(
            "client.properties",
            f"basic.auth.user.info=alice:wonderland\nssl.truststore.location={self.files.ca}\n".encode(),
        )
        address = self.urls[0].replace("https://", "https://alice@")
        command = [*COMMAND, "schemas", "list", "--registry", address, "--command-config", config]
        done = subprocess.run(command, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 4), done.stderr)
        self.users("remove", "alice")
        for url in self.urls:
            until(lambda url=url: self.status(url, "wonderland") == 401, "the user is gone")  # type: ignore[misc]
