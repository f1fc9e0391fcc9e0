"""Logins at a listener with SASL: the states, the limits, sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from twisted.logger import capturedLogs

from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import SERVED
from kafkatx.clientcore.errors import AuthenticationFailed
from kafkatx.errors import ErrorCode
from kafkatx.security.sasl.plain import PlainToken
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.broker.logins.case import PREFIX, SCRAM, LoginTestCase, Peer

VERSIONS = ApiVersionsRequest("tests", "1")


class LogInTests(LoginTestCase):
    def test_mechanisms(self) -> None:
        """Each mechanism lets a user in, whose requests then go to the dispatch itself."""
        for login in (self.plain(), self.scram()):
            peer = self.connect()
            self.assertIsNone(peer.log_in(login))
            self.assertEqual(peer.principal, "User:alice")
            self.assertEqual(peer.connection.peer.session.listener, "SASL")
            self.assertIsInstance(peer.connection._requests, Dispatch)
            self.assertTrue(peer.works())

    def test_versions(self) -> None:
        """ApiVersions may come first, once, or again after one of a version to come."""
        peer = self.connect()
        self.assertEqual(peer.ask(VERSIONS, 4).error_code, 0)
        peer.log_in(self.plain(), version=0)
        self.assertTrue(peer.works())
        newer = self.connect()
        newer.send_frame(b"\0\x12\0\x7f\0\0\0\x07\xff\xff\0\0\0\0")
        self.assertEqual(newer.decoded(18, 0).error_code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertEqual(newer.ask(VERSIONS, 4).error_code, 0)
        self.assertFalse(newer.closed)
        newer.send(VERSIONS, 4)
        self.assertTrue(newer.closed)

    def test_tokens_without_header(self) -> None:
        """After SaslHandshake v0 the tokens have no headers."""
        peer = self.connect()
        self.assertEqual(peer.ask(SaslHandshakeRequest("PLAIN"), 0).error_code, 0)
        peer.send_frame(PlainToken("bob", "b").encode())
        self.assertEqual(peer.replies(), [b""])
        self.assertEqual(peer.principal, "User:bob")
        self.assertTrue(peer.works())

    def test_pipelined(self) -> None:
        """A request in the same read as the last token is answered after it."""
        peer = self.connect()
        peer.ask(SaslHandshakeRequest("PLAIN"), 1)
        sent: list[bytes] = []
        self.patch(peer, "send_frame", sent.append)
        peer.send(SaslAuthenticateRequest(PlainToken("bob", "b").encode()), 2)
        peer.send(MetadataRequest([]), 0)
        peer.connection.dataReceived(b"".join(len(one).to_bytes(4, "big") + one for one in sent))
        peer.settle()
        self.assertEqual(len(peer.replies()), 2)


class RefusalTests(LoginTestCase):
    def test_indistinguishable(self) -> None:
        """A wrong password and an unknown user get the same message, after the same time."""
        found = set()
        for user, password in (("alice", "b"), ("nobody", "a")):
            for login in (self.plain(user, password), self.scram(user, password)):
                began_s = self.clock.seconds()
                found.add((login.mechanism, self.refused(login), round(self.clock.seconds() - began_s, 3)))
        text = (
            "the broker refuses the login by {0}: Authentication failed: invalid credentials with SASL"
            " mechanism {0}"
        )
        self.assertEqual(found, {(name, text.format(name), 0.1) for name in ("PLAIN", SCRAM)})

    def test_unknown_user_salt(self) -> None:
        """An unknown user has a salt that is always the same, of the length and iterations of others."""
        challenges = set()
        for _ in range(2):
            peer = self.connect()
            peer.ask(SaslHandshakeRequest(SCRAM), 1)
            response = peer.ask(SaslAuthenticateRequest(b"n,,n=nobody,r=x"), 2)
            challenges.add(bytes(response.auth_bytes).partition(b",s=")[2])
        self.assertEqual(len(challenges), 1)
        (challenge,) = challenges
        self.assertTrue(challenge.endswith(b",i=4096"))
        self.assertEqual(len(challenge), len(b"c2FsdA==,i=4096"))

    def test_mechanism(self) -> None:
        """An unknown mechanism is refused with the list of those that there are."""
        for name in ("GSSAPI", "SCRAM-SHA-512", "OAUTHBEARER", "x" * 9999):
            peer = self.connect()
            response = peer.ask(SaslHandshakeRequest(name), 1)
            self.assertEqual(response.error_code, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
            self.assertEqual(response.mechanisms, ["PLAIN", SCRAM])
            self.assertTrue(peer.closed)

    def test_log(self) -> None:
        """The log names the user and the reason, and no password."""
        with capturedLogs() as logged:
            self.refused(self.plain("alice", "sesame"))
        (line,) = [str(event) for event in logged if "reason" in event]
        self.assertIn("its login by PLAIN of 'alice' failed: wrong password, or unknown user", line)
        self.assertNotIn("sesame", line)

    def test_client_leaves(self) -> None:
        """A client that leaves with the answer is in the log as well."""
        peer = self.connect()
        peer.ask(SaslHandshakeRequest("PLAIN"), 1)
        peer.send(SaslAuthenticateRequest(PlainToken("alice", "x").encode()), 2)
        self.patch(peer.transport, "write", lambda data: peer.leave())
        with capturedLogs() as logged:
            self.clock.advance(0.1)
        self.assertEqual(len([event for event in logged if "by PLAIN of 'alice' failed" in str(event)]), 1)

    def test_without_delay(self) -> None:
        """connection.failed.authentication.delay.ms=0 answers at once."""
        self.factory = self.make_factory(
            **{"sasl.enabled.mechanisms": "PLAIN", "connection.failed.authentication.delay.ms": "0"}
        )
        began_s = self.clock.seconds()
        self.refused(self.plain("alice", "b"))
        self.assertEqual(self.clock.seconds(), began_s)

    def test_nothing_after_a_failure(self) -> None:
        """Requests during the delay of a failed login are not answered, also a right login."""
        peer = self.connect()
        peer.ask(SaslHandshakeRequest("PLAIN"), 1)
        peer.send(SaslAuthenticateRequest(PlainToken("alice", "x").encode()), 2)
        peer.send(SaslAuthenticateRequest(PlainToken("alice", "a").encode()), 2)
        peer.send(SaslHandshakeRequest("PLAIN"), 1)
        self.clock.advance(0.1)
        self.assertEqual(peer.decoded(36, 2).error_code, ErrorCode.SASL_AUTHENTICATION_FAILED)
        self.assertTrue(peer.closed)
        peer.send(SaslHandshakeRequest("PLAIN"), 1)
        self.assertEqual((peer.replies(), peer.principal), ([], "User:ANONYMOUS"))

    def test_wrong_token_without_header(self) -> None:
        """A wrong token after SaslHandshake v0 closes the connection without an answer."""
        peer = self.connect()
        peer.ask(SaslHandshakeRequest("PLAIN"), 0)
        peer.send_frame(PlainToken("bob", "x").encode())
        self.assertFalse(peer.closed)
        self.clock.advance(0.1)
        self.assertTrue(peer.closed)
        self.assertEqual(peer.replies(), [])


class StateTests(LoginTestCase):
    def test_other_requests(self) -> None:
        """Before the login all other requests, and repeated ones, close the connection."""
        handshake, token = SaslHandshakeRequest("PLAIN"), SaslAuthenticateRequest(b"")
        for before, then in (
            ((), MetadataRequest([])),
            ((), token),
            ((VERSIONS,), VERSIONS),
            ((VERSIONS,), token),
            ((handshake,), handshake),
            ((handshake,), VERSIONS),
            ((VERSIONS, handshake), MetadataRequest([])),
        ):
            peer = self.connect()
            for message in before:
                self.assertEqual(peer.ask(message, 1).error_code, 0)
            self.assertFalse(peer.closed)
            peer.send(then, 0)
            self.assertTrue(peer.closed, (before, then))
            self.assertEqual(peer.replies(), [])
        for body in (b"", b"\0\x12\0", b"\0\x11\0\x7f\0\0\0\0\xff\xff"):
            peer = self.connect()
            peer.send_frame(body)
            self.assertTrue(peer.closed)

    def test_advice(self) -> None:
        """The log says which security.protocol a client has to use."""
        with capturedLogs() as logged:
            self.connect().send(MetadataRequest([]), 0)
        self.assertIn("set security.protocol=SASL_PLAINTEXT", str(logged[-1]))

    def test_endless_exchange(self) -> None:
        """An exchange has few steps."""
        peer = self.connect()
        peer.ask(SaslHandshakeRequest(SCRAM), 1)
        peer.ask(SaslAuthenticateRequest(b"n,,n=alice,r=x"), 2)
        peer.send(SaslAuthenticateRequest(b"n,,n=alice,r=x"), 2)
        self.clock.advance(0.1)
        self.assertEqual(peer.decoded(36, 2).error_code, ErrorCode.SASL_AUTHENTICATION_FAILED)
        self.assertTrue(peer.closed)


class LimitTests(LoginTestCase):
    sasl: ClassVar[Mapping[str, str]] = {"sasl.server.max.receive.size": "2000"}

    def test_large_frames(self) -> None:
        """Large frames close the connection before the login, and are accepted after it."""
        peer = self.connect()
        peer.connection.dataReceived((2001).to_bytes(4, "big"))
        self.assertTrue(peer.closed)
        peer = self.connect()
        peer.log_in(self.plain())
        peer.send(MetadataRequest([]), 0)
        peer.replies()
        peer.connection.dataReceived((2001).to_bytes(4, "big"))
        self.assertFalse(peer.closed)

    def test_timeout(self) -> None:
        """A client has limited time to log in; one that has logged in, or left, is not affected."""
        idle, good, gone = self.connect(), self.connect(), self.connect()
        good.log_in(self.plain())
        gone.leave()
        with capturedLogs() as logged:
            self.clock.advance(10)
        self.assertTrue(idle.closed)
        self.assertFalse(good.closed)
        self.assertEqual(len([event for event in logged if "did not log in within 10 s" in str(event)]), 1)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class UnauthenticatedTests(LoginTestCase):
    def test_of_one_address(self) -> None:
        """An address that does not log in pushes out its own oldest connection; those that did stay."""
        self.factory.server.unauthenticated.most = 2
        good = self.connect()
        good.log_in(self.plain())
        first, second, third = self.connect(), self.connect(), self.connect()
        self.assertEqual([peer.closed for peer in (good, first, second, third)], [False, True, False, False])
        for peer in (second, third):
            peer.leave()
        self.assertEqual(len(self.factory.server.unauthenticated), 0)

    def test_over_tls(self) -> None:
        """A connection over TLS is counted from its first request on, since TLS counts it before."""
        self.factory.rules.has_tls = True
        self.factory.rules.protocol = "SASL_SSL"
        peer = self.connect()
        self.assertEqual(len(self.factory.server.unauthenticated), 0)
        peer.ask(VERSIONS, 3)
        self.assertEqual(len(self.factory.server.unauthenticated), 1)
        peer.log_in(self.plain())
        self.assertEqual(len(self.factory.server.unauthenticated), 0)


class SessionTests(LoginTestCase):
    sasl: ClassVar[Mapping[str, str]] = {f"{PREFIX}plain.connections.max.reauth.ms": "60000"}

    def test_again(self) -> None:
        """A client logs in again on its connection, and has another session then."""
        peer = self.connect()
        self.assertEqual(peer.log_in(self.plain()), 60 * 0.85)
        self.clock.advance(51)
        self.assertEqual(peer.log_in(self.plain()), 60 * 0.85)
        self.clock.advance(51)
        self.assertTrue(peer.works())

    def test_expired(self) -> None:
        """After the session's end a client may log in again, and nothing else."""
        peer, other = self.connect(), self.connect()
        peer.log_in(self.plain())
        other.log_in(self.plain())
        self.clock.advance(60)
        self.assertFalse(peer.closed)
        peer.log_in(self.plain())
        self.assertTrue(peer.works())
        with capturedLogs() as logged:
            self.assertFalse(other.works())
        self.assertTrue(other.closed)
        self.assertIn("its session has ended, and it sent ApiVersions", str(logged[-1]))

    def test_other_user(self) -> None:
        """A client cannot log in again as another user, or by another mechanism; it stays who it was."""
        peer = self.connect()
        peer.log_in(self.plain())
        self.assertRaises(AuthenticationFailed, peer.log_in, self.plain("bob", "b"))
        self.assertTrue(peer.closed)
        self.assertEqual(peer.principal, "User:alice")
        peer = self.connect()
        peer.log_in(self.plain())
        self.assertRaises(AuthenticationFailed, peer.log_in, self.scram())
        self.assertTrue(peer.closed)

    def test_wrong_password(self) -> None:
        """A client that logs in again with a wrong password is disconnected."""
        peer = self.connect()
        peer.log_in(self.plain())
        self.assertRaises(AuthenticationFailed, peer.log_in, self.plain("alice", "x"))
        self.assertTrue(peer.closed)

    def test_begun_only(self) -> None:
        """A login again that is not finished has a time-out, too."""
        peer = self.connect()
        peer.log_in(self.plain())
        peer.ask(SaslHandshakeRequest("PLAIN"), 1)
        self.clock.advance(10)
        self.assertTrue(peer.closed)

    def test_no_end(self) -> None:
        """A session without an end cannot be begun again; the connection goes on."""
        peer = self.connect()
        self.assertIsNone(peer.log_in(self.scram()))
        response = peer.ask(SaslHandshakeRequest(SCRAM), 1)
        self.assertEqual(response.error_code, ErrorCode.ILLEGAL_SASL_STATE)
        self.assertTrue(peer.works())
        response = peer.ask(SaslAuthenticateRequest(b""), 2)
        self.assertEqual(response.error_code, ErrorCode.ILLEGAL_SASL_STATE)
        self.assertFalse(peer.closed)


