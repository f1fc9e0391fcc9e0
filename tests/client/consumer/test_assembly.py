"""Tests of kafkatx.client.consumer.assembly."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.consumer.assembly import POLLS, ConsumerAssembly
from kafkatx.client.consumer.processor import Processor
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition
from kafkatx.wire.messages.fetch import FetchRequest
from tests.blocking.fakes import FakeCluster, Log
from tests.client.fakes import Network

T0 = TopicPartition("t", 0)
MAX_POLL_S = 300.0


class AssemblyTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A broker with one topic."""
        self.network = Network(FakeCluster({"t": [Log()]}).answer)
        self.clock = self.network.clock

    def make(self, **settings: Any) -> ConsumerAssembly:
        """The parts of a consumer, with a started cluster."""
        loaded = self.network.settings("consumer", auto_offset_reset="earliest", **settings)
        cluster = self.network.started("consumer")
        self.addCleanup(lambda: self.network.result(cluster.close()))
        return ConsumerAssembly(loaded, cluster)

    def close(self, parts: ConsumerAssembly, timeout_s: float = 10.0) -> None:
        """Close the parts, and wait for that."""
        self.network.result(Deferred.fromCoroutine(parts.close(timeout_s)), 2 * timeout_s)

    def recorded_polls(self, parts: ConsumerAssembly) -> list[tuple[bool, float | None]]:
        """Record the polls that the membership hears of."""
        polls: list[tuple[bool, float | None]] = []
        assert parts.membership is not None
        self.patch(parts.membership, "poll", lambda waiting, since: polls.append((waiting, since)))
        return polls

    def test_optional_parts(self) -> None:
        """Membership, automatic commits and audit exist only if settings ask for them."""
        for settings, expected in (
            ({}, (False, False, False)),
            ({"group_id": "g"}, (True, True, False)),
            ({"group_id": "g", "enable_auto_commit": False}, (True, False, False)),
            ({"group_id": "g", "audit_interval_ms": 1000}, (True, True, True)),
        ):
            parts = self.make(**settings)
            found = (parts.membership, parts.auto_commit, parts.auditor)
            self.assertEqual(tuple(part is not None for part in found), expected)

    def test_nothing_before_start(self) -> None:
        """Partitions are fetched only once the consumer has started."""
        self.network.answers[FetchRequest] = lambda *request: Deferred()
        parts = self.make()
        parts.cluster.track(["t"])
        parts.assign([T0])
        self.network.run(1)
        self.assertEqual(self.network.sent(FetchRequest), [])
        parts.start()
        self.network.run(2)
        self.assertEqual((parts.fetcher.in_flight, len(self.network.sent(FetchRequest))), (1, 1))
        self.close(parts)
        self.assertEqual((parts.fetcher.in_flight, parts.subscriptions.assigned_partitions), (0, frozenset()))

    def test_second_start(self) -> None:
        """A second start changes nothing: there is one timer of automatic commits."""
        parts = self.make(group_id="g")
        parts.start()
        before = len(self.clock.getDelayedCalls())
        parts.start()
        self.assertEqual(len(self.clock.getDelayedCalls()), before)
        self.close(parts)

    def test_polls_are_reported_seldom(self) -> None:
        """The membership hears of polls a limited number of times per max.poll.interval.ms."""
        parts = self.make(group_id="g")
        polls = self.recorded_polls(parts)
        for _ in range(10):
            parts.report_activity(self.clock.seconds())
        self.assertEqual(len(polls), 1)
        self.clock.advance(MAX_POLL_S / POLLS)
        parts.report_activity(self.clock.seconds())
        self.assertEqual(polls[1:], [(False, self.clock.seconds())])

    def test_waiting_is_reported_at_once(self) -> None:
        """A change between waiting and processing is reported at once, and only the change."""
        parts = self.make(group_id="g")
        polls = self.recorded_polls(parts)
        now = self.clock.seconds()
        for since in (now, None, None, now):
            parts.report_activity(since)
        self.assertEqual(polls, [(False, now), (True, None), (False, now)])

    def test_expired_poll_is_not_reported(self) -> None:
        """Processing that has taken longer than max.poll.interval.ms does not restart the timer."""
        parts = self.make(group_id="g")
        polls = self.recorded_polls(parts)
        since = self.clock.seconds()
        self.clock.advance(MAX_POLL_S)
        parts.report_activity(since)
        self.assertEqual(polls, [])

    def test_close_gives_up(self) -> None:
        """A processor that does not end within the timeout is cancelled."""
        parts = self.make()
        parts.start()
        processor = Processor(
            self.clock,
            parts.subscriptions,
            parts.poller,
            lambda record: None,
            batches=False,
            limit=1,
            report_activity=parts.report_activity,
        )
        self.patch(processor, "running", True)
        parts._processor = processor
        before = self.clock.seconds()
        self.close(parts, timeout_s=3.0)
        self.assertGreaterEqual(self.clock.seconds() - before, 3.0)
        self.assertTrue(processor._cancelled)
        polling = Deferred.fromCoroutine(parts.poller.poll(1, 0))
        self.clock.advance(0)
        self.failureResultOf(polling, ClientClosed)

    def test_failed_membership(self) -> None:
        """An error of the membership is raised to every later poll."""
        parts, error = self.make(group_id="g"), KafkaTXError("test")
        parts.poller.start()
        parts._failed(error)
        for _ in range(2):
            failure = self.failureResultOf(Deferred.fromCoroutine(parts.poller.poll(1, 0)), KafkaTXError)
            self.assertIs(failure.value, error)
