"""The console of a broker as a whole: real connections to its listener."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from twisted.internet.testing import StringTransport

from kafkatx.broker.console.pages.headers import POLICY
from kafkatx.web.limits import WebLimits
from kafkatx.web.server import WebServerFactory
from kafkatx.web.site import Site
from tests.broker.console.case import ConsoleCase

ORIGIN = "http://localhost:8081"


class ConsoleTests(ConsoleCase):
    def setUp(self) -> None:
        """Mount the console at a site, as a listener does."""
        super().setUp()
        self.site = Site(frozenset())
        self.site.mount(("console",), lambda: self.application, public=True)
        self.factory = WebServerFactory(self.site, WebLimits(max_body_bytes=10_000), self.clock)

    def send(self, line: str, headers: Mapping[str, str], body: bytes = b"") -> tuple[int, Any]:
        """Send a request; return the status and the value of the answer."""
        protocol, transport = self.factory.buildProtocol(None), StringTransport()
        assert protocol is not None
        protocol.makeConnection(transport)
        given = {"Host": "localhost:8081", "Content-Length": str(len(body)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        protocol.dataReceived(f"{line} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        self.clock.advance(0)
        head, _, content = transport.value().partition(b"\r\n\r\n")
        self.head = head.decode()
        return int(head.split()[1]), json.loads(content) if content.startswith(b"{") else content

    def log_out(self, **headers: str) -> tuple[int, Any]:
        """Make a request that changes something; ``_`` in names stands for ``-``."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("DELETE /console/api/v1/session", named)

    def test_own_page(self) -> None:
        """A page of the console itself may make changes, and so may programs without a page."""
        self.assertEqual(self.log_out(Origin=ORIGIN, X_Kafkatx_Console="1")[0], 200)
        self.assertEqual(self.log_out(X_Kafkatx_Console="1")[0], 200)
        self.assertIn(f"Content-Security-Policy: {POLICY}", self.head)

    def test_other_pages(self) -> None:
        """Neither a page of another site nor one whose name points to this address is answered."""
        for origin in ("http://evil.example", "http://localhost:9999", "null", "https://localhost:8081.evil"):
            self.assertEqual(self.log_out(Origin=origin, X_Kafkatx_Console="1")[0], 403, origin)
            status, _ = self.send("GET /console/api/v1/session", {"Origin": origin})
            self.assertEqual(status, 403, origin)
        self.assertEqual(self.send("GET /console/api/v1/session", {"Host": "evil.example:8081"})[0], 403)
        self.assertEqual(self.log_out(Origin=ORIGIN)[0], 403)

    def test_hostile(self) -> None:
        """Giant bodies, broken ones, and names of all kinds are refused, or are names and nothing else."""
        own = {"X-Kafkatx-Console": "1", "Content-Type": "application/json"}
        self.assertEqual(self.send("POST /console/api/v1/session", own, b"[" * 9_999)[0], 400)
        self.assertEqual(self.send("POST /console/api/v1/session", own, b'"' + b"x" * 20_000)[0], 413)
        self.assertEqual(
            self.send("POST /console/api/v1/session", {**own, "Content-Type": "a/b"}, b"{}")[0], 415
        )
        for path in ("..%2f..%2f..%2fetc%2fpasswd", "%00", "%ff", "a" * 5000, "..", "vendor/../../access.py"):
            self.assertEqual(self.send(f"GET /console/static/{path}", {})[0], 404, path)

    def test_events(self) -> None:
        """A page gets events while it is there, and costs nothing when it has gone."""
        protocol, transport = self.factory.buildProtocol(None), StringTransport()
        assert protocol is not None
        protocol.makeConnection(transport)
        protocol.dataReceived(b"GET /console/api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.clock.advance(0)
        self.clock.advance(1)
        self.assertIn(b'event: update\ndata: {"overview":{"clusterId"', transport.value())
        self.assertEqual(len(self.console.parts.streams), 1)
        protocol.connectionLost()
        self.assertEqual(len(self.console.parts.streams), 0)
