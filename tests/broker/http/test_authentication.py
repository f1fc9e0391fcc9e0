"""The logins of an HTTP listener: the users of the settings, and those with SCRAM credentials."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import abspath
from typing import Any, ClassVar
from unittest.mock import Mock

from twisted.internet.defer import Deferred

from kafkatx.broker.http.authentication import make_logins
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.net.requests import Session
from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential
from kafkatx.web.calls import Call, WebError
from kafkatx.web.logins import Logins
from tests.broker.logins.tokens.issuer import ISSUER, key_set, token
from tests.broker.running import BrokerTestCase
from tests.web.test_schemes import basic

MODULE = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="secret";'
SCRAM = MECHANISMS["SCRAM-SHA-256"]


class AuthenticationTests(BrokerTestCase):
    settings: ClassVar[Mapping[str, str]] = {
        "http.listeners": "HTTPS://localhost:0",
        "kafkatx.http.authentication": "basic",
        "listener.name.https.plain.sasl.jaas.config": MODULE,
    }

    def logins(self, **settings: str) -> Logins:
        """Return the logins of the listener, with further settings."""
        given = {name.replace("_", "."): value for name, value in settings.items()}
        self.broker.config = self.broker.config.with_values(given)
        (listener,) = self.broker.config.http_listeners()
        tls: Any = Mock(principal=lambda name: f"User:CN={name}")
        self.log: Any = Mock()
        return make_logins(self.broker, listener, None, tls, self.log)

    def principal(self, logins: Logins, user: str, password: str) -> str | int:
        """Return the principal of a login, or the status of its refusal."""
        return self.of_header(logins, basic(user, password))

    def of_header(self, logins: Logins, header: str) -> str | int:
        """Return the principal of a login, or the status of its refusal."""
        found: list[Any] = []
        call = Call("GET", "/", (), {}, {"authorization": header}, client="c")
        Deferred.fromCoroutine(logins.session(call)).addBoth(found.append)
        for _ in range(100):
            self.clock.advance(0.1)
            if found:
                break
        if isinstance(found[0], Session):
            return found[0].principal
        error = found[0].value
        assert isinstance(error, WebError), error
        return error.status

    def test_users_of_settings(self) -> None:
        """The users are those of the listener's login module."""
        logins = self.logins()
        self.assertEqual(self.principal(logins, "ann", "secret"), "User:ann")
        self.assertEqual(self.principal(logins, "ann", "wrong"), 401)
        self.assertEqual(self.principal(logins, "eve", "secret"), 401)

    def test_scram(self) -> None:
        """The users are those with SCRAM credentials; one who is removed is out at once."""
        logins = self.logins(**{"kafkatx.plain.checkers": "scram"})
        credential = ScramCredential.of_password(SCRAM, "pass", b"salt", 4096)
        self.set_credential(str(credential))
        self.assertEqual(self.principal(logins, "ben", "pass"), "User:ben")
        self.assertEqual(self.principal(logins, "ben", "wrong"), 401)
        self.set_credential(None)
        self.assertEqual(self.principal(logins, "ben", "pass"), 401)

    def set_credential(self, credential: str | None) -> None:
        """Give a user a credential, or remove it."""
        changing = self.broker.metadata.alter_scram_credentials({"ben": {SCRAM.name: credential}})
        self.successResultOf(changing)

    def test_tokens(self) -> None:
        """A token of the issuer is a login, beside passwords or alone; other and old ones are not."""
        path = self.mktemp()
        with open(path, "wb") as file:
            file.write(key_set("a"))
        settings = {
            "kafkatx.http.authentication": "basic,bearer",
            "listener.name.https.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": f"file://{abspath(path)}",
            "sasl.oauthbearer.expected.issuer": ISSUER,
        }
        now_s = self.broker.now_ms() // 1000
        good = token(iat=now_s, exp=now_s + 300)
        logins = self.logins(**settings)
        self.assertEqual(self.of_header(logins, f"Bearer {good}"), "User:alice")
        self.assertEqual(self.principal(logins, "ann", "secret"), "User:ann")
        for bad in (
            token(iat=now_s, exp=now_s - 31),
            token(iat=now_s, exp=now_s + 300, iss="https://other.example"),
            token("b", iat=now_s, exp=now_s + 300),
            good[:-4],
        ):
            self.assertEqual(self.of_header(logins, f"Bearer {bad}"), 401)
        logins = self.logins(**{**settings, "kafkatx.http.authentication": "bearer"})
        self.assertEqual(self.of_header(logins, f"Bearer {good}"), "User:alice")
        self.assertEqual(self.principal(logins, "ann", "secret"), 401)

    def test_brokers(self) -> None:
        """The principal of the listener's own certificate is that of brokers."""
        self.assertEqual(self.logins()._brokers(), ["User:CN=HTTPS"])

    def test_missing(self) -> None:
        """A listener without users is refused, with the setting; so is one without TLS for others."""
        values = {name: value for name, value in self.settings.items() if "jaas" not in name}
        self.broker.config = BrokerConfig.load(None, values)
        (listener,) = self.broker.config.http_listeners()
        error = self.assertRaises(SettingError, make_logins, self.broker, listener, None, None, Mock())
        self.assertIn("listener.name.https.plain.sasl.jaas.config is not set", str(error))
        error = self.assertRaises(
            SettingError, BrokerConfig.load, None, {**values, "http.listeners": "HTTP://0.0.0.0:1"}
        )
        self.assertIn("in clear text", str(error))
        both = {**values, "kafkatx.http.authentication": "none,basic"}
        self.assertRaises(SettingError, BrokerConfig.load, None, both)
        BrokerConfig.load(None, {**values, "http.listeners": "HTTP://localhost:1"})
