"""Tests of kafkatx.client.registry.transport, with HTTP servers of this process."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IOpenSSLContextFactory
from twisted.internet.protocol import Factory, Protocol
from twisted.trial.unittest import TestCase
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site
from zope.interface import implementer

import kafkatx.client.registry.transport as module
from kafkatx.client.registry.client import RegistryClient
from kafkatx.client.registry.transport import Transport
from kafkatx.clientcore.registry import requests
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.clientcore.registry.settings import Address, RegistrySettings, basic
from kafkatx.errors import SettingError
from kafkatx.net.tls.contexts import server_context
from kafkatx.schemas.types import Schema
from kafkatx.tls.authority import issue
from kafkatx.tls.ciphers import SECURE
from kafkatx.tls.keystore import Identity
from kafkatx.tls.settings import TlsSettings
from tests.integration.tls_files import TlsFiles
from tests.schemas.registry import MemoryRegistry


class RegistryResource(Resource):
    """A registry in memory, served by HTTP."""

    isLeaf = True

    def __init__(self) -> None:
        super().__init__()
        self.registry = MemoryRegistry()
        self.silent = False
        self.headers: list[Any] = []

    def render(self, request: Any) -> Any:
        """Answer a request."""
        self.headers.append(request.requestHeaders)
        if self.silent:
            return NOT_DONE_YET
        target = request.uri.decode()
        status, body = self.registry.answer(request.method.decode(), target, request.content.read())
        request.setResponseCode(status)
        return body


class TransportTests(TestCase):
    def setUp(self) -> None:
        """Start two registries, and a transport that knows both."""
        self.resources = [RegistryResource(), RegistryResource()]
        self.reactor: Any = reactor
        self.ports: list[Any] = [
            self.reactor.listenTCP(0, Site(each), interface="127.0.0.1")  # type: ignore[arg-type]
            for each in self.resources
        ]
        self.numbers = [port.getHost().port for port in self.ports]
        self.transport = self.make()

    def make(self, **more: Any) -> Transport:
        """Return a transport."""
        addresses = tuple(Address("127.0.0.1", number, authorization="Bearer x") for number in self.numbers)
        made = Transport(RegistrySettings(addresses, **more), self.reactor)
        self.addCleanup(made.close)
        return made

    async def tearDown(self) -> None:  # type: ignore[override]
        """Stop the registries."""
        await self.transport.close()
        for port in self.ports:
            await (port.stopListening() or succeed(None))

    def send(self, request: Any, transport: Transport | None = None) -> Deferred[Any]:
        """Send a request."""
        return Deferred.fromCoroutine((transport or self.transport).send(request))

    async def test_requests(self) -> None:
        """Bodies, logins and errors cross the wire."""
        registered = await self.send(requests.register("a/b", Schema('"int"')))
        self.assertEqual(registered.id, 1)
        self.assertEqual(await self.send(requests.versions("a/b")), [1])
        await self.assertFailure(self.send(requests.schema_by_id(7)), RegistryError)
        headers = self.resources[0].headers[0]
        self.assertEqual(headers.getRawHeaders("authorization"), ["Bearer x"])
        self.assertEqual(headers.getRawHeaders("content-type"), ["application/vnd.schemaregistry.v1+json"])

    async def test_fail_over(self) -> None:
        """The next registry is asked if one is down or has an error of its own, and is asked first later."""
        self.resources[1].registry.add("s", '"int"')
        self.resources[0].registry.down = True
        for _ in range(2):
            self.assertEqual(await self.send(requests.subjects()), ["s"])
        self.assertEqual([len(each.headers) for each in self.resources], [1, 2])
        await self.ports[1].stopListening()
        self.resources[0].registry.down = False
        transport = self.make()
        transport._first = 1
        self.assertEqual(await self.send(requests.subjects(), transport), [])

    async def test_none_answers(self) -> None:
        """The error names all registries if none answers."""
        for port in self.ports:
            await port.stopListening()
        error: Any = await self.assertFailure(self.send(requests.subjects()), RegistryUnavailable)
        for number in self.numbers:
            self.assertIn(f":{number}: ", str(error))

    async def test_time_out(self) -> None:
        """A registry that does not reply in time counts as down."""
        self.resources[0].silent = True
        self.resources[1].registry.add("s", '"int"')
        transport = self.make(connect_timeout_s=0.05, read_timeout_s=0.05)
        self.assertEqual(await self.send(requests.subjects(), transport), ["s"])

    async def test_long_reply(self) -> None:
        """A reply above the limit is an error, and its connection is closed."""
        self.patch(module, "MAX_REPLY_BYTES", 1000)
        self.resources[0].registry.add("s" * 2000, '"int"')
        await self.assertFailure(self.send(requests.subjects()), RegistryUnavailable)


class TlsTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]
        """Make an authority, and start a registry over TLS that accepts its clients alone."""
        self.files = TlsFiles(self.mktemp())
        self.resource = RegistryResource()
        self.resource.registry.add("s", '"int"')
        self.reactor: Any = reactor

    async def listen(self, host: str = "127.0.0.1", client_auth: str = "none") -> str:
        """Start a registry whose certificate is for a host; return its address."""
        broker = issue(self.files.authority, "registry", (host,))
        trusted = (self.files.authority.certificate,)
        settings = TlsSettings(
            Identity(broker.key, (broker.certificate,)), trusted, ("TLSv1.2", "TLSv1.3"), SECURE, True
        )
        context = Context(server_context(settings, client_auth))
        site: Any = Site(self.resource)
        port: Any = self.reactor.listenSSL(0, site, context, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        return f"https://127.0.0.1:{port.getHost().port}"

    def send(self, url: str, **more: object) -> Deferred[Any]:
        """Ask a registry for its subjects."""
        client = RegistryClient.of({"schema.registry.url": url, **more}, self.reactor)
        self.addCleanup(client.close)
        return client.send(requests.subjects())

    async def refused(self, url: str, **more: object) -> str:
        """Ask a registry that the client must not trust; return the message."""
        error: Any = await self.assertFailure(self.send(url, **more), RegistryUnavailable)
        self.assertEqual(self.resource.headers, [])  # no login has left
        return str(error)

    async def test_trusted(self) -> None:
        """A registry is trusted by either kind of settings, and gets the login."""
        url = await self.listen()
        for prefix in ("ssl", "schema.registry.ssl"):
            given = {f"{prefix}.truststore.location": self.files.ca, "basic.auth.user.info": "u:p"}
            self.assertEqual(await self.send(url, **given), ["s"])
        self.assertEqual(self.resource.headers[0].getRawHeaders("authorization"), [basic("u:p")])

    async def test_own_settings(self) -> None:
        """Settings of the registry alone keep those of brokers from it."""
        url = await self.listen()
        other = TlsFiles(self.mktemp())
        both = {"ssl.truststore.location": other.ca, "schema.registry.ssl.truststore.location": self.files.ca}
        self.assertEqual(await self.send(url, **both), ["s"])

    async def test_wrong_authority(self) -> None:
        """A certificate of another authority is refused, with the setting that would change that."""
        url = await self.listen()
        other = TlsFiles(self.mktemp())
        for given in ({"ssl.truststore.location": other.ca}, {}):
            told = await self.refused(url, **given)
            self.assertIn("certificate verify failed", told)
            self.assertIn("ssl.truststore.location", told)

    async def test_wrong_host(self) -> None:
        """A certificate for another host is refused, unless the check is off."""
        url = await self.listen("10.0.0.7")
        trusted = {"ssl.truststore.location": self.files.ca}
        self.assertIn("for other hosts than 127.0.0.1", await self.refused(url, **trusted))
        self.assertEqual(
            await self.send(url, **trusted, **{"ssl.endpoint.identification.algorithm": ""}), ["s"]
        )

    async def test_client_certificate(self) -> None:
        """A registry that asks for it gets the client's certificate."""
        url = await self.listen(client_auth="required")
        trusted = {"ssl.truststore.location": self.files.ca}
        self.assertIn("TLS", await self.refused(url, **trusted))
        self.assertEqual(await self.send(url, **trusted, **{"ssl.keystore.location": self.files.user}), ["s"])

    async def test_plain_server(self) -> None:
        """A server without TLS at the address is told from one with it."""
        factory = Factory.forProtocol(PlainServer)
        port: Any = self.reactor.listenTCP(0, factory, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        told = await self.refused(
            f"https://127.0.0.1:{port.getHost().port}", **{"ssl.truststore.location": self.files.ca}
        )
        self.assertIn("plain HTTP", told)

    def test_unreadable(self) -> None:
        """A truststore that cannot be read is refused at once."""
        given = {"schema.registry.url": "https://a", "ssl.truststore.location": "/none"}
        self.assertRaises(SettingError, RegistryClient.of, given, self.reactor)


class PlainServer(Protocol):
    """The end of a connection that does not understand TLS."""

    def dataReceived(self, data: bytes) -> None:
        """Refuse the request."""
        assert self.transport is not None
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@implementer(IOpenSSLContextFactory)
class Context:
    """A context of OpenSSL, for listenSSL."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def getContext(self) -> Any:
        """Return it."""
        return self.context
