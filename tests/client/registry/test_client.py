"""Tests of kafkatx.client.registry.client and access."""

from __future__ import annotations

import subprocess
import sys

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.registry.access import RegistryAccess
from kafkatx.client.registry.client import RegistryClient
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.registry import plans, requests
from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.clientcore.settings import ClientSettings
from tests.client.registry.fake_transport import FakeTransport

SETTINGS = {"schema.registry.url": "http://r:8081"}


class RegistryClientTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a client of a registry in memory."""
        self.transport = FakeTransport()
        import kafkatx.client.registry.transport as module

        self.patch(module, "Transport", self.transport.make)
        self.client = RegistryClient.of(SETTINGS, Clock())

    def test_requests(self) -> None:
        """Requests and plans have their results and errors."""
        number = self.transport.registry.add("s", '"int"')
        self.assertEqual(self.successResultOf(self.client.send(requests.subjects())), ["s"])
        found = self.successResultOf(self.client.run(plans.schema_of_id(number)))
        self.assertEqual(found.schema.text, '"int"')
        self.failureResultOf(self.client.run(plans.schema_of_id(9)), RegistryError)

    def test_close(self) -> None:
        """A close fails requests in flight, and later ones."""
        self.transport.hold = True
        waiting = self.client.send(requests.subjects())
        failed: list[object] = []
        waiting.addErrback(failed.append)
        self.successResultOf(self.client.close())
        self.assertEqual(len(failed), 1)
        self.failureResultOf(self.client.send(requests.subjects()), ClientClosed)

    def test_access(self) -> None:
        """All coders of a client share one registry client."""
        access = RegistryAccess(ClientSettings.load("producer", SETTINGS), Clock())
        self.successResultOf(access.close())
        self.assertIs(access.client(), access.client())
        self.successResultOf(access.close())

    def test_import(self) -> None:
        """Twisted's HTTP client is not imported before the first request."""
        code = "import sys, kafkatx.client.registry.coders; sys.exit('twisted.web' in sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)
