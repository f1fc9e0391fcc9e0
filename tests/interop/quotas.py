"""Apache Kafka's ``kafka-configs`` and ``kafka-topics`` with quotas of kafkatx brokers."""

from __future__ import annotations

import subprocess

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.quotas import Quotas
from kafkatx.testing import EmbeddedBroker
from tests.clients.toolchains import java, prepare
from tests.interop.java_tools import CONFIGS, JARS, TIMEOUT_S, TOPICS

ENTITIES = (
    (("--entity-type", "users", "--entity-name", "CN=ann,O=x y"), {"user": "CN=ann,O=x y"}),
    (("--entity-type", "clients", "--entity-name", "c 1/ä"), {"client-id": "c 1/ä"}),
    (
        ("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-default"),
        {"user": None, "client-id": None},
    ),
)
"""Owners of quotas as arguments of the tool, and as our client names them."""

OF_CLIENTS = {
    "producer_byte_rate": 1024.0,
    "consumer_byte_rate": 2048.0,
    "request_percentage": 12.5,
    "controller_mutation_rate": 3.0,
}
IPS = (
    (("--entity-type", "ips", "--entity-name", "192.0.2.1"), {"ip": "192.0.2.1"}),
    (("--entity-type", "ips", "--entity-default"), {"ip": None}),
)


class QuotaTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Start a broker."""
        prepare("java-4")
        self.broker = EmbeddedBroker({})
        self.addCleanup(self.broker.close)
        self.broker.start()

    def tool(self, main_class: str, *arguments: str) -> str:
        """Return the output of a tool.

        :raises AssertionError: it failed.
        """
        command = java(JARS, main_class, "--bootstrap-server", self.broker.bootstrap, *arguments)
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode:
            raise AssertionError(f"{main_class} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def found(self) -> list[tuple[dict[str, str | None], dict[str, float]]]:
        """Return all quotas, as our client is told."""
        with Cluster(self.broker.bootstrap) as cluster:
            return [(dict(one.entity), dict(one.values)) for one in Quotas(cluster).describe()]

    def test_configs(self) -> None:
        """The tool sets, shows and removes each quota of each kind of owner."""
        of_address = {"connection_creation_rate": 7.0}
        for owners, quotas in ((ENTITIES, OF_CLIENTS), (IPS, of_address)):
            text = ",".join(f"{name}={value:g}" for name, value in quotas.items())
            for arguments, entity in owners:
                self.tool(CONFIGS, "--alter", *arguments, "--add-config", text)
                self.assertIn((entity, quotas), self.found())
                shown = self.tool(CONFIGS, "--describe", *arguments)
                for name, value in quotas.items():
                    self.assertIn(f"{name}={value}", shown)
        self.assertEqual(len(self.found()), len(ENTITIES) + len(IPS))
        for owners, quotas in ((ENTITIES, OF_CLIENTS), (IPS, of_address)):
            for arguments, _ in owners:
                self.tool(CONFIGS, "--alter", *arguments, "--delete-config", ",".join(quotas))
        self.assertEqual(self.found(), [])

    def test_topics(self) -> None:
        """The admin client of Java waits as long as it is told, and creates the topic then."""
        self.tool(
            CONFIGS, "--alter", "--entity-type", "users", "--entity-default",
            "--add-config", "controller_mutation_rate=10",
        )  # fmt: skip
        self.tool(TOPICS, "--create", "--topic", "many", "--partitions", "140", "--replication-factor", "1")
        self.tool(TOPICS, "--create", "--topic", "one", "--partitions", "1", "--replication-factor", "1")
        self.assertEqual(sorted(self.tool(TOPICS, "--list").split()), ["many", "one"])
