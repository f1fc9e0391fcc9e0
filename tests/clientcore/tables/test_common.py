"""Tests of kafkatx.clientcore.tables.common: defaults and limits of every client's settings."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import KINDS, ClientSettings
from kafkatx.clientcore.tables import common
from kafkatx.errors import SettingError

JAVA_DEFAULTS: dict[str, object] = {
    "client.rack": "",
    "connections.max.idle.ms": 540_000,
    "default.api.timeout.ms": 60_000,
    "metadata.max.age.ms": 300_000,
    "metadata.max.idle.ms": 300_000,
    "reconnect.backoff.max.ms": 1000,
    "reconnect.backoff.ms": 50,
    "request.timeout.ms": 30_000,
    "retry.backoff.max.ms": 1000,
    "retry.backoff.ms": 100,
    "security.protocol": "PLAINTEXT",
    "socket.connection.setup.timeout.ms": 10_000,
}
"""The defaults of the Java client 4.0."""

DIFFERENT = {"bootstrap.servers", "client.id", "send.buffer.bytes", "receive.buffer.bytes"}
"""Settings of the Java client with another default here."""

EARLIER = {"broker.list"}
"""Settings of Kafka 0.7 and 0.8."""


class CommonTests(SynchronousTestCase):
    def rows(self) -> dict[str, Any]:
        """Return the rows by name."""
        return {row.name: row for section in common.SECTIONS for row in section.settings}

    def test_java_defaults(self) -> None:
        """Defaults are those of the Java client, except for four; other names are old or ours."""
        rows = self.rows()
        self.assertEqual({name: rows[name].default for name in JAVA_DEFAULTS}, JAVA_DEFAULTS)
        others = set(rows) - set(JAVA_DEFAULTS) - DIFFERENT - EARLIER
        self.assertEqual([name for name in others if not name.startswith(("kafkatx.", "ssl.", "sasl."))], [])

    def test_buffers(self) -> None:
        """Socket buffers are the system's by default."""
        settings = ClientSettings.load("admin")
        self.assertEqual(
            (settings[common.SEND_BUFFER_BYTES], settings[common.RECEIVE_BUFFER_BYTES]), (-1, -1)
        )

    def test_every_kind(self) -> None:
        """Every kind of client accepts every common setting, and those that are ignored."""
        values: dict[str, object] = {
            name: row.default for name, row in self.rows().items() if row.default not in ((), "")
        }
        values["bootstrap.servers"] = "h:1"
        for kind in KINDS:
            settings = ClientSettings.load(kind, {**values, "client.dns.lookup": "use_all_dns_ips"})
            self.assertEqual(settings[common.BOOTSTRAP_SERVERS], ("h:1",))

    def test_limits(self) -> None:
        """Values below the lowest allowed are refused."""
        for name, value in (
            ("request.timeout.ms", 0),
            ("connections.max.idle.ms", -2),
            ("metadata.max.idle.ms", 4999),
            ("kafkatx.response.max.bytes", 65_535),
            ("bootstrap.servers", ""),
            ("security.protocol", "SASL"),
        ):
            self.assertRaises(SettingError, ClientSettings.load, "admin", {name: value})

    def test_texts(self) -> None:
        """Every text begins with a capital letter or a value, and ends with a full stop or a bracket."""
        for row in self.rows().values():
            self.assertRegex(row.doc, r"^[A-Z].*[.)]$", row.name)
