"""Tests of kafkatx.cli.options.kafka_names: names of Kafka's tools beside ours, on commands made for this."""

from __future__ import annotations

import click
from click.testing import CliRunner, Result
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options.kafka_names import Commands, Option, accepted, names_argument, refused


@click.group(cls=Commands, actions={"--make": "create", "--make-few": "create --replication 7"})
def tool() -> None:
    """A group as ``kafkatx topics``."""


@tool.command()
@names_argument("name", "--topic")
@names_argument("others", "--other", nargs=-1)
@click.option("-r", "--replication", cls=Option, aliases=["--replication-factor"], type=int, help="Replicas.")
@accepted("--force")
@refused({"--replica-assignment": "the cluster chooses"})
def create(name: str, others: tuple[str, ...], replication: int | None) -> None:
    """Print what was given."""
    click.echo(f"{name} {','.join(others)} {replication}")


class NamesTests(SynchronousTestCase):
    def run_tool(self, line: str) -> Result:
        """Run a command line."""
        return CliRunner().invoke(tool, line.split())

    def printed(self, line: str) -> str:
        """Return the output of a command line, which must succeed."""
        result = self.run_tool(line)
        self.assertEqual(result.exit_code, 0, result.output)
        return result.output.strip()

    def test_alias(self) -> None:
        """Both names of an option set it."""
        self.assertEqual(self.printed("create t -r 3"), "t  3")
        self.assertEqual(self.printed("create t --replication-factor 3"), "t  3")

    def test_hidden(self) -> None:
        """No help text shows Kafka's names."""
        text = self.printed("create --help")
        self.assertIn("--replication", text)
        for name in ("--replication-factor", "--topic", "--force", "--replica-assignment"):
            self.assertNotIn(name, text)

    def test_argument_as_option(self) -> None:
        """An argument can be given by position or by name; several add up."""
        self.assertEqual(self.printed("create --topic t"), "t  None")
        self.assertEqual(self.printed("create --topic=-t"), "-t  None")
        self.assertEqual(self.printed("create t a --other b --other c"), "t a,b,c None")

    def test_argument_twice(self) -> None:
        """One value cannot be given twice; none at all is missing."""
        for line in ("create t --topic u", "create --topic t --topic u"):
            result = self.run_tool(line)
            self.assertEqual(result.exit_code, 2)
            self.assertIn("given twice", result.output)
        self.assertIn("Missing argument", self.run_tool("create").output)

    def test_action(self) -> None:
        """Kafka's option for an action names the command, wherever it stands."""
        self.assertEqual(self.printed("--make --topic t"), "t  None")
        self.assertEqual(self.printed("--topic t --make -r 2"), "t  2")
        self.assertEqual(self.printed("--make-few --topic t"), "t  7")
        self.assertEqual(self.run_tool("create t --make").exit_code, 2)
        self.assertEqual(self.run_tool("-- --make").exit_code, 2)

    def test_refused(self) -> None:
        """A refused option gives its reason, with or without a value, before anything else is wrong."""
        for line in (
            "create --replica-assignment 0:1",
            "create --replica-assignment=0:1",
            "create --replica-assignment",
        ):
            result = self.run_tool(line)
            self.assertEqual(result.exit_code, 2)
            self.assertIn("--replica-assignment: the cluster chooses", result.output)

    def test_accepted(self) -> None:
        """An accepted flag changes nothing."""
        self.assertEqual(self.printed("create t --force"), "t  None")
