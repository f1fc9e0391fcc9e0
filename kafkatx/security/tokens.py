"""Bearer tokens of clients: from a token endpoint (client credentials, RFC 6749), a file, or a function.

It touches files and, over ``urllib``, sockets; it blocks, so that clients on a reactor call it in a thread.
"""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Protocol

from kafkatx.errors import KafkaTXError

MOST_BYTES = 1 << 20
"""Largest reply of a token endpoint, and largest file with a token."""

KEPT = 0.8
"""Part of a token's time for which it is used again."""


class TokenError(KafkaTXError):
    """There is no token; the message has no secret in it.

    :ivar retriable: True if there may be one later.
    """

    def __init__(self, message: str, retriable: bool = False) -> None:
        super().__init__(message)
        self.retriable = retriable


class Tokens(Protocol):
    """Gets bearer tokens."""

    def fetch(self) -> str:
        """Return a token that is valid for a while. This may block.

        :raises TokenError: there is none.
        """


class CalledTokens:
    """Tokens from a function of the program."""

    def __init__(self, call: Callable[[], str]) -> None:
        self._call = call

    def fetch(self) -> str:
        """Return what the function returns.

        :raises TokenError: that is no text, or the function fails.
        """
        try:
            token = self._call()
        except Exception as error:  # a program's own function may raise anything
            raise TokenError(f"the function for tokens failed with {type(error).__name__}", True) from error
        if not isinstance(token, str) or not token:
            raise TokenError("the function for tokens returned none")
        return token


class FileTokens:
    """Tokens from a file, which another program renews."""

    def __init__(self, path: str) -> None:
        self._path = path

    def fetch(self) -> str:
        """Return the content of the file, without white space around it.

        :raises TokenError: it cannot be read, or is empty.
        """
        try:
            with open(self._path, encoding="ascii") as file:
                token = file.read(MOST_BYTES).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
            raise TokenError(
                f"the file with the token, {self._path}, cannot be read: {reason}", True
            ) from None
        if not token:
            raise TokenError(f"the file with the token, {self._path}, is empty", True)
        return token


class EndpointTokens:
    """Tokens from a token endpoint; one is used again for 0.8 of its time.

    :param clock: returns monotonic seconds.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        scope: str | None,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        pair = f"{urllib.parse.quote(client_id)}:{urllib.parse.quote(client_secret)}"
        self._url = url
        self._body = urllib.parse.urlencode(form).encode()
        self._authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._timeout_s = timeout_s
        self._clock = clock
        self._known = ("", float("-inf"))

    def fetch(self) -> str:
        """Return a token.

        :raises TokenError: the endpoint refuses, or does not answer.
        """
        token, until_s = self._known
        if self._clock() >= until_s:
            token, lifetime_s = self._ask()
            self._known = token, self._clock() + lifetime_s * KEPT
        return token

    def _ask(self) -> tuple[str, float]:
        request = urllib.request.Request(
            self._url,
            self._body,
            {
                "Authorization": self._authorization,
                "Accept": "application/json",
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        try:
            with OPENER.open(request, timeout=self._timeout_s) as reply:
                answer = json.loads(reply.read(MOST_BYTES))
            token, lifetime_s = answer["access_token"], float(answer.get("expires_in", 0))
        except urllib.error.HTTPError as error:
            raise TokenError(f"the token endpoint {self._url} refuses: {error.code}") from None
        except (OSError, TimeoutError) as error:
            raise TokenError(f"the token endpoint {self._url} does not answer: {error}", True) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise TokenError(f"the token endpoint {self._url} gives no access_token") from None
        if not isinstance(token, str):
            raise TokenError(f"the token endpoint {self._url} gives no access_token")
        return token, lifetime_s


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the secret is for the endpoint alone."""

    def redirect_request(self, *arguments: object) -> None:
        """Refuse."""


OPENER = urllib.request.build_opener(_NoRedirects)
"""Opens URLs, and follows no redirect."""
