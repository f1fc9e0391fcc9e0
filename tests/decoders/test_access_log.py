"""Tests of kafkatx.decoders.access_log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from kafkatx.decoders.access_log import AccessLine, AccessLogDecoder
from kafkatx.testing.contracts.decoder import RowDecoderContract
from tests.integration.access_log import REAL_FACTS, LogFacts, real_log, small_log
from tests.measured import check_below

NOON = datetime(2015, 5, 17, 12, 0, 0, tzinfo=timezone.utc)
COMMON = b'10.0.0.1 - - [17/May/2015:12:00:00 +0000] "GET /a HTTP/1.1" 200 5'


def decode(line: bytes) -> AccessLine:
    """The row of a line."""
    row = AccessLogDecoder().decode("web", line)
    assert row is not None
    return row


def line(request: bytes = b"GET /a HTTP/1.1", user: bytes = b"-", rest: bytes = b"200 5") -> bytes:
    """A line with this in its fields."""
    return b'10.0.0.1 - %s [17/May/2015:12:00:00 +0000] "%s" %s' % (user, request, rest)


class AccessLogDecoderTests(RowDecoderContract, SynchronousTestCase):
    make_decoder = AccessLogDecoder

    def samples(self) -> Iterable[tuple[bytes, tuple[Any, ...]]]:
        """The common format, the combined one, and a line with all that there can be."""
        ten = datetime(2015, 5, 17, 10, tzinfo=timezone.utc)
        request, common = ("GET", "/a", "HTTP/1.1"), ("10.0.0.1", None, None, NOON)
        return (
            (COMMON, (*common, *request, 200, 5, None, None)),
            (COMMON + b' "-" "curl/8"\r\n', (*common, *request, 200, 5, None, "curl/8")),
            (
                b'::1 id bob [17/May/2015:12:00:00 +0200] "POST /b?c=d HTTP/2.0" 304 - "http://x/" "A b"',
                ("::1", "id", "bob", ten, "POST", "/b?c=d", "HTTP/2.0", 304, None, "http://x/", "A b"),
            ),
        )

    def malformed(self) -> Iterable[bytes]:
        """No lines of the format, and such with an impossible time."""
        return (
            b"",
            b"GET / HTTP/1.1",
            COMMON[:-6],
            COMMON + b" 7",
            COMMON.replace(b"17/May", b"31/Feb"),
            COMMON.replace(b"May", b"Mai"),
            COMMON.replace(b"12:00", b"25:00"),
            COMMON.replace(b"17/May/2015:12:00:00 +0000", b"01/Jan/0001:00:00:00 +0100"),
            b"www.example.org:80 " + COMMON,
            b"www.example.org:80 " + line(user=b"bob"),
        )


class FieldTests(SynchronousTestCase):
    def test_requests(self) -> None:
        """Requests that are none of HTTP/1 are kept whole where they cannot be taken apart."""
        for request, expected in (
            (b"GET /a b HTTP/1.0", ("GET", "/a b", "HTTP/1.0")),
            (b"GET /old", ("GET", "/old", None)),
            (b"GET /not HTTPS", ("GET", "/not HTTPS", None)),
            (b"-", (None, None, None)),
            (b"", (None, None, None)),
            (b"\\x16\\x03\\x01 x", (None, "\\x16\\x03\\x01 x", None)),
            (b"lonely", (None, "lonely", None)),
            (b"M-SEARCH * HTTP/1.1", ("M-SEARCH", "*", "HTTP/1.1")),
        ):
            row = decode(line(request))
            self.assertEqual((row.method, row.path, row.protocol), expected)

    def test_escapes(self) -> None:
        """Quotes that the server has escaped end no field, and stay as they are; so do backslashes."""
        row = decode(line(b'GET /\\"a\\\\ HTTP/1.1', rest=b'200 5 "\\"" "x \\"y\\" z"'))
        self.assertEqual((row.path, row.referrer, row.agent), ('/\\"a\\\\', '\\"', 'x \\"y\\" z'))

    def test_text(self) -> None:
        """UTF-8 is read; other bytes become escapes as Apache writes them."""
        row = decode(line("GET /ü".encode() + b"\xe9 HTTP/1.1"))
        self.assertEqual(row.path, "/ü\\xe9")

    def test_users(self) -> None:
        """A user's name may have spaces."""
        self.assertEqual(decode(line(user=b"john q. public")).user, "john q. public")

    def test_more_fields(self) -> None:
        """Additional fields after the agent are ignored."""
        row = decode(line(rest=b'200 5 "-" "agent" "10.9.8.7" 0.003'))
        self.assertEqual(row.agent, "agent")

    def test_cut_agent(self) -> None:
        """The last field may have lost its quote."""
        self.assertEqual(decode(line(rest=b'200 5 "-" "Mozilla/5.0 (cu')).agent, "Mozilla/5.0 (cu")

    def test_no_status(self) -> None:
        """Apache writes a hyphen where it has sent no answer."""
        row = decode(line(rest=b"- -"))
        self.assertEqual((row.status, row.bytes), (None, None))

    def test_west(self) -> None:
        """A zone behind UTC."""
        row = decode(COMMON.replace(b"+0000", b"-0330"))
        self.assertEqual(row.time, datetime(2015, 5, 17, 15, 30, tzinfo=timezone.utc))

    def test_hostile(self) -> None:
        """A long line that nearly fits takes no longer than its length would have it."""
        stamp = b"[17/May/2015:12:00:00 +0000] "
        for text in (
            b"a b " + (stamp + b'"x') * 10_000,
            b"a b " + (stamp + b'"" 200 1 "') * 10_000,
            b"a b c " + stamp + b'"' + b'\\"' * 100_000,
            b"a b " + b"c " * 100_000,
        ):
            began = time.process_time()
            self.assertRaises(ValueError, decode, text)
            check_below(self, time.process_time() - began, 2.0, "CPU seconds")


class LogTests(SynchronousTestCase):
    def check(self, data: bytes, facts: LogFacts) -> None:
        """Decode a log and count."""
        rows = [decode(text) for text in data.splitlines()]
        self.assertEqual(len(rows), facts.rows)
        self.assertEqual(Counter(str(row.status) for row in rows), facts.statuses)
        self.assertEqual(sum(row.bytes or 0 for row in rows), facts.bytes_sent)
        clients = Counter(row.client for row in rows)
        self.assertEqual(len(clients), facts.clients)
        busiest = tuple((name, clients[name]) for name, _ in facts.busiest_clients)
        self.assertEqual(busiest, facts.busiest_clients)
        days = Counter(row.time.date() for row in rows)
        self.assertEqual(tuple(count for _, count in sorted(days.items())), facts.per_day)
        hours = Counter(row.time.replace(minute=0, second=0) for row in rows)
        self.assertEqual(hours[facts.busiest_hour[0]], facts.busiest_hour[1])

    def test_small(self) -> None:
        """200 lines in two time zones give the facts that they were made with."""
        self.check(*small_log())

    def test_real(self) -> None:
        """Each line of the real log is read, and awk counts the same."""
        data = real_log()
        if data is None:
            raise SkipTest("the real log is not there")
        self.check(data, REAL_FACTS)
