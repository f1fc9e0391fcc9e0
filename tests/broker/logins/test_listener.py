"""Listeners with SASL: what their settings say at the start."""

from __future__ import annotations

from twisted.logger import capturedLogs

from kafkatx.broker.logins.listener import SaslListeners
from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import Listener
from kafkatx.errors import SettingError
from kafkatx.net.server import KafkaServerFactory, Limits
from tests.broker.logins.case import PREFIX, USERS, LoginTestCase


class ListenerTests(LoginTestCase):
    def make(self, listener: Listener, **settings: str) -> SaslListeners:
        """Make a listener."""
        named = {"listeners": f"SASL://{listener.host}:9092", **settings}
        named["listener.security.protocol.map"] = "SASL:SASL_PLAINTEXT"
        made = SaslListeners(BrokerConfig.load(None, named), self.broker, None)
        made.factory(listener, self.dispatch, KafkaServerFactory(self.dispatch, Limits(1, 1, 1), self.clock))
        return made

    def test_clear_text(self) -> None:
        """PLAIN without TLS is warned of, unless the listener is for this machine alone."""
        settings = {"sasl.enabled.mechanisms": "PLAIN", f"{PREFIX}plain.sasl.jaas.config": USERS}
        for host, protocol, warned in (
            ("10.0.0.7", "SASL_PLAINTEXT", 1),
            ("10.0.0.7", "SASL_SSL", 0),
            ("127.0.0.1", "SASL_PLAINTEXT", 0),
        ):
            with capturedLogs() as logged:
                self.make(Listener("SASL", host, 9092, protocol), **settings)
            self.assertEqual(len([one for one in logged if "use SASL_SSL" in str(one)]), warned)

    def test_wrong(self) -> None:
        """A wrong setting is told with the listener's name."""
        settings = {"sasl.enabled.mechanisms": "PLAIN"}
        error = self.assertRaises(SettingError, self.make, Listener("SASL", "127.0.0.1", 1), **settings)
        self.assertTrue(str(error).startswith("listeners: SASL: listener.name.sasl.plain.sasl.jaas.config"))

    def test_gone(self) -> None:
        """A listener keeps nothing of connections that have ended."""
        peer = self.connect()
        peer.log_in(self.plain())
        rules = self.listeners.listeners["SASL"]
        self.assertEqual(len(rules._logins), 1)
        peer.leave()
        self.assertEqual(rules._logins, {})
