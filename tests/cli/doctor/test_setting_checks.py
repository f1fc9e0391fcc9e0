"""Checks of settings: open doors, and copies."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.doctor.result import Level
from kafkatx.cli.doctor.setting_checks import check_settings


class SettingChecksTests(SynchronousTestCase):
    def found(self, brokers: int = 1, **values: str) -> dict[str, Level]:
        """Return the levels by check; ``_`` in names stands for ``.``."""
        named = {name.replace("_", "."): value for name, value in values.items()}
        return {one.check: one.level for one in check_settings(named, "broker 1", brokers)}

    def test_open_listener(self) -> None:
        """A listener of others without login and authorizer is a fault."""
        wrong = {"open-listener": Level.WRONG}
        for listeners in ("PLAINTEXT://0.0.0.0:9092", "PLAINTEXT://:9092", "X://[::]:1,Y://127.0.0.1:2"):
            mapped = "X:PLAINTEXT,Y:PLAINTEXT"
            values: Any = {"listeners": listeners, "listener_security_protocol_map": mapped}
            self.assertEqual(self.found(**values), wrong, listeners)
        self.assertEqual(self.found(listeners="SSL://:9093"), wrong)
        for listeners in ("PLAINTEXT://127.0.0.1:9092", "PLAINTEXT://[::1]:9092", "SASL_SSL://:9093"):
            self.assertEqual(self.found(listeners=listeners), {}, listeners)
        self.assertEqual(self.found(listeners="SSL://:9093", ssl_client_auth="required"), {})
        self.assertEqual(self.found(listeners="PLAINTEXT://:9092", authorizer_class_name="acl"), {})

    def test_authorizer(self) -> None:
        """An authorizer that allows everything, or what has no ACLs, is told of."""
        self.assertEqual(self.found(authorizer_class_name="learn"), {"learn-mode": Level.WRONG})
        everyone: Any = {"allow_everyone_if_no_acl_found": "true"}
        self.assertEqual(self.found(authorizer_class_name="acl", **everyone), {"allow-everyone": Level.HINT})
        self.assertEqual(self.found(**everyone), {})

    def test_http(self) -> None:
        """An HTTP listener of others without login is a fault."""
        self.assertEqual(self.found(http_listeners="HTTP://0.0.0.0:8081"), {"open-http": Level.WRONG})
        self.assertEqual(self.found(http_listeners="HTTPS://:8081"), {"open-http": Level.WRONG})
        self.assertEqual(self.found(http_listeners="HTTPS://:8081", ssl_client_auth="required"), {})
        self.assertEqual(self.found(http_listeners="HTTP://127.0.0.1:8081"), {})
        login: Any = {"kafkatx_http_authentication": "basic"}
        self.assertEqual(self.found(http_listeners="HTTP://0.0.0.0:8081", **login), {})

    def test_copies(self) -> None:
        """Copies that a lost broker takes along are told of in a cluster."""
        self.assertEqual(
            self.found(default_replication_factor="1", min_insync_replicas="2"), {"min-insync": Level.HINT}
        )
        self.assertEqual(self.found(3, offsets_topic_replication_factor="1"), {"replication": Level.HINT})
        self.assertEqual(self.found(1, offsets_topic_replication_factor="1"), {})
        self.assertEqual(self.found(unclean_leader_election_enable="true"), {"unclean-leaders": Level.HINT})
