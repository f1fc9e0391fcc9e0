"""Tests of requests to the controller until they are answered."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.cluster.control.requests import ANSWERED_S, Request, Requests, Wanted
from kafkatx.metadata.controller.writes import Answers, StateWrite, TopicWrite, Write
from kafkatx.types import ClusterState, PartitionState, TopicPartition
from tests.metadata.controller.cases import topic

STATE = ClusterState("c", 1)
LED = PartitionState(1, 4, (1,), (1,), 7, 50)
A, B, C = (TopicPartition("T", number) for number in range(3))
REFUSED = RequestError(ErrorCode.ELECTION_NOT_NEEDED, "no")


class RequestTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a clock."""
        self.clock = Clock()
        self.asked: list[list[TopicPartition] | None] = []

    def decide(
        self, state: ClusterState, deleting: Collection[str], left: Wanted | None
    ) -> tuple[Sequence[Write], Answers]:
        """Refuse C; write the state of A, and the replicas of B."""
        self.asked.append(None if left is None else list(left))
        found = [A, B, C] if left is None else list(left)
        writes: list[Write] = [StateWrite(*A, LED)] if A in found else []
        writes += [TopicWrite(topic("T", LED, LED), (), (1,))] if B in found else []
        return writes, {one: REFUSED if one == C else None for one in found}

    def test_done(self) -> None:
        """The answer has an outcome for each partition, and leaves no timer."""
        request = Request(self.clock, self.decide, None)
        request.made(request.writes(STATE, ()))
        request.finish()
        self.assertEqual(self.successResultOf(request.result), {A: None, B: None, C: REFUSED})
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_again(self) -> None:
        """After a failure only that is decided again which was not made."""
        request = Request(self.clock, self.decide, dict.fromkeys([A, B, C]))
        writes = request.writes(STATE, ())
        request.made(writes[:1])
        request.made(request.writes(STATE, ()))
        request.finish()
        self.assertEqual(self.asked, [[A, B, C], [B]])
        self.assertEqual(self.successResultOf(request.result), {A: None, B: None, C: REFUSED})

    def test_without_writes(self) -> None:
        """A partition that needs no write is done."""
        nothing: tuple[list[Write], Answers] = ([], {A: None})
        request = Request(self.clock, lambda *_: nothing, {A: [1]})
        self.assertEqual(request.writes(STATE, ()), [])
        request.finish()
        self.assertEqual(self.successResultOf(request.result), {A: None})

    def test_late(self) -> None:
        """A request that takes too long is answered for what is not made."""
        request = Request(self.clock, self.decide, None)
        request.made(request.writes(STATE, ())[:1])
        self.clock.advance(ANSWERED_S)
        answers = self.successResultOf(request.result)
        self.assertEqual((answers[A], answers[C]), (None, REFUSED))
        late = answers[B]
        assert late is not None
        self.assertIs(late.code, ErrorCode.REQUEST_TIMED_OUT)
        request.finish()

    def test_late_and_undecided(self) -> None:
        """A request for all partitions that was never looked at fails as a whole."""
        request = Request(self.clock, self.decide, None)
        self.clock.advance(ANSWERED_S)
        error = self.failureResultOf(request.result, RequestError).value
        self.assertIs(error.code, ErrorCode.REQUEST_TIMED_OUT)

    def test_queue(self) -> None:
        """Requests wait in order; those that are answered are passed over; the end of the role fails all."""
        requests = Requests(self.clock)
        self.assertIsNone(requests.first())
        results = [requests.add(self.decide, {one: None}) for one in (A, B, C)]
        first = requests.first()
        assert first is not None
        self.assertIs(first.result, results[0])
        first.writes(STATE, ())
        first.finish()
        second = requests.first()
        assert second is not None
        self.assertIs(second.result, results[1])
        requests.fail_all(lambda: RequestError(ErrorCode.NOT_CONTROLLER, "no"))
        for result in results[1:]:
            error = self.failureResultOf(result, RequestError).value
            self.assertIs(error.code, ErrorCode.NOT_CONTROLLER)
        self.assertIsNone(requests.first())
        self.assertEqual(self.clock.getDelayedCalls(), [])
