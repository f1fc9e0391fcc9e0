"""The checkers that settings ask for, and what is wrong with some settings."""

from __future__ import annotations

from typing import Any

from twisted.cred.credentials import IUsernamePassword
from twisted.internet.defer import Deferred, execute
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.logins.checkers import MOST_CHECKS, MOST_OF_ADDRESS, Checkers, InTurns
from kafkatx.broker.logins.file_users import FileUsers
from kafkatx.broker.logins.jaas_users import JaasUsers
from kafkatx.broker.logins.own_login import own_login
from kafkatx.broker.logins.password_checks import Password
from kafkatx.broker.logins.scram_users import ScramPasswords, ScramUsers
from kafkatx.broker.logins.tokens.checker import TokenChecker
from kafkatx.broker.password_turns import password_turns
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.net.fair_turns import TooManyWaiting
from kafkatx.security.jaas import PLAIN, SCRAM

JAAS = "listener.name.sasl_ssl.plain.sasl.jaas.config"
KAFKAS = "org.apache.kafka.common.security.plain.internals.PlainServerCallbackHandler"


class SettingsTestCase(SynchronousTestCase):
    def config(self, settings: dict[str, str]) -> BrokerConfig:
        """Return settings with a SASL_SSL listener."""
        return BrokerConfig.load(None, {"listeners": "SASL_SSL://127.0.0.1:9093", **settings})


class CheckersTests(SettingsTestCase):
    def kinds(self, mechanism: str, settings: dict[str, str], find: Any = None) -> list[type]:
        """Return the kinds of checkers of a mechanism."""
        config = self.config(settings)
        made = Checkers(config, lambda name: execute, find, dict, Clock(), lambda: 0, password_turns())
        return list(map(type, made.of_mechanism(config.of_listener("SASL_SSL"), "SASL_SSL", mechanism)))

    def refused(self, mechanism: str, settings: dict[str, str], *told: str) -> None:
        """Check that the settings of a mechanism are refused, with a message that has some texts."""
        error = str(self.assertRaises(SettingError, self.kinds, mechanism, settings))
        for text in told:
            self.assertIn(text, error)
        self.assertNotIn("sesame", error)

    def test_built_in(self) -> None:
        """Each built-in checker is chosen by its name; an installed one is looked up."""
        found = self.kinds(
            "PLAIN",
            {
                JAAS: f'{PLAIN} required user_a="b";',
                "kafkatx.plain.checkers": "file,jaas,scram,ldap",
                "kafkatx.users.file": "x",
                "listener.name.sasl_ssl.plain.sasl.server.callback.handler.class": KAFKAS,
            },
            lambda name: lambda config, workers: JaasUsers({}),
        )
        self.assertEqual(found, [FileUsers, JaasUsers, ScramPasswords, InTurns])
        self.assertEqual(self.kinds("SCRAM-SHA-512", {}), [ScramUsers])
        url = {"sasl.oauthbearer.jwks.endpoint.url": "https://issuer.example/keys"}
        self.assertEqual(self.kinds("OAUTHBEARER", url), [TokenChecker])

    def test_by_mechanism(self) -> None:
        """A setting of the mechanism comes before the listener's, and that before the one for all."""
        settings = {"kafkatx.plain.checkers": "jaas"}
        settings["listener.name.sasl_ssl.kafkatx.plain.checkers"] = "file"
        self.refused("PLAIN", settings, "kafkatx.users.file is not set")
        settings["listener.name.sasl_ssl.plain.kafkatx.plain.checkers"] = "scram"
        self.assertEqual(self.kinds("PLAIN", settings), [ScramPasswords])

    def test_wrong(self) -> None:
        """Missing and wrong settings are told by name, without passwords."""
        self.refused("PLAIN", {}, f"{JAAS} is not set", 'user_NAME="PASSWORD"')
        self.refused("PLAIN", {JAAS: f'{SCRAM} required user_a="sesame";'}, JAAS, f"PLAIN needs {PLAIN}")
        self.refused("PLAIN", {JAAS: f'{PLAIN} required user_a="sesame'}, JAAS)
        self.refused("PLAIN", {"kafkatx.plain.checkers": "ldap"}, "kafkatx.plain.checkers=ldap")
        self.refused("SCRAM-SHA-256", {JAAS.replace("plain", "scram-sha-256"): "x"}, "scram-sha-256")
        self.refused("OAUTHBEARER", {}, "sasl.oauthbearer.jwks.endpoint.url is not set")
        for url in ("http://issuer.example/", "ftp://x/", "https://", "x"):
            self.refused(
                "OAUTHBEARER", {"sasl.oauthbearer.jwks.endpoint.url": url}, f"{url}: it must be https"
            )
        handler = "listener.name.sasl_ssl.plain.sasl.server.callback.handler.class"
        self.refused("PLAIN", {handler: "com.acme.Ldap"}, f"{handler}=com.acme.Ldap", KAFKAS)
        self.refused("SCRAM-SHA-256", {handler.replace("plain", "scram-sha-256"): "x"}, "leave it out")

    def test_jaas_file(self) -> None:
        """Login modules may be in a JAAS file, by Java's name for it, too."""
        path = self.mktemp()
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'KafkaServer {{ {PLAIN} required user_a="sesame"; }};')
        settings = {"java.security.auth.login.config": path}
        self.assertEqual(self.kinds("PLAIN", settings), [JaasUsers])
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'KafkaServer {{ {PLAIN} required user_a="sesame" }};')
        self.refused("PLAIN", settings, f"kafkatx.jaas.file={path}: an entry has no ;")
        self.refused("PLAIN", {"kafkatx.jaas.file": "/no/such"}, "cannot be read: No such file")


