"""Settings of the network: values that are refused, and Kafka's old names."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.table import network
from kafkatx.errors import SettingError


class NetworkTests(SynchronousTestCase):
    def test_old_names(self) -> None:
        """Names of Kafka 0.7 set the same values."""
        for name, setting in (
            ("max.socket.request.bytes", network.SOCKET_REQUEST_MAX_BYTES),
            ("socket.send.buffer", network.SOCKET_SEND_BUFFER_BYTES),
            ("hostname", network.ADVERTISED_HOST_NAME),
        ):
            self.assertEqual(str(BrokerConfig.load(None, {name: "4711"})[setting]), "4711", name)

    def test_ports(self) -> None:
        """A port has 16 bits."""
        self.assertEqual(network.PORT.parse("65535"), 65_535)
        for text in ("65536", "-1", "http"):
            self.assertRaises(SettingError, network.PORT.parse, text)

    def test_no_listener(self) -> None:
        """There must be a listener."""
        self.assertRaises(SettingError, network.LISTENERS.parse, " ")

    def test_no_limit(self) -> None:
        """Settings in which -1 means no limit accept -1 and nothing below."""
        for setting in (network.QUEUED_MAX_REQUEST_BYTES, network.CONNECTIONS_MAX_IDLE_MS):
            self.assertEqual(setting.parse("-1"), -1)
            self.assertRaises(SettingError, setting.parse, "-2")
