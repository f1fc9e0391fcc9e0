"""Tests of kafkatx.demo.pipeline.events."""

from __future__ import annotations

from collections import Counter

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.demo.pipeline.events import SITE_TOPICS, line_events, site_events


class EventsTests(SynchronousTestCase):
    def test_site(self) -> None:
        """Both topics have events, none has a newline, and the same seed makes the same."""
        events = list(site_events(1000))
        self.assertEqual(set(Counter(topic for topic, _ in events)), set(SITE_TOPICS))
        self.assertFalse([value for _, value in events if b"\n" in value or not value])
        self.assertEqual(events, list(site_events(1000)))

    def test_lines(self) -> None:
        """Lines of any bytes have one topic."""
        self.assertEqual(list(line_events([b"", b"\xff"])), [("lines", b""), ("lines", b"\xff")])
