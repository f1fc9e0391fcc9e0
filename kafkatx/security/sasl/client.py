"""The client's end of every mechanism behind one interface."""

from __future__ import annotations

from typing import Protocol

from kafkatx.security.sasl.errors import SaslError
from kafkatx.security.sasl.plain import PlainToken


class ClientExchange(Protocol):
    """A client's end of one exchange."""

    def first(self) -> bytes:
        """Return the first token."""

    def step(self, challenge: bytes) -> bytes | None:
        """Take a token of the server; return the answer, or None if the exchange has ended well.

        :raises SaslError: it has failed.
        """


class PlainClient:
    """The client's end of PLAIN."""

    def __init__(self, user: str, password: str) -> None:
        self._token = PlainToken(user, password)

    def first(self) -> bytes:
        """Return the only token."""
        return self._token.encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Take the server's answer, which is empty.

        :raises SaslError: it is not.
        """
        if challenge:
            raise SaslError("the server goes on after the only token of PLAIN")
        return None
