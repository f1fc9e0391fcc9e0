"""The broker's end of each mechanism."""

from __future__ import annotations

from typing import Any

from twisted.cred.error import UnauthorizedLogin
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins.exchanges import Step, make_exchange
from kafkatx.broker.logins.portal import make_portal
from kafkatx.interfaces.security.logins import IBearerToken, IScramLogin
from kafkatx.security.identity import Identity
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential
from kafkatx.security.sasl.errors import SaslError
from kafkatx.security.sasl.oauthbearer import ABORT, INVALID_TOKEN, BearerToken
from kafkatx.security.sasl.scram import ScramClient

SHA_256 = MECHANISMS["SCRAM-SHA-256"]


class Checker:
    """A checker whose answers the test gives."""

    credentialInterfaces = (IBearerToken, IScramLogin)

    def __init__(self) -> None:
        self.answer: Deferred[Any] = Deferred()
        self.credentials: Any = None

    def requestAvatarId(self, credentials: object) -> Deferred[Any]:
        """Return the next answer."""
        self.credentials = credentials
        return self.answer


class ExchangeTestCase(SynchronousTestCase):
    mechanism = ""

    def setUp(self) -> None:
        """Make an exchange."""
        self.checker = Checker()
        self.exchange = make_exchange(self.mechanism, make_portal([self.checker]), "192.0.2.1")

    def step(self, token: bytes) -> Deferred[Step]:
        """Give a token to the exchange."""
        return Deferred.fromCoroutine(self.exchange.step(token))


class BearerTests(ExchangeTestCase):
    mechanism = "OAUTHBEARER"

    def test_accepted(self) -> None:
        """An accepted token ends the exchange."""
        stepping = self.step(BearerToken("a.b").encode())
        self.checker.answer.callback(Identity("alice", 5))
        self.assertEqual(self.checker.credentials.token, "a.b")
        self.assertEqual(self.successResultOf(stepping), Step(b"", Identity("alice", 5)))
        self.assertEqual(self.exchange.user, "alice")

    def test_refused(self) -> None:
        """A refused token is told as such; after the client's answer the login fails, whatever that is."""
        stepping = self.step(BearerToken("a.b").encode())
        self.checker.answer.errback(UnauthorizedLogin("expired"))
        self.assertEqual(self.successResultOf(stepping), Step(INVALID_TOKEN))
        error = self.failureResultOf(self.step(ABORT), UnauthorizedLogin)
        self.assertEqual(str(error.value), "expired")
        self.failureResultOf(self.step(BearerToken("good").encode()), UnauthorizedLogin)

    def test_other_user(self) -> None:
        """A token of alice is not one for bob."""
        stepping = self.step(BearerToken("a.b").encode().replace(b"n,,", b"n,a=bob,"))
        self.checker.answer.callback("alice")
        self.assertEqual(self.successResultOf(stepping), Step(INVALID_TOKEN))

    def test_malformed(self) -> None:
        """A malformed message fails at once, and no checker is asked."""
        self.failureResultOf(self.step(b"x"), SaslError)
        self.assertIsNone(self.checker.credentials)


class ScramTests(ExchangeTestCase):
    mechanism = "SCRAM-SHA-256"

    def setUp(self) -> None:
        """Make a client and the credentials that fit it."""
        super().setUp()
        self.client = ScramClient(SHA_256, "alice", "a", "nonce")
        self.credential = ScramCredential.of_password(SHA_256, "a", b"salt", 4096)

    def test_slow_checker(self) -> None:
        """A checker may take its time to find the keys, and to accept the proof."""
        stepping = self.step(self.client.first())
        self.assertNoResult(stepping)
        proved = self.checker.credentials.prove(self.credential)
        final = self.client.step(self.successResultOf(stepping).token)
        assert final is not None
        stepping = self.step(final)
        self.assertTrue(self.successResultOf(proved))
        self.assertNoResult(stepping)
        self.checker.answer.callback("alice")
        step = self.successResultOf(stepping)
        self.assertEqual(step.identity, Identity("alice"))
        self.assertIsNone(self.client.step(step.token))

    def test_no_keys(self) -> None:
        """A checker that fails before it gives keys fails the login."""
        stepping = self.step(self.client.first())
        self.checker.answer.errback(UnauthorizedLogin())
        self.failureResultOf(stepping, UnauthorizedLogin)

    def test_wrong_proof(self) -> None:
        """The checker is told of a wrong proof, and its answer does not matter then."""
        stepping = self.step(ScramClient(SHA_256, "alice", "b", "nonce").first())
        proved = self.checker.credentials.prove(self.credential)
        client = ScramClient(SHA_256, "alice", "b", "nonce")
        final = client.step(self.successResultOf(stepping).token)
        assert final is not None
        self.failureResultOf(self.step(final), SaslError)
        self.assertFalse(self.successResultOf(proved))
        self.checker.answer.errback(UnauthorizedLogin())
        self.assertEqual(self.flushLoggedErrors(), [])
