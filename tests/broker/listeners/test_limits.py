"""The limits of connections as the settings say."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.listeners.limits import limits_of
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.net.admission.limits import UNLIMITED, AdmissionLimits, ListenerLimits

TWO = {
    "listeners": "INSIDE://127.0.0.1:1,OUTSIDE://127.0.0.1:2",
    "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
}


class LimitsTests(SynchronousTestCase):
    def admission(self, **settings: str) -> AdmissionLimits:
        """Return the limits of settings; ``_`` in names stands for ``.``."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return limits_of(BrokerConfig.load(None, {**TWO, **named})).admission

    def test_default(self) -> None:
        """There are no limits by default; the first listener, of brokers, is told from that of clients."""
        expected = AdmissionLimits(
            listeners={"INSIDE": ListenerLimits(), "OUTSIDE": ListenerLimits()}, protected="INSIDE"
        )
        self.assertEqual(self.admission(), expected)
        only = limits_of(BrokerConfig.load(None, {})).admission
        self.assertEqual((only.protected, UNLIMITED.protected), ("", ""))

    def test_all(self) -> None:
        """Settings without a prefix are those of all listeners together, not of each."""
        found = self.admission(
            max_connections="7",
            max_connections_per_ip="3",
            max_connection_creation_rate="9",
            quota_window_num="2",
            quota_window_size_seconds="5",
        )
        self.assertEqual(
            (found.max_connections, found.max_connections_per_ip, found.creation_rate), (7, 3, 9)
        )
        self.assertEqual((found.window.samples, found.window.sample_ms), (2, 5000))
        self.assertEqual(found.listeners["OUTSIDE"], ListenerLimits())

    def test_listener(self) -> None:
        """Settings with the prefix of a listener, its name in lower case, are its own."""
        found = self.admission(
            listener_name_outside_max_connections="7",
            listener_name_outside_max_connection_creation_rate="9",
            inter_broker_listener_name="OUTSIDE",
        )
        self.assertEqual(found.listeners["OUTSIDE"], ListenerLimits(7, 9))
        self.assertEqual((found.listeners["INSIDE"], found.protected), (ListenerLimits(), "OUTSIDE"))

    def test_overrides(self) -> None:
        """The numbers of single addresses, with IPv6 as Apache Kafka writes it and in brackets."""
        text = "192.0.2.1:100, [2001:DB8::1]:20,2001:db8::2:30"
        found = self.admission(max_connections_per_ip_overrides=text).per_ip_overrides
        self.assertEqual(found, {"192.0.2.1": 100, "2001:db8::1": 20, "2001:db8::2": 30})

    def test_bad_overrides(self) -> None:
        """Other texts are refused with what is allowed."""
        for text in (
            "192.0.2.1",
            "localhost:5",
            "192.0.2.1:-1",
            "192.0.2.1:x",
            ":5",
            "192.0.2.1:99999999999",
        ):
            error = self.assertRaises(SettingError, self.admission, max_connections_per_ip_overrides=text)
            self.assertIn("ADDRESS:NUMBER", str(error))
