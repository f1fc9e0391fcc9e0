"""Tests of kafkatx.client.registry.transport, with HTTP servers of this process."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import TestCase
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

import kafkatx.client.registry.transport as module
from kafkatx.client.registry.transport import Transport
from kafkatx.clientcore.registry import requests
from kafkatx.clientcore.registry.errors import RegistryError, RegistryUnavailable
from kafkatx.clientcore.registry.settings import Address, RegistrySettings
from kafkatx.schemas.types import Schema
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
