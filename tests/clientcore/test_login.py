"""The login of clients: the settings, and what brokers may answer."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import AuthenticationFailed, ConnectionFailed, fatal, retriable
from kafkatx.clientcore.login import ClientLogin, login_of, password_login
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.errors import ErrorCode, SettingError
from kafkatx.security.jaas import OAUTHBEARER, PLAIN, SCRAM
from kafkatx.security.tokens import CalledTokens, EndpointTokens, FileTokens, TokenError
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeResponse

SASL = {"security.protocol": "SASL_SSL"}


def load(**settings: Any) -> ClientLogin | None:
    """Return the login of a client with these settings."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return login_of(ClientSettings.load("admin", {**SASL, **named}))


def first_token(login: ClientLogin, token: str = "") -> bytes:
    """Return the first token of a login."""
    requests = login.requests(token)
    next(requests)
    request = requests.send(SaslHandshakeResponse(0, []))
    return bytes(request.auth_bytes)  # type: ignore[attr-defined]


class SettingsTests(SynchronousTestCase):
    def test_none(self) -> None:
        """Without SASL there is no login."""
        for protocol in ("PLAINTEXT", "SSL"):
            self.assertIsNone(load(security_protocol=protocol, sasl_mechanism="PLAIN"))

    def test_passwords(self) -> None:
        """User name and password come from a login module, or from settings of their own."""
        for settings in (
            {"sasl_username": "alice", "sasl_password": "a"},
            {"sasl_jaas_config": f'{PLAIN} required username="alice" password="a";'},
        ):
            login = load(sasl_mechanism="PLAIN", **settings)
            assert login is not None
            self.assertEqual(first_token(login), b"\0alice\0a")
        login = load(sasl_mechanisms="SCRAM-SHA-512", sasl_username="alice", sasl_password="a")
        assert login is not None
        self.assertTrue(first_token(login).startswith(b"n,,n=alice,r="))
        self.assertNotEqual(first_token(login), first_token(login))

    def test_tokens(self) -> None:
        """Tokens come from a function, a file or an endpoint."""
        endpoint = {"sasl_oauthbearer_token_endpoint_url": "https://issuer/token"}
        module = f'{OAUTHBEARER} required clientId="a" clientSecret="b" scope="c";'
        for settings, kind in (
            ({"kafkatx_sasl_oauthbearer_token": lambda: "x.y"}, CalledTokens),
            ({"sasl_oauthbearer_token_endpoint_url": "file:///x"}, FileTokens),
            ({**endpoint, "sasl_jaas_config": module}, EndpointTokens),
            (
                {
                    **endpoint,
                    "sasl_oauthbearer_client_credentials_client_id": "a",
                    "sasl_oauthbearer_client_credentials_client_secret": "b",
                },
                EndpointTokens,
            ),
        ):
            login = load(sasl_mechanism="OAUTHBEARER", **settings)
            assert login is not None
            self.assertIsInstance(login.tokens, kind)
            self.assertEqual(first_token(login, "x.y"), b"n,,\x01auth=Bearer x.y\x01\x01")

    def test_wrong(self) -> None:
        """Missing and wrong settings are told, without passwords."""
        url = "sasl_oauthbearer_token_endpoint_url"
        for settings, told in (
            ({}, "sasl.mechanism is not set, which security.protocol=SASL_SSL needs"),
            ({"sasl_mechanism": "GSSAPI"}, "sasl.mechanism=GSSAPI"),
            ({"sasl_mechanism": "PLAIN"}, "set sasl.username and sasl.password"),
            ({"sasl_mechanism": "PLAIN", "sasl_password": "sesame"}, "set sasl.username"),
            ({"sasl_mechanism": "PLAIN", "sasl_jaas_config": f"{SCRAM} required a=sesame;"}, PLAIN),
            ({"sasl_mechanism": "PLAIN", "sasl_jaas_config": 'a="sesame'}, "sasl.jaas.config: "),
            ({"sasl_mechanism": "OAUTHBEARER"}, "sasl.oauthbearer.token.endpoint.url is not set"),
            ({"sasl_mechanism": "OAUTHBEARER", url: "http://issuer/"}, "it must be https://"),
            ({"sasl_mechanism": "OAUTHBEARER", url: "https://issuer/"}, "clientSecret"),
            ({"sasl_kerberos_service_name": "kafka"}, "there is no Kerberos"),
        ):
            error = str(self.assertRaises(SettingError, load, **settings))
            self.assertIn(told, error)
            self.assertNotIn("sesame", error)


class RequestTests(SynchronousTestCase):
    def run_login(self, *responses: object) -> float | None:
        """Log in with PLAIN; the broker gives these responses."""
        requests = password_login("PLAIN", "alice", "sesame").requests()
        next(requests)
        try:
            for response in responses:
                requests.send(response)
        except StopIteration as end:
            after_s: float | None = end.value
            return after_s
        raise AssertionError("the login goes on")

    def refused(self, *responses: object) -> AuthenticationFailed:
        """Return the error with which a login fails, which is not to be tried again."""
        error: AuthenticationFailed = self.assertRaises(AuthenticationFailed, self.run_login, *responses)
        self.assertTrue(fatal(error))
        self.assertFalse(retriable(error))
        self.assertNotIn("sesame", str(error))
        return error

    def test_session(self) -> None:
        """The login is repeated after 0.85 of the session's time; a session may have no end."""
        handshake = SaslHandshakeResponse(0, ["PLAIN"])
        self.assertIsNone(self.run_login(handshake, SaslAuthenticateResponse(0)))
        response = SaslAuthenticateResponse(0, session_lifetime_ms=10_000)
        self.assertEqual(self.run_login(handshake, response), 8.5)

    def test_refusals(self) -> None:
        """A refusal is told with the broker's words and with what to do."""
        error = self.refused(SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["A", "B"]))
        self.assertIn("set sasl.mechanism to one of A, B", str(error))
        error = self.refused(SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE, []))
        self.assertIn("security.protocol", str(error))
        handshake = SaslHandshakeResponse(0, ["PLAIN"])
        response = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "no")
        self.assertIn("refuses the login by PLAIN: no", str(self.refused(handshake, response)))
        self.refused(handshake, SaslAuthenticateResponse(0, None, b"more"))

    def test_endless(self) -> None:
        """A broker that goes on without end is given up."""

        class Endless:
            def first(self) -> bytes:
                return b""

            def step(self, challenge: bytes) -> bytes | None:
                return b""

        requests = ClientLogin("X", lambda _: Endless()).requests()
        next(requests)
        requests.send(SaslHandshakeResponse(0, []))
        with self.assertRaises(AuthenticationFailed):
            for _ in range(20):
                requests.send(SaslAuthenticateResponse(0))

    def test_fetch_token(self) -> None:
        """A token that is not there now may be later; one that is refused is an error for good."""

        class Failing:
            def __init__(self, retriable: bool) -> None:
                self.error = TokenError("no token", retriable)

            def fetch(self) -> str:
                raise self.error

        def login(tokens: Any) -> ClientLogin:
            return ClientLogin("X", lambda _: None, tokens)  # type: ignore[arg-type,return-value]

        self.assertEqual(login(None).fetch_token(), "")
        self.assertEqual(login(CalledTokens(lambda: "x")).fetch_token(), "x")
        self.assertRaises(ConnectionFailed, login(Failing(True)).fetch_token)
        self.assertRaises(AuthenticationFailed, login(Failing(False)).fetch_token)