class RevocationTests(LoginTestCase):
    def test_revoked(self) -> None:
        """A user whose credentials are deleted loses the connections that used them, and no others."""
        scram, plain, gone = self.connect(), self.connect(), self.connect()
        for peer in (scram, gone):
            peer.log_in(self.scram())
        plain.log_in(self.plain())
        gone.leave()
        alter = self.broker.metadata.alter_scram_credentials
        self.successResultOf(alter({"bob": {SCRAM: None}, "alice": {"SCRAM-SHA-512": "x"}}))
        self.successResultOf(alter({"alice": {"SCRAM-SHA-512": None}}))
        self.assertFalse(scram.closed)
        self.successResultOf(alter({"alice": {SCRAM: None}}))
        self.assertTrue(scram.closed)
        self.assertFalse(plain.closed)

    def test_revoked_plain(self) -> None:
        """A user by PLAIN with a password of SCRAM loses the connection, once no credential is left."""
        factory = self.make_factory(
            **{"sasl.enabled.mechanisms": "PLAIN", "kafkatx.plain.checkers": "jaas,scram"}
        )
        alice, bob = Peer(self, factory), Peer(self, factory)
        for peer, login in ((alice, self.plain()), (bob, self.plain("bob", "b"))):
            self.addCleanup(peer.leave)
            peer.log_in(login)
        alter = self.broker.metadata.alter_scram_credentials
        self.successResultOf(alter({"alice": {"SCRAM-SHA-512": "x"}}))
        self.successResultOf(alter({"alice": {SCRAM: None}}))
        self.assertFalse(alice.closed)
        self.successResultOf(alter({"alice": {"SCRAM-SHA-512": None}}))
        self.assertTrue(alice.closed)
        self.assertFalse(bob.closed)


class NoSaslTests(LoginTestCase):
    def test_refused(self) -> None:
        """A listener without SASL answers both requests with ILLEGAL_SASL_STATE."""
        self.dispatch = Dispatch(self.broker, SERVED)
        self.assertEqual(
            self.ask(17, 1, SaslHandshakeRequest("PLAIN")).error_code, ErrorCode.ILLEGAL_SASL_STATE
        )
        response = self.ask(36, 2, SaslAuthenticateRequest(b""))
        self.assertEqual(response.error_code, ErrorCode.ILLEGAL_SASL_STATE)
