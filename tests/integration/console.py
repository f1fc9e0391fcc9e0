"""A client of the console, as a page is one."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

TIMEOUT_S = 30.0


class Refused(Exception):
    """An answer of another status than 200."""

    def __init__(self, status: int, error: dict[str, str]) -> None:
        super().__init__(f"{status} {error}")
        self.status = status
        self.code = error["code"]
        self.message = error["message"]


class ConsoleClient:
    """Asks the API of a console.

    :ivar cookie: that of a session.
    :param authorization: a login for each request.
    """

    def __init__(self, url: str, authorization: str = "") -> None:
        self.url = url
        self._login = {"Authorization": authorization} if authorization else {}
        self.cookie = ""

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Return the value of an answer.

        :raises Refused: the status is another than 200.
        """
        own = {"X-Kafkatx-Console": "1", "Content-Type": "application/json", "Cookie": self.cookie}
        headers = {**own, **self._login}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/console/api/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                cookie = response.headers["set-cookie"]
                if cookie:
                    self.cookie = cookie.partition(";")[0]
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise Refused(error.code, json.loads(error.read())["error"]) from None

    def get(self, path: str) -> Any:
        """Return the value at a path."""
        return self.call("GET", path)

    def events(self, topics: str) -> Iterator[Any]:
        """Follow topics; yield what each event tells, until the broker ends."""
        parts = urllib.parse.urlsplit(self.url)
        with socket.create_connection((parts.hostname, parts.port), TIMEOUT_S) as connection:
            line = f"GET /console/api/v1/events?topics={topics} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
            connection.sendall(line.encode())
            with connection.makefile("rb") as lines, suppress(ConnectionResetError):
                for text in lines:
                    if text.startswith(b"data: "):
                        yield json.loads(text.removeprefix(b"data: "))
