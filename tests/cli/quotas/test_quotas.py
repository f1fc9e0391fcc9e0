"""Tests of kafkatx.cli.quotas.quotas."""

from __future__ import annotations

from kafkatx.cli.quotas import quotas
from tests.blocking.fake_settings import FakeSettings
from tests.blocking.fakes import Log
from tests.cli.command_case import CommandCase

ANN = frozenset({("user", "CN=ann")})
BOTH = frozenset({("user", "CN=ann"), ("client-id", "c")})


class QuotasTests(CommandCase):
    def setUp(self) -> None:
        """A cluster with two quotas."""
        super().setUp()
        self.cluster = FakeSettings(
            {"t": [Log()]},
            quotas={
                ANN: {"producer_byte_rate": 1024.0, "request_percentage": 5.5},
                BOTH: {"consumer_byte_rate": 2.0},
            },
        )
        self.patch(quotas, "connect", lambda bootstrap, timeout: self.cluster.client())

    def done(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Return what a command prints to stdout and stderr."""
        self.use_streams(False)
        self.assertEqual(self.run_command("quotas", *arguments), code, self.err.text())
        return self.out.text(), self.err.text()

    def test_list(self) -> None:
        """All quotas, or those of one owner exactly."""
        out, _ = self.done("list")
        self.assertEqual(len(out.splitlines()), 3)
        out, _ = self.done("list", "--user", "CN=ann")
        expected = ["producer_byte_rate\t1024", "request_percentage\t5.5"]
        self.assertEqual([line.rpartition("\t")[0] for line in out.splitlines()], expected)

    def test_set(self) -> None:
        """Quotas are set for the owner that is named, and the others stay."""
        _, said = self.done("set", "--user", "CN=ann", "--client-id", "c", "producer_byte_rate=7")
        self.assertIn("set producer_byte_rate=7", said)
        self.done("set", "--ip-defaults", "connection_creation_rate=20")
        found = self.cluster.quotas
        self.assertEqual(found[BOTH], {"consumer_byte_rate": 2.0, "producer_byte_rate": 7.0})
        self.assertEqual(found[frozenset({("ip", None)})], {"connection_creation_rate": 20.0})
        self.assertEqual(found[ANN]["producer_byte_rate"], 1024.0)

    def test_remove(self) -> None:
        """One quota, or all of an owner, is removed; an owner without any is told."""
        self.done("remove", "--user", "CN=ann", "request_percentage")
        self.assertEqual(self.cluster.quotas[ANN], {"producer_byte_rate": 1024.0})
        self.done("remove", "--user", "CN=ann")
        self.assertFalse(self.cluster.quotas.get(ANN))
        self.assertEqual(self.cluster.quotas[BOTH], {"consumer_byte_rate": 2.0})
        _, said = self.done("remove", "--user", "CN=ann")
        self.assertIn("has no quotas", said)

    def test_dry_run(self) -> None:
        """A dry run changes nothing, and says so."""
        for arguments in (("set", "producer_byte_rate=7"), ("remove",)):
            _, said = self.done(*arguments, "--user", "CN=ann", "--dry-run")
            self.assertIn("nothing was changed", said)
        self.assertEqual(self.cluster.quotas[ANN]["producer_byte_rate"], 1024.0)

    def test_wrong(self) -> None:
        """A command line that names no owner, or no number, is refused."""
        for arguments, text in (
            (("set", "producer_byte_rate=7"), "name the owner"),
            (("remove",), "name the owner"),
            (("set", "--user", "a", "producer_byte_rate"), "give NAME=VALUE"),
            (("set", "--user", "a", "producer_byte_rate=fast"), "a quota is a number"),
            (("set", "--user", "a"), "Missing argument"),
            (("set", "--user", "a", "--user-defaults", "x=1"), "exclude each other"),
        ):
            self.assertIn(text, self.done(*arguments, code=2)[1])
