"""The application at ``/console``: pages, headers, who may ask, what it says of itself."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

from twisted.internet.defer import Deferred

from kafkatx.broker.console.application import ConsoleApplication
from kafkatx.broker.console.pages.headers import HEADERS
from kafkatx.broker.console.route import Route
from kafkatx.web.calls import Call
from tests.broker.console.case import ConsoleCase


class ApplicationTests(ConsoleCase):
    def test_headers(self) -> None:
        """All answers have the headers that bind browsers: pages, values, errors."""
        for method, target in (
            ("GET", "/console/"),
            ("GET", "/console"),
            ("GET", "/console/api/v1/session"),
            ("GET", "/console/api/v1/nowhere"),
            ("POST", "/console/api/v1/session"),
            ("GET", "/console/static/..%2f..%2fapplication.py"),
        ):
            answer = self.request(method, target)
            found = {name: answer.headers.get(name) for name in HEADERS if name != "Cache-Control"}
            self.assertEqual(found, {name: HEADERS[name] for name in found}, target)
            self.assertIn("Cache-Control", answer.headers)

    def test_paths(self) -> None:
        """The page is at the path with a slash, where its links are right; others are not there."""
        answer = self.request("GET", "/console?x=1")
        self.assertEqual((answer.status, answer.headers["Location"]), (308, "/console/?x=1"))
        for target in ("/console/nowhere", "/console/api", "/console/api/v2/session", "/console/static"):
            self.assertEqual(self.request("GET", target).status, 404, target)
        self.assertEqual(self.request("POST", "/console/").status, 405)

    def test_own_header(self) -> None:
        """A change without the header that pages of other sites cannot send is refused."""
        for headers in ({"x-kafkatx-console": ""}, {"x-kafkatx-console": "0"}):
            for route in self.application.routes:
                if route.method != "GET":
                    target = "/console/api/v1" + route.pattern.replace("{", "").replace("}", "")
                    answer = self.request(route.method, target, {}, headers)
                    self.assertEqual(self.refused(self.value(answer, 403)), "HEADER_MISSING", route)

    def test_description(self) -> None:
        """The description has each route of the table, and nothing else; each says what it does."""
        found = self.get("/openapi.json")
        listed = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
        routes = {(route.method, route.pattern) for route in self.application.routes}
        self.assertEqual(routes - listed, {("GET", "/openapi.json")})
        self.assertEqual(listed - routes, set())
        for route in self.application.routes:
            self.assertTrue(route.summary, route)
            self.assertFalse(route.changes and route.method == "GET", route)

    def test_failures(self) -> None:
        """A bug is told without what it is, and logged; the next request is answered."""

        def fail(call: Call) -> Any:
            raise ValueError("broken")

        application = ConsoleApplication(
            self.console.parts,
            [Route("GET", "/broken", fail, "Fail")],
            self.application._access,
            self.application._files,
        )
        with patch.object(self, "application", application):
            found = self.get("/broken", 500)
            self.assertEqual(self.refused(found), "UNKNOWN_SERVER_ERROR")
            self.assertNotIn("broken", json.dumps(found))
            self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
            self.get("/session")

    def test_gone(self) -> None:
        """A change goes on to its end when its client goes, and is noted; a read ends."""
        waiting: list[Deferred[None]] = []

        async def change(call: Call) -> Any:
            with self.console.parts.actions.change(call, "do", "it"):
                waiting.append(Deferred())
                await waiting[-1]
            return {}

        async def read(call: Call) -> Any:
            waiting.append(Deferred())
            await waiting[-1]

        routes = [Route("POST", "/x", change, "Do", changes=True), Route("GET", "/x", read, "Read")]
        access, files = self.application._access, self.application._files
        self.application = ConsoleApplication(self.console.parts, routes, access, files)
        for method in ("POST", "GET"):
            asked = self.begin(method, "/console/api/v1/x", {})
            asked.cancel()
            self.failureResultOf(asked)
        self.assertEqual([one.called for one in waiting], [False, True])
        waiting[0].callback(None)
        self.assertEqual([one.result for one in self.console.parts.actions.newest()], ["done"])

    def test_session(self) -> None:
        """Without logins all clients are those that the listener says."""
        found = self.get("/session")
        self.assertEqual(found["authentication"], "none")
        self.assertEqual(found["principal"], "User:ANONYMOUS")
        self.assertEqual((found["readOnly"], found["messages"]), (False, "full"))
        self.assertEqual((found["brokerId"], found["serverTimeMs"]), (0, self.now_ms))
        wanted = {"username": "ann", "password": "x"}
        self.assertEqual(self.refused(self.change("POST", "/session", wanted, 400)), "INVALID_REQUEST")
