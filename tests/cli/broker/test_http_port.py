"""The HTTP listener and the console of ``kafkatx up`` where no setting says anything of them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.broker.http_port import default_listeners
from kafkatx.config import BrokerConfig

LISTENER = [("http.listeners", "HTTP://127.0.0.1:8081"), ("kafkatx.http.port.fallback", "true")]
CONSOLE = [("kafkatx.console.enable", "true")]


class DefaultListenersTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """There is a console on this machine alone, unless a setting says otherwise."""
        for settings, expected in (
            ({}, LISTENER + CONSOLE),
            ({"kafkatx.console.enable": "false"}, LISTENER),
            ({"http.listeners": ""}, []),
            ({"http.listeners": "HTTP://localhost:1"}, CONSOLE),
            ({"http.listeners": "HTTP://[::1]:1", "kafkatx.console.enable": "false"}, []),
            ({"http.listeners": "HTTP://127.0.0.1:1,HTTP://:2"}, []),
            ({"http.listeners": "HTTP://192.0.2.1:1"}, []),
        ):
            found = default_listeners(BrokerConfig.load(None, dict(settings)))
            self.assertEqual(found, expected, settings)
