"""The portal of logins."""

from __future__ import annotations

from typing import Any

from twisted.cred.checkers import InMemoryUsernamePasswordDatabaseDontUse
from twisted.cred.credentials import IUsernamePassword, UsernamePassword
from twisted.cred.error import LoginFailed, UnauthorizedLogin
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.broker.logins.portal import BearerToken, Realm, ScramLogin, log_in, make_portal
from kafkatx.interfaces.security.logins import IBearerToken, ICredentialsChecker, IIdentity, IScramLogin
from kafkatx.security.identity import Identity


class Fixed:
    """A checker that always gives the same answer."""

    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0

    def requestAvatarId(self, credentials: object) -> Any:
        """Return, or raise, the answer."""
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class PortalTests(SynchronousTestCase):
    def log_in(self, *checkers: Any, credentials: object = None) -> Deferred[Identity]:
        """Log in with some checkers."""
        given = credentials or UsernamePassword(b"alice", b"a")
        return Deferred.fromCoroutine(log_in(make_portal(checkers), given))

    def test_avatars(self) -> None:
        """A checker returns a name as text or bytes, or an identity."""
        for answer in ("käthe", "käthe".encode(), Identity("käthe")):
            self.assertEqual(self.successResultOf(self.log_in(Fixed(answer))), Identity("käthe"))
        self.assertEqual(Identity("käthe").principal, "User:käthe")
        self.assertRaises(NotImplementedError, Realm().requestAvatar, "x", None)

    def test_twisteds_own(self) -> None:
        """A checker of twisted.cred works as it is."""
        checker = InMemoryUsernamePasswordDatabaseDontUse(alice=b"a")
        self.assertTrue(verifyObject(ICredentialsChecker, checker, tentative=True))
        self.assertEqual(self.successResultOf(self.log_in(checker)), Identity("alice"))

    def test_several(self) -> None:
        """Checkers are asked in order until one accepts; another error than a refusal ends that."""
        refusing, accepting, unasked = Fixed(UnauthorizedLogin()), Fixed("alice"), Fixed("bob")
        self.assertEqual(self.successResultOf(self.log_in(refusing, accepting, unasked)), Identity("alice"))
        self.assertEqual((refusing.asked, unasked.asked), (1, 0))
        self.failureResultOf(self.log_in(refusing, refusing), UnauthorizedLogin)
        self.failureResultOf(self.log_in(Fixed(LoginFailed()), accepting), LoginFailed)

    def test_no_checker(self) -> None:
        """Credentials without a checker are refused."""
        self.failureResultOf(self.log_in(Fixed("alice"), credentials=BearerToken("x")), LoginFailed)

    def test_interfaces(self) -> None:
        """Credentials and identities provide their interfaces."""
        self.assertTrue(verifyObject(IIdentity, Identity("x")))
        self.assertTrue(verifyObject(IScramLogin, ScramLogin(b"x", "SCRAM-SHA-256")))
        self.assertTrue(verifyObject(IBearerToken, BearerToken("x")))
