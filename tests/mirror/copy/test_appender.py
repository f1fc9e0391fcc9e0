"""Tests of kafkatx.mirror.copy.appender: requests, retries, and errors for the caller."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.mirror.copy import appender as module
from kafkatx.mirror.copy.appender import Appender, Conflict, TooLarge
from kafkatx.types import TopicPartition
from kafkatx.wire.leaders import LeaderIdAndEpoch
from kafkatx.wire.messages.produce import ProduceRequest
from tests.client.producer.fake_cluster import FakeCluster, Sent

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class LanedCluster(FakeCluster):
    """A cluster that is asked with a lane."""

    def request(self, node_id: int, request: ProduceRequest, **options: Any) -> Deferred[Any]:
        """Record a request."""
        return super().request(node_id, request, version=options["version"], expect_reply=True)

    def version_for(
        self, node_id: int, request_type: type[Any], at_most: int | None = None, **options: Any
    ) -> Deferred[int]:
        """Return the version."""
        return super().version_for(node_id, request_type, at_most)


class AppenderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an appender."""
        self.cluster = LanedCluster()
        self.clock = self.cluster.reactor
        cluster: Any = self.cluster
        self.appender = Appender(cluster)

    def append(self, place: TopicPartition = P0, batch: bytes = b"batch") -> Deferred[int]:
        """Append, and let the next turn of the reactor come."""
        done = self.appender.append(place, batch)
        self.clock.advance(0)
        return done

    def last(self) -> Sent:
        """Return the last request."""
        return self.cluster.sent[-1]

    def test_append(self) -> None:
        """A batch is sent to its leader, to all replicas, and the offset comes back."""
        done = self.append()
        self.assertEqual((self.last().node_id, self.last().request.acks), (1, -1))
        self.last().answer(base_offset=77)
        self.assertEqual(self.successResultOf(done), 77)

    def test_shared_request(self) -> None:
        """Batches of one turn for one broker share a request; two of one partition do not."""
        for place in (P0, P1, P0):
            self.appender.append(place, b"batch")
        self.clock.advance(0)
        self.assertEqual([sent.partitions for sent in self.cluster.sent], [[0, 1], [0]])

    def test_large_requests(self) -> None:
        """A request has a bound."""
        self.patch(module, "REQUEST_BYTES", 10)
        self.appender.append(P0, b"12345678")
        self.appender.append(P1, b"12345678")
        self.clock.advance(0)
        self.assertEqual([sent.partitions for sent in self.cluster.sent], [[0], [1]])

    def test_conflicts(self) -> None:
        """A batch that does not follow the log is the caller's business, at once."""
        for code, kind in (
            (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, Conflict),
            (ErrorCode.INVALID_PRODUCER_EPOCH, Conflict),
            (ErrorCode.UNKNOWN_PRODUCER_ID, Conflict),
            (ErrorCode.MESSAGE_TOO_LARGE, TooLarge),
            (ErrorCode.TOPIC_AUTHORIZATION_FAILED, RequestError),
        ):
            done = self.append()
            self.last().answer(code)
            self.failureResultOf(done, kind)

    def test_retries(self) -> None:
        """Other errors are retried until the broker answers, with the same bytes."""
        done = self.append()
        for code in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.REQUEST_TIMED_OUT,
        ):
            self.last().answer(code)
            count = len(self.cluster.sent)
            self.clock.advance(2)
            self.assertEqual(len(self.cluster.sent), count + 1)
        self.last().reply.errback(ConnectionFailed("gone"))
        self.clock.advance(2)
        self.assertNoResult(done)
        self.assertGreaterEqual(self.cluster.stale_calls, 4)
        self.last().answer(base_offset=5)
        self.assertEqual(self.successResultOf(done), 5)

    def test_no_leader(self) -> None:
        """A partition without a leader waits for one."""
        self.cluster.leaders[0] = -1
        done = self.append()
        self.assertEqual(self.cluster.sent, [])
        self.cluster.leaders[0] = 2
        self.clock.advance(1)
        self.assertEqual(self.last().node_id, 2)
        self.last().answer()
        self.successResultOf(done)

    def test_new_leader(self) -> None:
        """A new leader that a reply names is asked next."""
        done = self.append()
        self.last().answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=LeaderIdAndEpoch(3, 9))
        self.clock.advance(1)
        self.assertEqual(self.last().node_id, 3)
        self.last().answer()
        self.successResultOf(done)

    def test_old_brokers(self) -> None:
        """Brokers without headers are refused with a reason."""
        self.cluster.known_version = 2
        self.assertIn("older than Kafka 0.11", str(self.failureResultOf(self.append(), RequestError).value))

    def test_close(self) -> None:
        """After the end nothing is sent, and what waits fails."""
        waiting = self.append()
        self.last().answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        new = self.appender.append(P1, b"x")
        self.appender.close()
        for done in (waiting, new, self.appender.append(P0, b"y")):
            self.failureResultOf(done, ClientClosed)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_cancelled(self) -> None:
        """A batch whose result is not wanted any more is not repeated."""
        done = self.append()
        self.last().answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        done.addErrback(lambda _: None)
        done.cancel()
        self.clock.advance(5)
        self.assertEqual(len(self.cluster.sent), 1)
