"""The portal of logins: credentials, the realm that makes identities, and several checkers in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.cred.portal import IRealm, Portal
from twisted.internet.defer import Deferred, maybeDeferred
from zope.interface import classImplements, implementer

from kafkatx.broker.logins.password_checks import Password
from kafkatx.interfaces.security.logins import (
    IBearerToken,
    ICredentialsChecker,
    IIdentity,
    IScramLogin,
)
from kafkatx.security.identity import Identity
from kafkatx.security.sasl.credential import ScramCredential

classImplements(Identity, IIdentity)


@implementer(IScramLogin)
class ScramLogin:
    """Credentials of a SCRAM login, whose exchange goes on while a checker waits.

    :ivar offered: fires with the stored keys that the checker gives.
    :ivar proof: to be fired with True if the client knows the password.
    """

    def __init__(self, username: bytes, mechanism: str) -> None:
        self.username = username
        self.mechanism = mechanism
        self.offered: Deferred[ScramCredential] = Deferred()
        self.proof: Deferred[bool] = Deferred()

    def prove(self, credential: object) -> Deferred[bool]:
        """Go on with the exchange; fires with True if the client knows the password."""
        if not self.offered.called:
            self.offered.callback(cast(ScramCredential, credential))
        return self.proof


@implementer(IBearerToken)
class BearerToken:
    """Credentials of an OAUTHBEARER login."""

    def __init__(self, token: str) -> None:
        self.token = token


@implementer(IRealm)
class Realm:
    """Makes an identity of the avatar id that a checker gives: an identity, or the name of a user."""

    def requestAvatar(self, avatarId: Any, mind: object, *interfaces: Any) -> tuple[Any, object, Any]:
        """Return the interface, the identity, and a function that does nothing."""
        if IIdentity not in interfaces:
            raise NotImplementedError(f"this realm has no avatars but {IIdentity.__name__}")
        if IIdentity.providedBy(avatarId):
            return IIdentity, avatarId, _log_out
        name = avatarId.decode() if isinstance(avatarId, bytes) else str(avatarId)
        return IIdentity, Identity(name), _log_out


def _log_out() -> None:
    """Do nothing: a connection that ends leaves nothing behind."""


@implementer(ICredentialsChecker)
class FirstOf:
    """A checker that asks others, one after the other, until one accepts the credentials."""

    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, checkers: Sequence[Any]) -> None:
        self._checkers = checkers

    def requestAvatarId(self, credentials: Any) -> Deferred[Any]:
        """Return what the first checker that accepts the credentials returns."""
        return Deferred.fromCoroutine(self._ask(credentials))

    async def _ask(self, credentials: Any) -> object:
        for checker in self._checkers:
            try:
                return await maybeDeferred(checker.requestAvatarId, credentials)
            except UnauthorizedLogin:
                continue
        raise UnauthorizedLogin("no checker accepts the user name and password")


def make_portal(checkers: Sequence[Any]) -> Portal:
    """Return a portal; of several checkers of user names and passwords one has to accept them."""
    portal = Portal(Realm())
    plain = [one for one in checkers if IUsernamePassword in one.credentialInterfaces]
    if plain:
        first: Any = plain[0] if len(plain) == 1 else FirstOf(plain)
        portal.registerChecker(first, IUsernamePassword)
    for checker in checkers:
        others = [each for each in checker.credentialInterfaces if each is not IUsernamePassword]
        if others:
            portal.registerChecker(checker, *others)
    return portal


async def log_in(portal: Portal, credentials: object) -> Identity:
    """Log in; return the identity.

    :raises UnauthorizedLogin: no checker accepts the credentials. Checkers may raise other errors.
    """
    _interface, identity, _logout = await portal.login(cast(Any, credentials), None, cast(Any, IIdentity))
    return cast(Identity, identity)


async def log_in_with_password(portal: Portal, user: str, password: str, address: str) -> Identity:
    """Log in with a user name and a password; raises as :func:`log_in`.

    :param address: the address of the client, which has its share of the checks.
    """
    return await log_in(portal, Password(user.encode(), password.encode(), address))
