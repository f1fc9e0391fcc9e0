"""Tests of kafkatx.cli.options.scope."""

from __future__ import annotations

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.cli.options.scope import parse_scope


class ScopeTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Whole topics, partitions after a colon, and partitions of the one topic."""
        for topics, partitions, expected in (
            ([], [], {}),
            (["t", "u"], [], {"t": set(), "u": set()}),
            (["t:0,2", "u"], [], {"t": {0, 2}, "u": set()}),
            (["t:0", "t:1"], [], {"t": {0, 1}}),
            (["t"], [3, 4], {"t": {3, 4}}),
            (["t:0"], [3], {"t": {0, 3}}),
        ):
            self.assertEqual(parse_scope(topics, partitions), expected)

    def test_bad(self) -> None:
        """Texts that are not partitions are refused, and --partition without exactly one topic."""
        for text in ("t:", "t:x", "t:0,", ":0", "", "t:-1", "t:²", "t:9999999999", "t:0:1"):
            error = self.assertRaises(click.UsageError, parse_scope, [text], [])
            self.assertIn("give TOPIC or TOPIC:0,1,2", str(error))
        for topics in ([], ["t", "u"]):
            error = self.assertRaises(click.UsageError, parse_scope, topics, [0])
            self.assertIn("exactly one topic", str(error))
