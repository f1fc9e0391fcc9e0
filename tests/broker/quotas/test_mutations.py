"""The quota of created and deleted partitions: the bucket, and strict and lenient requests."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.quotas.mutations import Bucket, Mutations, RequestMutations, count
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.net.requests import Peer, Session
from kafkatx.wire.messages.create_topics import CreateTopicsResponse

ANN = "User:ann"


class BucketTests(SynchronousTestCase):
    def test_refill(self) -> None:
        """Tokens come back at the rate of the limit, and never more than were taken."""
        bucket = Bucket()
        bucket.take(2.0, 10, 1000)
        self.assertEqual([bucket.used(2.0, now_ms) for now_ms in (1000, 2000, 5500, 99_000)], [10, 8, 1, 0])

    def test_clock_back(self) -> None:
        """A clock that goes back gives no tokens."""
        bucket = Bucket()
        bucket.take(2.0, 10, 5000)
        self.assertEqual([bucket.used(2.0, now_ms) for now_ms in (1000, 2000)], [10, 8])

    def test_idle(self) -> None:
        """A bucket is idle once all its tokens are back."""
        bucket = Bucket()
        self.assertTrue(bucket.is_idle(0))
        bucket.take(2.0, 10, 1000)
        self.assertEqual([bucket.is_idle(now_ms) for now_ms in (1000, 5999, 6000)], [False, False, True])


class MutationsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the quota of a user: two partitions a second, those of ten seconds at once."""
        self.clock = Clock()
        self.clock.advance(1000)
        self.peer = Peer("127.0.0.1", 1, "127.0.0.1", 2, Session(ANN))
        self.mutations = Mutations(10, self.clock, {(("user", "ann"),): 2.0})

    def request(self, is_strict: bool) -> RequestMutations:
        """Return the mutations of one request."""
        return RequestMutations(self.mutations, self.peer, "c", is_strict)

    def test_burst(self) -> None:
        """All of the window may come at once; what is above it has to be made up for."""
        self.assertEqual(self.mutations.charge(ANN, "c", 20), 0)
        self.assertEqual(self.mutations.charge(ANN, "c", 1), 500)
        self.clock.advance(0.25)
        self.assertEqual(self.mutations.charge(ANN, "c", 0), 250)
        self.clock.advance(0.25)
        self.assertEqual(self.mutations.charge(ANN, "c", 0), 0)

    def test_others(self) -> None:
        """A user without a quota mutates as many partitions as it likes."""
        self.assertEqual(self.mutations.charge("User:bob", "c", 1 << 40), 0)

    def test_strict(self) -> None:
        """A topic may exceed the quota; the next one is refused, not counted, and its client is throttled."""
        request = self.request(is_strict=True)
        request.record(25)
        self.assertEqual(request.throttle_time_ms, 0)
        error = self.assertRaises(RequestError, request.record, 1)
        self.assertEqual(error.code, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        response = request.throttle(CreateTopicsResponse())
        self.assertEqual((response.throttle_time_ms, self.peer.throttle_time_ms), (2500, 2500))
        self.clock.advance(2.5)
        self.request(is_strict=True).record(1)

    def test_lenient(self) -> None:
        """Older versions are never refused, and throttled for all that they have done."""
        request = self.request(is_strict=False)
        request.record(25)
        request.record(5)
        response = request.throttle(CreateTopicsResponse())
        self.assertEqual((response.throttle_time_ms, self.peer.throttle_time_ms), (5000, 5000))

    def test_within(self) -> None:
        """A request within the quota is not throttled, nor does it shorten another throttle time."""
        request, self.peer.throttle_time_ms = self.request(is_strict=True), 7
        request.record(20)
        response = request.throttle(CreateTopicsResponse())
        self.assertEqual((response.throttle_time_ms, self.peer.throttle_time_ms), (0, 7))

    def test_tiny_limit(self) -> None:
        """The throttle time fits into its field, however low the quota is."""
        mutations = Mutations(10, self.clock, {(("user", "ann"),): 1e-9})
        self.assertEqual(mutations.charge(ANN, "c", 1 << 30), 2**31 - 1)

    def test_none(self) -> None:
        """Nothing is counted where there are no quotas."""
        count(None, 1 << 30)
