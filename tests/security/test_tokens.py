"""Bearer tokens of clients."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.security.tokens import CalledTokens, EndpointTokens, FileTokens, TokenError


class Endpoint(BaseHTTPRequestHandler):
    """A token endpoint."""

    answer: tuple[int, bytes] = (200, b"")
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self) -> None:
        """Answer as the test says."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        type(self).asked.append((self.headers["Authorization"], body))
        status, content = type(self).answer
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        """Log nothing."""


class EndpointTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start an endpoint."""
        Endpoint.asked = []
        self.server = HTTPServer(("127.0.0.1", 0), Endpoint)
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.now_s = 0.0
        url = f"http://127.0.0.1:{self.server.server_port}/token"
        self.tokens = EndpointTokens(url, "me:1", "sesame", "read", 5, lambda: self.now_s)

    def test_fetch(self) -> None:
        """The endpoint is asked by the grant client_credentials; a token is used for 0.8 of its time."""
        Endpoint.answer = (200, json.dumps({"access_token": "a.b", "expires_in": 100}).encode())
        for self.now_s in (0, 79.9):
            self.assertEqual(self.tokens.fetch(), "a.b")
        ((authorization, body),) = Endpoint.asked
        self.assertEqual(base64.b64decode(authorization.removeprefix("Basic ")), b"me%3A1:sesame")
        self.assertEqual(body, "grant_type=client_credentials&scope=read")
        self.now_s = 80
        self.tokens.fetch()
        self.assertEqual(len(Endpoint.asked), 2)

    def test_no_time(self) -> None:
        """A token without a time is used once."""
        Endpoint.answer = (200, b'{"access_token": "a.b"}')
        self.tokens.fetch()
        self.tokens.fetch()
        self.assertEqual(len(Endpoint.asked), 2)

    def test_refused(self) -> None:
        """Errors, redirects and answers without a token are refusals, told without the secret."""
        for status, content in (
            *((401, b'{"error":"invalid_client"}'), (302, b""), (200, b""), (200, b"[]"), (200, b"{}")),
            *((200, b'{"access_token": 1}'), (200, b'{"access_token": "a", "expires_in": "x"}')),
        ):
            Endpoint.answer = (status, content)
            error = self.assertRaises(TokenError, self.tokens.fetch)
            self.assertFalse(error.retriable)
            self.assertNotIn("sesame", str(error))

    def test_away(self) -> None:
        """An endpoint that does not answer may do so later."""
        tokens = EndpointTokens("http://127.0.0.1:1/", "me", "sesame", None, 5)
        self.assertTrue(self.assertRaises(TokenError, tokens.fetch).retriable)


class OtherTests(SynchronousTestCase):
    def test_file(self) -> None:
        """A file is read for each login, so that another program may renew it."""
        path = self.mktemp()
        tokens = FileTokens(path)
        self.assertTrue(self.assertRaises(TokenError, tokens.fetch).retriable)
        for content in ("a.b\n", " c.d "):
            with open(path, "w") as file:
                file.write(content)
            self.assertEqual(tokens.fetch(), content.strip())
        for content in ("", "ö"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            self.assertRaises(TokenError, tokens.fetch)

    def test_function(self) -> None:
        """A function gives tokens; one that fails, or gives something else, is told as such."""
        self.assertEqual(CalledTokens(lambda: "x").fetch(), "x")
        wrong: list[Any] = [lambda: "", lambda: None, lambda: 1 / 0]
        for call in wrong:
            self.assertRaises(TokenError, CalledTokens(call).fetch)
