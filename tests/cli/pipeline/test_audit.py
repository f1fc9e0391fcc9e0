"""Tests of kafkatx.cli.pipeline.audit: options, output and exit codes, against a cluster in memory."""

from __future__ import annotations

import json

from kafkatx.cli.pipeline import audit
from kafkatx.clientcore.audit.counts import Announcement
from kafkatx.records.builder import build_values
from tests.blocking.fakes import FakeCluster, Log
from tests.cli.command_case import CommandCase


class AuditTests(CommandCase):
    def setUp(self) -> None:
        """Three records that were announced, in two windows of a second."""
        super().setUp()
        self.fake = FakeCluster({"t": [Log()], "kafkatx-audit": [Log()]})
        self.patch(audit, "connect", lambda bootstrap, timeout: self.fake.client())
        self.fake.topics["t"][0].append(build_values([b"a", b"b"], 500))
        self.fake.topics["t"][0].append(build_values([b"c"], 1500))
        self.announce(0, 2)
        self.announce(1000, 1)

    def announce(self, start_ms: int, count: int) -> None:
        """Announce some records of a window."""
        event = Announcement("p", start_ms, "t", start_ms, 1000, count, start_ms + 1000)
        self.fake.topics["kafkatx-audit"][0].append(build_values([event.encode()], 1))

    def audit(self, *arguments: str) -> int:
        """Return the exit code of ``kafkatx audit``."""
        self.use_streams()
        return self.run_command("audit", *arguments)

    def test_equal(self) -> None:
        """Windows that agree are printed only with --all; the summary goes to stderr."""
        self.assertEqual(self.audit(), 0)
        self.assertEqual(self.out.text(), "")
        self.assertIn("2 windows of 1 s: 2 equal", self.err.text())
        self.audit("--all")
        self.assertEqual(self.out.text().splitlines()[0], "t\t1970-01-01T00:00:00Z\t2\t2\t0\t0\t0\tok")

    def test_missing(self) -> None:
        """A record that was announced and not found ends with 1."""
        self.announce(2000, 4)
        self.assertEqual(self.audit("--json"), 1)
        found = json.loads(self.out.text())
        self.assertEqual((found["announced"], found["missing"]), (4, 4))

    def test_range(self) -> None:
        """Windows before or after a time are left out."""
        self.announce(2000, 4)
        self.assertEqual(self.audit("--until", "1970-01-01T00:00:02Z", "--all"), 0)
        self.assertEqual(len(self.out.text().splitlines()), 2)

    def test_header(self) -> None:
        """Column names come first on request."""
        self.audit("--all", "--header")
        self.assertEqual(self.out.text().split("\t")[:3], ["topic", "window", "announced"])

    def test_nothing_announced(self) -> None:
        """A topic without announcements is an error that names the audit topic."""
        self.assertEqual(self.audit("-t", "u"), 1)
        self.assertIn("nothing about u was announced in kafkatx-audit", self.err.text())

    def test_usage(self) -> None:
        """A time in another form is refused."""
        self.assertEqual(self.audit("--until", "noon"), 2)
