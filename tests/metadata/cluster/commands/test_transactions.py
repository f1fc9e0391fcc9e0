"""Transactions are made once, whatever happens to their replies, and end in bounded time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces.nodes import BadVersion, Create, SetData
from kafkatx.metadata.cluster.commands.transactions import REQUEST_S, Plan
from kafkatx.metadata.layout.changes import ChangeRecord
from tests.metadata.cluster.cases import RunningCase
from tests.metadata.cluster.memory import TIMEOUT_S


class TransactionTests(RunningCase):
    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.store = self.started()
        self.transactions = self.store._transactions
        self.link = self.tree(self.store).link
        self.write(Create("/n"))
        self.plans = 0

    def adding(self) -> Callable[[], Awaitable[Plan]]:
        """Return a plan that adds one child, whatever there is."""

        async def plan() -> Plan:
            self.plans += 1
            return Plan([Create("/n/c", sequential=True)], ChangeRecord("", configs=[]))

        return plan

    def test_shown(self) -> None:
        """The image includes its change record, which has a mark of its own, when it is done."""
        applied = self.store._view.image.applied
        self.done(self.transactions.make(self.adding()))
        self.assertEqual(self.store._view.image.applied, applied + 1)
        record = self.read(f"/kafkatx/changes/c-{applied + 1:010d}")
        self.assertIn(b'"by":"b1-', record)

    def test_reply_lost(self) -> None:
        """A transaction that was made, but whose reply was lost, is not made again."""
        for lost_session in (False, True):
            before = len(self.children("/n"))
            self.link.hold_replies()
            making = self.transactions.make(self.adding())

            doing = Deferred.fromCoroutine(making)
            self.stores.settle()
            self.link.cut(apply_requests=True)
            if lost_session:
                self.stores.advance(2 * TIMEOUT_S)
            self.link.heal()
            self.result(doing)
            self.assertEqual(len(self.children("/n")) - before, 1)

    def test_request_lost(self) -> None:
        """A transaction whose request was lost is made when the connection is back."""

        self.link.hold_requests()
        doing = Deferred.fromCoroutine(self.transactions.make(self.adding()))
        self.stores.settle()
        self.link.cut()
        self.link.heal()
        self.result(doing)
        self.assertEqual((len(self.children("/n")), self.plans), (1, 2))

    def test_time_out(self) -> None:
        """Without a connection it fails after its time, and is not made later."""
        self.link.cut()
        before = self.clock.seconds()
        with self.assertRaises(RequestError) as caught:
            self.done(self.transactions.make(self.adding()))
        self.assertIs(caught.exception.code, ErrorCode.REQUEST_TIMED_OUT)
        self.assertTrue(REQUEST_S <= self.clock.seconds() - before < REQUEST_S + 1)
        self.link.heal()
        self.stores.advance(10.0)
        self.assertEqual(self.children("/n"), [])

    def test_overtaken(self) -> None:
        """One that other changes overtake again and again is planned anew, ever more slowly, and ends."""

        async def plan() -> Plan:
            self.plans += 1
            return Plan([SetData("/n", b"", version=99)], ChangeRecord(""))

        with self.assertRaises(RequestError) as caught:
            self.done(self.transactions.make(plan))
        self.assertIs(caught.exception.code, ErrorCode.REQUEST_TIMED_OUT)
        self.assertLess(self.plans, 100)

    def test_refused(self) -> None:
        """One that is too large is refused at once."""

        async def plan() -> Plan:
            return Plan([Create("/n/large", b"x" * 2_000_000)], ChangeRecord(""))

        before = self.clock.seconds()
        with self.assertRaises(RequestError) as caught:
            self.done(self.transactions.make(plan))
        self.assertIs(caught.exception.code, ErrorCode.UNKNOWN_SERVER_ERROR)
        self.assertIn("limit", str(caught.exception))
        self.assertEqual(self.clock.seconds(), before)

    def test_stop(self) -> None:
        """A command that waits ends when the store stops."""

        self.link.cut()
        self.stores.settle()
        doing = Deferred.fromCoroutine(self.transactions.make(self.adding()))
        self.result(self.store.stop())
        self.failureResultOf(doing, RequestError)

    def test_persist(self) -> None:
        """An attempt that is overtaken is made again; its own RequestError ends it."""
        attempts: list[int] = []

        async def attempt() -> int:
            attempts.append(1)
            if len(attempts) < 3:
                raise BadVersion("/n")
            return len(attempts)

        self.assertEqual(self.done(self.transactions.persist(attempt)), 3)

        async def refusing() -> None:
            raise RequestError(ErrorCode.INVALID_CONFIG, "no")

        with self.assertRaises(RequestError):
            self.done(self.transactions.persist(refusing))
