"""Tests of kafkatx.client.producer.producer_id."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.producer.producer_id import ProducerIdSource
from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.batch import LAST_EPOCH, NOT_IDEMPOTENT, ProducerIdAndEpoch
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.init_producer_id import InitProducerIdResponse
from tests.client.producer.fake_cluster import LIMITS, FakeCluster


class ProducerIdSourceTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a source of ids for an accumulator without an id."""
        self.accumulator = RecordAccumulator(LIMITS)
        self.woken = 0
        self.requests: list[Any] = []
        self.reply: Deferred[Any] = succeed(InitProducerIdResponse(producer_id=7, producer_epoch=2))
        cluster: Any = FakeCluster()
        cluster.request_any = self.request_any
        self.source = ProducerIdSource(cluster, self.accumulator, self.wake, lambda waiting: waiting)
        self.queue = self.accumulator.queue("t", 0)

    def request_any(self, message: Any) -> Deferred[Any]:
        """Record the request."""
        self.requests.append(message)
        return self.reply

    def wake(self) -> None:
        """Count the calls."""
        self.woken += 1

    def request(self) -> Deferred[None]:
        """Request an id."""
        return Deferred.fromCoroutine(self.source.set_producer_id())

    def test_id(self) -> None:
        """The id goes to the accumulator's queues, and the sender is woken."""
        self.successResultOf(self.request())
        self.assertEqual((self.queue.id_and_epoch, self.woken), (ProducerIdAndEpoch(7, 2), 1))

    def test_old_broker(self) -> None:
        """A broker without the request makes the producer send one batch of a partition at a time."""
        self.reply = fail(RequestError(ErrorCode.UNSUPPORTED_VERSION, "old"))
        self.successResultOf(self.request())
        self.assertEqual((self.queue.id_and_epoch, self.accumulator.limits.in_flight), (NOT_IDEMPOTENT, 1))

    def test_error(self) -> None:
        """Any other error is raised, and no id is set."""
        for reply in (
            fail(RequestError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")),
            succeed(InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)),
        ):
            self.reply = reply
            self.failureResultOf(self.request(), RequestError)
            self.assertIsNone(self.queue.id_and_epoch)

    def test_used_up(self) -> None:
        """check() requests a new id if a queue has used up its epochs, one request at a time."""
        self.accumulator.set_producer_id(ProducerIdAndEpoch(1, LAST_EPOCH))
        self.source.check()
        self.assertEqual(self.requests, [])
        self.accumulator.append(self.queue, None, b"v", 5, (), None, 0.0)
        self.queue.id_and_epoch = None
        self.reply = Deferred()
        self.source.check()
        self.source.check()
        self.assertEqual(len(self.requests), 1)
        self.reply.callback(InitProducerIdResponse(producer_id=8, producer_epoch=0))
        self.assertEqual(self.queue.id_and_epoch, ProducerIdAndEpoch(8, 0))
