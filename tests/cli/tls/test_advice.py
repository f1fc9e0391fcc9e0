"""The settings that kafkatx tls init prints."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.tls.advice import advice
from kafkatx.cli.tls.files import Made
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.config import BrokerConfig

CLIENTS = ("kafkatx", "librdkafka", "Java", "kafka-python", "kafkajs", "franz-go")


def section(text: str, title: str) -> dict[str, str]:
    """Return the settings below a comment."""
    lines = text.partition(title)[2].partition("\n")[2].partition("\n\n")[0].splitlines()
    return dict(line.split("=", 1) for line in lines)


class AdviceTests(SynchronousTestCase):
    def test_settings(self) -> None:
        """The settings of the broker and of our client are ones that they take."""
        text = advice(Made("/d/ca.pem", {"b.example": "/d/b.pem"}, {"alice": "/d/user-alice.pem"}))
        broker = BrokerConfig.load(None, section(text, "# server.properties"))
        self.assertEqual(broker.get("ssl.client.auth"), "required")
        client = ClientSettings.load("producer", section(text, "# kafkatx"))
        self.assertEqual(client.explicit["ssl.keystore.location"], "/d/user-alice.pem")
        for name in CLIENTS:
            self.assertIn(f"# {name}", text)

    def test_without_users(self) -> None:
        """Without users no certificate of clients is asked for."""
        text = advice(Made("/d/ca.pem", {"broker": "/d/b.pem"}, {}))
        self.assertIn("ssl.client.auth=none", text)
        self.assertNotIn("user-", text)
        self.assertIn("localhost:9093", text)
