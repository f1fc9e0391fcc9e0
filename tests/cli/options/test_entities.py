"""Tests of kafkatx.cli.options.entities."""

from __future__ import annotations

import click
from click.testing import CliRunner
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options.entities import Chosen, chosen, entity_options
from kafkatx.clientcore.admin.configs import Resource, ResourceType

TOPIC = Chosen(Resource(ResourceType.TOPIC, "t"), {})


class EntityTests(SynchronousTestCase):
    def chosen(self, line: str, all_quotas: bool = False) -> Chosen:
        """Return what a command line names.

        :raises click.UsageError: it is wrong.
        """
        found: list[Chosen] = []

        @click.command()
        @entity_options
        def command(**options: object) -> None:
            found.append(chosen(options, all_quotas))

        CliRunner().invoke(command, line.split(), standalone_mode=False, catch_exceptions=False)
        return found[0]

    def test_ours(self) -> None:
        """A topic, a broker, all brokers, clients by name or all of them."""
        self.assertEqual(self.chosen("-t t"), TOPIC)
        self.assertEqual(self.chosen("--broker 3").resource, Resource(ResourceType.BROKER, "3"))
        self.assertEqual(self.chosen("--broker-defaults").resource, Resource(ResourceType.BROKER, ""))
        self.assertEqual(
            self.chosen("--client-id c --user-defaults"), Chosen(None, {"client-id": "c", "user": None})
        )
        self.assertEqual(self.chosen("", all_quotas=True), Chosen(None, {}))

    def test_kafkas(self) -> None:
        """Kafka's names of the same."""
        for line in ("--entity-type topics --entity-name t", "--topic t"):
            self.assertEqual(self.chosen(line), TOPIC)
        self.assertEqual(self.chosen("--client c"), Chosen(None, {"client-id": "c"}))
        self.assertEqual(self.chosen("--entity-type users --entity-default"), Chosen(None, {"user": None}))
        self.assertEqual(
            self.chosen("--entity-type users --entity-name u --entity-type clients --entity-name c"),
            Chosen(None, {"client-id": "c", "user": "u"}),
        )

    def test_wrong(self) -> None:
        """Nothing, two things, and names that do not fit are refused."""
        for line in (
            "",
            "-t t --broker 1",
            "--client-id c --client-id-defaults",
            "--entity-type topics",
            "--entity-type topics --entity-default",
            "--entity-name t",
            "--entity-type brokers --entity-name x",
        ):
            self.assertRaises(click.UsageError, self.chosen, line)
