"""Settings of TLS, and those of single listeners."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.describe import describe_broker
from kafkatx.config.table.security import tls as t
from kafkatx.errors import SettingError


class TlsSettingsTests(SynchronousTestCase):
    def test_listener_first(self) -> None:
        """A listener's own setting comes before that of all listeners, also while the broker runs."""
        name = "listener.name.in.ssl.keystore.location"
        config = BrokerConfig.load(None, {"ssl.keystore.location": "all", name: "own"})
        self.assertEqual(config.warnings, ())
        for listener, path in (("IN", "own"), ("OUT", "all")):
            self.assertEqual(config.of_listener(listener)[t.SSL_KEYSTORE_LOCATION], path)
        changed = config.with_dynamic({}, {name: "new"})
        self.assertEqual(changed.of_listener("IN")[t.SSL_KEYSTORE_LOCATION], "new")

    def test_refused(self) -> None:
        """A wrong value of one listener prevents the start, as that of all listeners does."""
        for name in ("ssl.client.auth", "listener.name.in.ssl.client.auth"):
            error = self.assertRaises(SettingError, BrokerConfig.load, None, {name: "maybe"})
            self.assertIn(f"{name}=maybe: the value must be one of none, requested, required", str(error))

    def test_secrets_are_masked(self) -> None:
        """DescribeConfigs shows no password and no key."""
        secrets = ("ssl.keystore.password", "ssl.key.password", "ssl.keystore.key", "ssl.truststore.password")
        config = BrokerConfig.load(None, dict.fromkeys(secrets, "hidden"))
        entries = describe_broker(config)
        self.assertNotIn("hidden", repr(entries))
        self.assertEqual({entry.name for entry in entries if entry.sensitive} & set(secrets), set(secrets))
