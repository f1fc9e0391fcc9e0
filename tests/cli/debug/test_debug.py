"""Tests of ``kafkatx debug bundle`` without a broker."""

from __future__ import annotations

import os

from kafkatx.cli.debug import debug
from kafkatx.errors import KafkaTXError
from tests.cli.command_case import CommandCase


class BundleTests(CommandCase):
    def setUp(self) -> None:
        """Refuse every connection."""
        super().setUp()

        def refuse(bootstrap: str, timeout: float) -> None:
            raise KafkaTXError("no broker answers")

        self.patch(debug, "connect", refuse)
        self.path = os.path.abspath(self.mktemp()) + ".tar.gz"

    def test_no_broker(self) -> None:
        """Without a broker there is an archive, and the exit code and a line say what is missing."""
        self.assertEqual(self.run_command("debug", "bundle", "-o", self.path), 1)
        self.assertEqual(self.out.text(), f"{self.path}\n")
        self.assertIn("not in it: brokers: no broker answers", self.err.text())
        self.assertGreater(os.path.getsize(self.path), 100)

    def test_existing(self) -> None:
        """A file that exists is kept."""
        for code in (1, 1):
            self.assertEqual(self.run_command("debug", "bundle", "-o", self.path), code)
        self.assertIn("exists", self.err.text())

    def test_settings_file(self) -> None:
        """A settings file that cannot be read is told of before anything is written."""
        self.assertEqual(self.run_command("debug", "bundle", "-o", self.path, "--config", "/no/such"), 1)
        self.assertFalse(os.path.exists(self.path))
