"""The connections of the blocking client that settings ask for."""

from __future__ import annotations

import socket

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.security import SaslDial, dial_with, is_security
from kafkatx.errors import SettingError

LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "sesame"}


class DialTests(SynchronousTestCase):
    def test_protocols(self) -> None:
        """Each security protocol has its connections."""
        self.assertIs(dial_with({}), socket.create_connection)
        self.assertIs(
            dial_with({"client.id": "x", "security.protocol": "PLAINTEXT"}), socket.create_connection
        )
        self.assertNotIsInstance(dial_with({"security.protocol": "SSL"}), SaslDial)
        for protocol in ("SASL_PLAINTEXT", "SASL_SSL"):
            dial = dial_with({"security.protocol": protocol, **LOGIN})
            assert isinstance(dial, SaslDial)
            self.assertEqual(dial.login.mechanism, "PLAIN")
            self.assertIs(dial._below is socket.create_connection, protocol == "SASL_PLAINTEXT")

    def test_names(self) -> None:
        """Settings about security are told from others."""
        for name in ("security.protocol", "ssl.truststore.location", "sasl.password"):
            self.assertTrue(is_security(name))
        self.assertFalse(is_security("client.id"))

    def test_wrong(self) -> None:
        """A login without a password is refused."""
        self.assertRaises(
            SettingError, dial_with, {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
        )
