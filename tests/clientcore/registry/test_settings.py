"""Tests of kafkatx.clientcore.registry.settings."""

from __future__ import annotations

from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.registry.settings import Address, RegistrySettings, basic, parse_address
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.config.table.security import tls
from kafkatx.errors import SettingError


class SettingsTests(SynchronousTestCase):
    URL: ClassVar[dict[str, str]] = {"schema.registry.url": "https://a"}

    def load(self, **values: object) -> RegistrySettings:
        """Return settings."""
        return RegistrySettings.of(ClientSettings.load("consumer", values))

    def test_addresses(self) -> None:
        """A list of addresses is read, with ports, paths, TLS and IPv6."""
        made = self.load(schema_registry_url="http://a:8081, https://b/path/,http://[::1]:7,c:9")
        self.assertEqual(
            [each.url for each in made.addresses],
            ["http://a:8081", "https://b:443/path", "http://[::1]:7", "http://c:9"],
        )

    def test_login(self) -> None:
        """The login comes from the settings, or else from the address; it is not shown."""
        self.assertEqual(parse_address("http://me:p%40ss@a").authorization, basic("me:p@ss"))
        made = self.load(schema_registry_url="http://x:y@a,http://b", basic_auth_user_info="u:p")
        self.assertEqual({each.authorization for each in made.addresses}, {basic("u:p")})
        token = self.load(schema_registry_url="http://a", bearer_auth_token="t")
        self.assertEqual(token.addresses[0].authorization, "Bearer t")
        self.assertNotIn("Bearer", repr(token))

    def test_user_in_address(self) -> None:
        """An address may name the user, whose password is in a setting; another user is refused."""
        made = self.load(schema_registry_url="https://u@a", basic_auth_user_info="u:p")
        self.assertEqual(made.addresses[0].authorization, basic("u:p"))
        for more in ({}, {"basic_auth_user_info": "other:p"}):
            error = self.assertRaises(SettingError, self.load, schema_registry_url="https://u@a", **more)
            self.assertIn("basic.auth.user.info", str(error))

    def test_secrets(self) -> None:
        """No message shows a password."""
        error = self.assertRaises(SettingError, self.load, schema_registry_url="ftp://u:secret@a")
        self.assertIn("ftp://a", str(error))
        self.assertNotIn("secret", str(error))

    def test_tls(self) -> None:
        """The settings of TLS are those of the registry if one of them is set, else those of brokers."""
        name, row = "ssl.truststore.location", tls.SSL_TRUSTSTORE_LOCATION
        self.assertEqual(self.load(**self.URL, **{name: "brokers"}).tls[row], "brokers")
        both = {name: "brokers", f"schema.registry.{name}": "own"}
        self.assertEqual(self.load(**self.URL, **both).tls[row], "own")
        alias = {name: "brokers", "schema.registry.ssl.ca.location": "own"}
        self.assertEqual(self.load(**self.URL, **alias).tls[row], "own")
        other = {name: "brokers", "schema.registry.ssl.endpoint.identification.algorithm": ""}
        self.assertIsNone(self.load(**self.URL, **other).tls[row])
        self.assertEqual([self.load(**self.URL, **given).tls.given for given in ({}, both)], [False, True])

    def test_wrong(self) -> None:
        """Addresses that are none are refused."""
        for url in ("", "ftp://a", "http://", "http://a:x", "http://a?b=c", "http://a:99999"):
            self.assertRaises(SettingError, self.load, schema_registry_url=url)
        self.assertEqual(parse_address("http://a"), Address("a", 80))
