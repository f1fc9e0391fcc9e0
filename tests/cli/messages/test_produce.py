"""Tests of kafkatx.cli.messages.produce: lines become messages."""

from __future__ import annotations

import click
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Writer
from kafkatx.cli.messages import produce
from kafkatx.cli.messages.lines import LineFormat
from kafkatx.records.conversion import iter_any
from tests.blocking.fakes import FakeCluster, Log


class SendTests(SynchronousTestCase):
    def sent(self, lines: list[bytes], separator: bytes | None, headers: bool) -> list[object]:
        """(key, value, headers) of what arrives in the log."""
        fake = FakeCluster({"t": [Log()]})
        with Writer(fake.client(), "t") as writer:
            produce.send(writer, lines, LineFormat(separator), None, [("h", b"1")] if headers else [])
        data = b"".join(fake.topics["t"][0].batches)
        return [(record.key, record.value, record.headers) for record in iter_any(data)]

    def test_values(self) -> None:
        """Without a separator a line is the value, whatever is in it."""
        self.assertEqual(self.sent([b"a:b", b""], None, False), [(None, b"a:b", []), (None, b"", [])])

    def test_keys(self) -> None:
        """The first separator ends the key; a line without one has no key; both may be empty."""
        got = self.sent([b"k:v:w", b"novalue:", b":nokey", b"plain"], b":", False)
        self.assertEqual(
            got, [(b"k", b"v:w", []), (b"novalue", b"", []), (b"", b"nokey", []), (None, b"plain", [])]
        )

    def test_headers(self) -> None:
        """Each message has the headers."""
        self.assertEqual(self.sent([b"v"], None, True), [(None, b"v", [("h", b"1")])])


class LineFormatTests(SynchronousTestCase):
    def test_kafka_properties(self) -> None:
        """parse.key takes a tab unless key.separator is given; a line without it is an error."""
        self.assertEqual(produce.line_format(None, [("parse.key", "true")]), LineFormat(b"\t", True))
        given = [("parse.key", "true"), ("key.separator", ":"), ("ignore.error", "true")]
        self.assertEqual(produce.line_format(None, given), LineFormat(b":"))
        self.assertEqual(produce.line_format(None, [("key.separator", ":")]), LineFormat())
        self.assertEqual(produce.line_format(None, [("null.marker", "N")]), LineFormat(null_marker=b"N"))

    def test_refused(self) -> None:
        """An unknown property names those that there are; an empty separator is wrong."""
        error = self.assertRaises(click.UsageError, produce.line_format, None, [("parse.headers", "true")])
        self.assertIn("there are parse.key", str(error))
        self.assertIn("--header", str(error))
        self.assertRaises(click.UsageError, produce.line_format, "", [])
