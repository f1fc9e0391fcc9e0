"""The queue of a consumer group: one request at a time, stored before it is answered."""

from __future__ import annotations

from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Action, Answer, Replace, Store
from kafkatx.group.consumer.group import ConsumerGroup
from kafkatx.group.consumer.member import Metadata
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.consumer.records import Kind
from kafkatx.group.consumer.request_queue import PendingRequest, RequestQueue
from kafkatx.group.settings import GroupSettings
from kafkatx.wire.messages.heartbeat import HeartbeatResponse
from tests.group.consumer.driver import cluster

WALL_MS = 77


def refuse(code: ErrorCode, message: str) -> HeartbeatResponse:
    """Return the response of a refused request."""
    return HeartbeatResponse(error_code=code)


class QueueTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a queue."""
        rebalance = Rebalance("g", GroupSettings, cluster, lambda: WALL_MS)
        self.queue, self.state = RequestQueue(rebalance), rebalance.state

    def add(self, name: str) -> list[Action]:
        """Submit a request that adds a member of this name."""

        def work(pending: PendingRequest, now_ms: int) -> list[Action]:
            self.state.put(Kind.MEMBER, name, Metadata())
            return self.queue.write(lambda _: pending.answer(HeartbeatResponse()), pending.refused)

        return self.queue.submit(name, refuse, work, 0)

    def answers(self, actions: list[Action]) -> dict[object, int]:
        """Return the errors of answers by their tokens."""
        return {a.token: a.response.error_code for a in actions if isinstance(a, Answer)}

    def test_stored_before_answered(self) -> None:
        """The answer comes after the store, and the change stays."""
        (store,) = self.add("a")
        self.assertIsInstance(store, Store)
        self.assertEqual(self.answers(self.queue.stored(ErrorCode.NONE, 0)), {"a": 0})
        self.assertEqual((list(self.state.members), self.state.changes), (["a"], []))

    def test_failed(self) -> None:
        """A request whose store fails is refused, and its change is undone."""
        self.add("a")
        error = ErrorCode.KAFKA_STORAGE_ERROR
        self.assertEqual(self.answers(self.queue.stored(error, 0)), {"a": error})
        self.assertEqual(self.state.members, {})

    def test_one_at_a_time(self) -> None:
        """A request waits for the store before it, and is then stored itself."""
        self.add("a")
        self.assertEqual(self.add("b"), [])
        self.assertNotIn("b", self.state.members)
        actions = self.queue.stored(ErrorCode.NONE, 0)
        self.assertEqual(self.answers(actions), {"a": 0})
        self.assertIsInstance(actions[-1], Store)

    def test_refused(self) -> None:
        """A request that raises RequestError is answered with it, and its changes are undone."""

        def work(pending: PendingRequest, now_ms: int) -> list[Action]:
            self.state.put(Kind.MEMBER, "a", Metadata())
            raise RequestError(ErrorCode.UNKNOWN_MEMBER_ID)

        actions = self.queue.submit("t", refuse, work, 0)
        self.assertEqual(self.answers(actions), {"t": ErrorCode.UNKNOWN_MEMBER_ID})
        self.assertEqual((self.state.members, self.queue.waiting), ({}, None))

    def test_bug(self) -> None:
        """Any other exception undoes the change, too, and goes on to the caller."""

        def work(pending: PendingRequest, now_ms: int) -> list[Action]:
            self.state.put(Kind.MEMBER, "a", Metadata())
            raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, self.queue.submit, "t", refuse, work, 0)
        self.assertEqual(self.state.members, {})

    def test_without_changes(self) -> None:
        """A request that changes nothing is answered at once."""

        def work(pending: PendingRequest, now_ms: int) -> list[Action]:
            return self.queue.write(lambda _: pending.answer(HeartbeatResponse()), pending.refused)

        self.assertEqual(self.answers(self.queue.submit("t", refuse, work, 0)), {"t": 0})

    def test_later(self) -> None:
        """Calls that depend on the change are made when it is stored, and not if that fails."""
        called: list[str] = []
        for name, error in (("a", ErrorCode.KAFKA_STORAGE_ERROR), ("b", ErrorCode.NONE)):
            self.add(name)
            self.queue.rebalance.later.append(partial(called.append, name))
            self.queue.stored(error, 0)
        self.assertEqual(called, ["b"])

    def test_emptied(self) -> None:
        """The time when the last member left is that of the wall clock."""
        self.add("a")
        self.queue.stored(ErrorCode.NONE, 0)
        self.assertEqual(self.queue.emptied_ms, -1)
        self.state.put(Kind.MEMBER, "a", None)
        self.queue.write(lambda _: [], lambda _: [])
        self.queue.stored(ErrorCode.NONE, 0)
        self.assertEqual(self.queue.emptied_ms, WALL_MS)

    def test_replaced(self) -> None:
        """Requests that wait when another group takes the place are sent again by their clients."""
        other = ConsumerGroup("g", GroupSettings, cluster, str, lambda: 0)

        def work(pending: PendingRequest, now_ms: int) -> list[Action]:
            return self.queue.store([], lambda _: [self.queue.replace(other)], pending.refused)

        self.queue.submit("t", refuse, work, 0)
        self.add("a")
        actions = self.queue.stored(ErrorCode.NONE, 0)
        self.assertEqual(actions[0], Replace(other))
        self.assertEqual(self.answers(actions), {"a": ErrorCode.NOT_COORDINATOR})
