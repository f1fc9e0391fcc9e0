"""The broker's end of each SASL mechanism, with a portal that checks credentials."""

from __future__ import annotations

import secrets
from typing import Protocol

import attrs
from twisted.cred.error import UnauthorizedLogin
from twisted.cred.portal import Portal
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.broker.logins.portal import BearerToken, ScramLogin, log_in, log_in_with_password
from kafkatx.security.identity import Identity
from kafkatx.security.sasl import oauthbearer, plain
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential
from kafkatx.security.sasl.errors import SaslError
from kafkatx.security.sasl.scram import ScramServer

NONCE_BYTES = 18


@attrs.frozen
class Step:
    """The answer to a token of the client.

    :ivar identity: the client's, if it has logged in; None: the exchange goes on.
    """

    token: bytes
    identity: Identity | None = None


class Exchange(Protocol):
    """The broker's end of one exchange.

    :ivar user: the name that the client claims, for the log; empty while it is not known.
    """

    user: str

    async def step(self, token: bytes) -> Step:
        """Take a token of the client.

        :raises SaslError: it is malformed, or proves nothing.
        :raises UnauthorizedLogin: no checker accepts it; checkers may raise other errors.
        """


class PlainExchange:
    """PLAIN: one token with user name and password."""

    def __init__(self, portal: Portal, address: str) -> None:
        self._portal = portal
        self._address = address
        self.user = ""

    async def step(self, token: bytes) -> Step:
        """Pass user name and password to the portal."""
        decoded = plain.decode(token)
        self.user = decoded.user
        identity = await log_in_with_password(self._portal, decoded.user, decoded.password, self._address)
        return Step(b"", identity)


class ScramExchange:
    """SCRAM: the login at the portal begins with the first token, and ends with the second."""

    def __init__(self, portal: Portal, mechanism: str) -> None:
        self._portal = portal
        self._server = ScramServer(MECHANISMS[mechanism], secrets.token_urlsafe(NONCE_BYTES))
        self._credentials: ScramLogin | None = None
        self._login: Deferred[Identity] | None = None
        self.user = ""

    async def step(self, token: bytes) -> Step:
        """Take the first or the second token."""
        if self._credentials is None or self._login is None:
            return Step(self._server.challenge(await self._begin(token)))
        try:
            answer = self._server.final(token)
        except SaslError:
            self._credentials.proof.callback(False)
            self._login.addErrback(lambda failure: failure.trap(UnauthorizedLogin))
            raise
        self._credentials.proof.callback(True)
        return Step(answer, await self._login)

    async def _begin(self, token: bytes) -> ScramCredential:
        """Begin the login; return the stored keys that a checker gives."""
        self.user = self._server.first(token)
        credentials = self._credentials = ScramLogin(self.user.encode(), self._server.mechanism.name)
        self._login = Deferred.fromCoroutine(log_in(self._portal, credentials))
        self._login.addErrback(_tell, credentials)
        return await credentials.offered


def _tell(failure: Failure, credentials: ScramLogin) -> Failure | None:
    """Pass the failure of a login on to the exchange, if that waits for the keys."""
    if credentials.offered.called:
        return failure
    credentials.offered.errback(failure)
    return None


class BearerExchange:
    """OAUTHBEARER: one token; after one that is refused the client acknowledges the error."""

    def __init__(self, portal: Portal) -> None:
        self._portal = portal
        self._refused: UnauthorizedLogin | None = None
        self.user = ""

    async def step(self, token: bytes) -> Step:
        """Pass the bearer token to the portal; or fail, after the acknowledgement."""
        if self._refused is not None:
            raise self._refused
        decoded = oauthbearer.decode(token)
        try:
            identity = await log_in(self._portal, BearerToken(decoded.token))
            if decoded.authorization_id not in ("", identity.name):
                raise UnauthorizedLogin("the client asks to act for another user than the token's")
        except UnauthorizedLogin as error:
            self._refused = error
            return Step(oauthbearer.INVALID_TOKEN)
        self.user = identity.name
        return Step(b"", identity)


def make_exchange(mechanism: str, portal: Portal, address: str) -> Exchange:
    """Return the broker's end of a new exchange with a client at an address."""
    if mechanism == plain.NAME:
        return PlainExchange(portal, address)
    if mechanism == oauthbearer.NAME:
        return BearerExchange(portal)
    return ScramExchange(portal, mechanism)
