"""Settings of SASL, and those of single listeners and mechanisms."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.describe import describe_broker
from kafkatx.config.table.security import sasl as s


class SaslSettingsTests(SynchronousTestCase):
    def test_precedence(self) -> None:
        """A mechanism's own setting comes before the listener's, and that before the one for all."""
        settings = {
            "connections.max.reauth.ms": "1",
            "listener.name.in.connections.max.reauth.ms": "2",
            "listener.name.in.scram-sha-512.connections.max.reauth.ms": "3",
        }
        config = BrokerConfig.load(None, settings)
        self.assertEqual(config.warnings, ())
        found = [
            config.of_listener(listener).of_mechanism(mechanism)[s.CONNECTIONS_MAX_REAUTH_MS]
            for listener, mechanism in (("IN", "SCRAM-SHA-512"), ("IN", "PLAIN"), ("OUT", "PLAIN"))
        ]
        self.assertEqual(found, [3, 2, 1])

    def test_jaas(self) -> None:
        """A login module is that of a mechanism of a listener alone, as in Apache Kafka."""
        name = "listener.name.in.plain.sasl.jaas.config"
        config = BrokerConfig.load(None, {name: "x", "sasl.jaas.config": "y"})
        self.assertEqual(config.warnings, ("sasl.jaas.config: accepted and not used by kafkatx",))
        for listener, mechanism, text in (
            ("IN", "PLAIN", "x"),
            ("IN", "OAUTHBEARER", None),
            ("OUT", "PLAIN", None),
        ):
            own = config.of_listener(listener).of_mechanism(mechanism)
            self.assertEqual(own.own(s.SASL_JAAS_CONFIG), text)

    def test_secrets_are_masked(self) -> None:
        """DescribeConfigs shows no login module."""
        config = BrokerConfig.load(None, {"listener.name.in.plain.sasl.jaas.config": "hidden"})
        self.assertNotIn("hidden", repr(describe_broker(config)))
        self.assertNotIn("hidden", repr(config))
