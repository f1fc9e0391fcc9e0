"""The quota of request times: percent of a thread, the longest throttle time, requests of brokers."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.quotas.request_times import RequestTimes
from kafkatx.net.admission.rates import Window
from kafkatx.wire.messages.fetch import FetchRequest, ReplicaState
from kafkatx.wire.messages.metadata import MetadataRequest
from kafkatx.wire.messages.write_txn_markers import WriteTxnMarkersRequest

ANN = "User:ann"


class RequestTimesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the quota of a user: a tenth of a thread."""
        self.clock, self.timer = Clock(), Clock()
        self.clock.advance(1000)
        window = Window(samples=11, sample_ms=1000)
        self.times = RequestTimes(window, self.clock, self.timer.seconds, {(("user", "ann"),): 10.0})

    def charge(self, seconds: float, principal: str = ANN) -> int:
        """Return the throttle time of a request that took some time."""
        since_s = self.times.timer()
        self.timer.advance(seconds)
        return self.times.charge(principal, "c", since_s)

    def test_percent(self) -> None:
        """A tenth of the window may be used at once; what is above it throttles."""
        self.assertEqual(self.charge(0.9999), 0)
        self.assertEqual(self.charge(0.0101), 100)
        self.clock.advance(11)
        self.assertEqual(self.charge(0.5), 0)

    def test_longest(self) -> None:
        """A client is never throttled for more than a sample at once, as in Apache Kafka."""
        self.assertEqual(self.charge(100), 1000)

    def test_others(self) -> None:
        """A user without a quota takes as long as it likes."""
        self.assertEqual(self.charge(100, "User:bob"), 0)

    def test_brokers(self) -> None:
        """Fetches of followers and the markers of coordinators are exempt, and no others."""
        follower = FetchRequest(replica_state=ReplicaState(2, 7))
        self.assertTrue(self.times.is_exempt(1, FetchRequest(replica_id=2)))
        self.assertTrue(self.times.is_exempt(1, follower))
        self.assertTrue(self.times.is_exempt(27, WriteTxnMarkersRequest()))
        self.assertFalse(self.times.is_exempt(1, FetchRequest()))
        self.assertFalse(self.times.is_exempt(3, MetadataRequest()))