class InTurnsTests(SynchronousTestCase):
    credentialInterfaces = (IUsernamePassword,)

    def requestAvatarId(self, credentials: Any) -> Deferred[str]:
        """Check a password, as an installed checker does."""
        self.checks.append((credentials.address, Deferred()))
        return self.checks[-1][1]

    def test_turns(self) -> None:
        """An installed checker makes a limited number of checks; addresses have turns, and limits."""
        self.checks: list[tuple[str, Deferred[str]]] = []
        checker = InTurns(self)
        self.assertEqual(checker.credentialInterfaces, self.credentialInterfaces)

        def check(address: str) -> Deferred[str]:
            return checker.requestAvatarId(Password(b"ann", b"p", address))

        first, *rest = [check("1.1.1.1") for _ in range(MOST_CHECKS + MOST_OF_ADDRESS)]
        self.failureResultOf(check("1.1.1.1"), TooManyWaiting)
        other = check("2.2.2.2")
        self.assertEqual(len(self.checks), MOST_CHECKS)
        self.checks[0][1].callback("ann")
        self.assertEqual(self.successResultOf(first), "ann")
        rest[0].cancel()
        self.failureResultOf(rest[0])
        self.assertEqual([address for address, _ in self.checks[MOST_CHECKS:]], ["1.1.1.1", "2.2.2.2"])
        self.checks[-1][1].callback("ben")
        self.assertEqual(self.successResultOf(other), "ben")


class OwnLoginTests(SettingsTestCase):
    def login(self, settings: dict[str, str]) -> str:
        """Return the mechanism of the login at other brokers."""
        config = self.config(settings)
        return own_login(config, config.inter_broker).mechanism

    def test_own_login(self) -> None:
        """A broker logs in with user name and password of the mechanism's login module."""
        module = f'{SCRAM} required username="broker" password="sesame";'
        settings = {JAAS.replace("plain", "scram-sha-256"): module}
        self.assertEqual(self.login(settings), "SCRAM-SHA-256")
        other = {"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512"}
        error = self.assertRaises(SettingError, self.login, {**settings, **other})
        self.assertIn("listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config: brokers need", str(error))
        plain = {"sasl.mechanism.inter.broker.protocol": "PLAIN"}
        self.assertIn("SASL_SSL lacks it", str(self.assertRaises(SettingError, self.login, plain)))
