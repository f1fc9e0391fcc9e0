"""Tests of kafkatx.cli.process.warnings."""

from __future__ import annotations

from twisted.logger import Logger

from kafkatx.cli.process.warnings import warnings_shown
from tests.cli.command_case import CommandCase


class WarningTests(CommandCase):
    def test_shown(self) -> None:
        """Warnings of the client library are lines without control characters; nothing else is printed."""
        client, other = Logger(namespace="kafkatx.client.x"), Logger(namespace="somebody.else")
        with warnings_shown():
            client.warn("no broker at {address} for {seconds} s", address="h:1\x1b[2J\n", seconds=5)
            client.info("connected")
            other.warn("nothing of ours")
        client.warn("too late")
        self.assertEqual(self.err.text(), "kafkatx: no broker at h:1\\x1b[2J for 5 s\n")
