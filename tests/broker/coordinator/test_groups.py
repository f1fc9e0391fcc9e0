"""What stands between machines of groups and the world: answers, records, timers and log lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import NEVER_MS, Action, Answer, LogLine, Record, Replace, Store
from kafkatx.group.offset_records import Committed
from tests.broker.running import BrokerTestCase

RECORDS = [Record(b"\x00\x02key", b"value")]


class FakeGroup:
    """A machine that does what the test says; all its calls are written down."""

    kind, state, protocol_type = "classic", "Empty", ""
    has_members, empty_since_ms, held_bytes = False, 1, 0

    def __init__(self, group_id: str = "g") -> None:
        self.group_id = group_id
        self.deadline_ms = NEVER_MS
        self.next_deadline_ms = NEVER_MS
        self.after_store: list[Action] = []
        self.after_advance: list[Action] = []
        self.stored_with: list[ErrorCode] = []
        self.advanced_ms: list[int] = []

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """A store was done."""
        self.stored_with.append(error)
        return self.after_store

    def advance(self, now_ms: int) -> list[Action]:
        """Time has passed."""
        self.advanced_ms.append(now_ms)
        self.deadline_ms = self.next_deadline_ms
        return self.after_advance

    def tombstones(self) -> list[Record]:
        """One."""
        return [Record(b"\x00\x02" + self.group_id.encode(), None)]


class FakeTopic:
    """Takes records, or refuses."""

    def __init__(self) -> None:
        self.appended: list[tuple[str, list[Record]]] = []
        self.error: ErrorCode | None = None
        self.flushing: Deferred[int] | None = None

    def append(self, group_id: str, records: Sequence[Record]) -> Deferred[int] | None:
        """Keep them."""
        if self.error is not None:
            raise RequestError(self.error)
        self.appended.append((group_id, list(records)))
        return self.flushing


class GroupsTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """One group, of a machine that the test plays."""
        super().setUp()
        self.groups = self.broker.groups
        self.topic = FakeTopic()
        self.patch(self.groups.topic, "append", self.topic.append)
        self.group = self.make_group()
        self.groups.add(self.group)
        self.delayed = len(self.clock.getDelayedCalls())

    def make_group(self) -> Any:
        """A group of that name."""
        return FakeGroup()

    def ask(self, *actions: Action) -> Any:  # type: ignore[override]
        """Ask the group; it gives *actions*, with ``Ellipsis`` for the token of this request."""

        def call(token: object, now_ms: int) -> list[Action]:
            return [
                Answer(token, a.response) if isinstance(a, Answer) and a.token is ... else a for a in actions
            ]

        return self.groups.ask(self.group, call)

    def wait(self) -> tuple[Any, Deferred[Any]]:
        """Ask something that is not answered yet; gives the token and what waits."""
        tokens: list[Any] = []

        def call(token: object, now_ms: int) -> list[Action]:
            tokens.append(token)
            return []

        waiting: Any = self.groups.ask(self.group, call)
        self.assertNoResult(waiting)
        return tokens[0], waiting

    @property
    def timers(self) -> int:
        """How many timers there are beside those of the broker."""
        return len(self.clock.getDelayedCalls()) - self.delayed


class AskTests(GroupsTestCase):
    def test_at_once(self) -> None:
        """An answer that comes at once is given as it is: it costs no Deferred."""
        self.assertEqual(self.ask(Answer(..., "yes")), "yes")

    def test_later(self) -> None:
        """An answer that comes with a later call fires the Deferred, once."""
        token, waiting = self.wait()
        self.assertEqual(self.ask(Answer(token, "later"), Answer(..., "now")), "now")
        self.assertEqual(self.successResultOf(waiting), "later")

    def test_cancelled(self) -> None:
        """A request whose connection has gone is not answered, and that disturbs nobody."""
        token, waiting = self.wait()
        other_token, other = self.wait()
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.ask(Answer(token, "lost"), Answer(other_token, "found"), Answer(..., ""))
        self.assertEqual(self.successResultOf(other), "found")

    def test_not_in_the_middle(self) -> None:
        """Whoever asks again from within its answer finds that all of the call has been done."""
        token, waiting = self.wait()
        seen: list[Any] = []
        waiting.addCallback(
            lambda _: seen.extend([list(self.topic.appended), self.ask(Answer(..., "again"))])
        )
        self.ask(Answer(token, "first"), Store(RECORDS), Answer(..., "own"))
        self.assertEqual(seen, [[("g", RECORDS)], "again"])

    def test_group_id(self) -> None:
        """An empty id is one for offsets only, any other is one for everything."""
        check = self.groups.check
        self.assertEqual(check(""), ErrorCode.INVALID_GROUP_ID)
        self.assertEqual(check("", may_be_empty=True), ErrorCode.NONE)
        self.assertEqual(check("x" * 300), ErrorCode.NONE)


class StoreTests(GroupsTestCase):
    def test_stored(self) -> None:
        """Records are appended, the machine hears of it, and what it then wants comes before the rest."""
        token, waiting = self.wait()
        order: list[str] = []
        waiting.addCallback(order.append)
        second, later = self.wait()
        later.addCallback(order.append)
        self.group.after_store = [Answer(token, "stored")]
        self.ask(Store(RECORDS), Answer(second, "after"), Answer(..., ""))
        self.assertEqual(order, ["stored", "after"])
        self.assertEqual(self.topic.appended, [("g", RECORDS)])
        self.assertEqual(self.group.stored_with, [ErrorCode.NONE])

    def test_not_stored(self) -> None:
        """The machine hears why its records could not be appended."""
        self.topic.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.ask(Store(RECORDS), Answer(..., ""))
        self.assertEqual(self.group.stored_with, [ErrorCode.COORDINATOR_NOT_AVAILABLE])

    def test_flushed(self) -> None:
        """With ``flush.messages`` the machine hears of it, and goes on, when the disk has it."""
        token, waiting = self.wait()
        self.topic.flushing = Deferred()
        self.group.after_store = [Answer(token, "stored")]
        self.ask(Store(RECORDS), Answer(..., ""))
        self.assertNoResult(waiting)
        self.topic.flushing.callback(1)
        self.assertEqual(self.successResultOf(waiting), "stored")
        self.assertEqual(self.group.stored_with, [ErrorCode.NONE])

    def test_deleted(self) -> None:
        """A group is gone when its tombstone is written; who asked for that hears when the disk has it."""
        self.topic.flushing = Deferred()
        deleting = Deferred.fromCoroutine(self.groups.delete(self.group))
        self.assertIsNone(self.groups.find("g"))
        self.assertNoResult(deleting)
        self.topic.flushing.errback(OSError(5, "bad disk"))
        self.assertEqual(self.successResultOf(deleting), ErrorCode.NOT_COORDINATOR)

    def test_replaced(self) -> None:
        """A group that changes its protocol has another in its place, which stores what comes then."""
        other = self.make_group()
        other.deadline_ms = 5000
        self.group.deadline_ms = 1000
        self.assertEqual(self.ask(Replace(other), Store(RECORDS), Answer(..., "new")), "new")
        self.assertIs(self.groups.find("g"), other)
        self.assertEqual((self.group.stored_with, other.stored_with), ([], [ErrorCode.NONE]))
        self.clock.advance(5)
        self.assertEqual((self.group.advanced_ms, other.advanced_ms), ([], [5000]))

    def test_unused(self) -> None:
        """A group that nobody was ever in is forgotten, unless there are offsets or it waits for somebody."""
        self.group.empty_since_ms = -1
        self.group.deadline_ms = 1000
        self.ask(Answer(..., ""))
        self.assertIsNotNone(self.groups.find("g"))
        self.group.deadline_ms = NEVER_MS
        self.groups.offsets.set("g", "t", 0, Committed(1))
        self.ask(Answer(..., ""))
        self.assertIsNotNone(self.groups.find("g"))
        self.groups.offsets.remove("g")
        self.ask(Answer(..., ""))
        self.assertIsNone(self.groups.find("g"))

    def test_told(self) -> None:
        """What a machine tells is a line of the log, in which no peer's text can do harm."""
        with capturedLogs() as events:
            self.ask(LogLine("{group}: {reason}, {count}", {"reason": "a\nb", "count": 3}), Answer(..., ""))
            self.ask(LogLine("{group} is late", {}, warn=True), Answer(..., ""))
        self.assertEqual([e["log_level"] for e in events], [LogLevel.info, LogLevel.warn])
        self.assertEqual((events[0]["group"], events[0]["reason"], events[0]["count"]), ("'g'", r"'a\nb'", 3))


class TimerTests(GroupsTestCase):
    def beat(self, deadline_ms: int) -> None:
        """A call that moves the deadline."""
        self.group.deadline_ms = deadline_ms
        self.ask(Answer(..., ""))

    def test_due(self) -> None:
        """The machine is called when its deadline has come, and then again as it says."""
        self.group.next_deadline_ms = 5000
        self.beat(1000)
        self.clock.advance(0.999)
        self.assertEqual(self.group.advanced_ms, [])
        self.clock.advance(0.001)
        self.assertEqual(self.group.advanced_ms, [1000])
        self.group.next_deadline_ms = NEVER_MS
        self.clock.advance(4)
        self.assertEqual((self.group.advanced_ms, self.timers), ([1000, 5000], 0))

    def test_heartbeats_cost_no_timer(self) -> None:
        """A deadline that moves away is looked at when the timer comes, not before."""
        made: list[float] = []
        call_later = self.clock.callLater

        def counted(seconds: float, *what: Any) -> Any:
            made.append(seconds)
            return call_later(seconds, *what)

        self.patch(self.clock, "callLater", counted)
        for second in range(9):
            self.beat(second * 1000 + 10_000)
            self.clock.advance(1)
        self.assertEqual(made, [10.0])
        self.clock.advance(1)
        self.assertEqual((made, self.group.advanced_ms), ([10.0, 8.0], []))
        self.clock.advance(8)
        self.assertEqual(self.group.advanced_ms, [18_000])

    def test_earlier(self) -> None:
        """A deadline that comes nearer is kept."""
        self.beat(10_000)
        self.beat(1000)
        self.assertEqual(self.timers, 1)
        self.clock.advance(1)
        self.assertEqual(self.group.advanced_ms, [1000])

    def test_advance_answers(self) -> None:
        """What a machine wants when time has passed is done."""
        token, waiting = self.wait()
        self.group.after_advance = [Store(RECORDS), Answer(token, "time")]
        self.beat(1)
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(waiting), "time")
        self.assertEqual(self.topic.appended, [("g", RECORDS)])

    def test_another_in_its_place(self) -> None:
        """A group that has another in its place is not called any more, whatever it still wants."""
        self.beat(1000)
        other = self.make_group()
        other.deadline_ms = 2000
        self.groups.add(other)
        self.assertIs(self.groups.find("g"), other)
        self.beat(500)  # an action that was under way
        self.clock.advance(1)
        self.clock.advance(1)
        self.assertEqual((self.group.advanced_ms, other.advanced_ms), ([], [2000]))

    def test_removed(self) -> None:
        """A group that is gone leaves no timer."""
        self.beat(1000)
        self.groups.remove("g")
        self.groups.remove("g")
        self.assertEqual((self.timers, self.groups.find("g")), (0, None))

    def test_stop(self) -> None:
        """After a stop no machine is called."""
        self.beat(1000)
        self.groups.stop()
        self.assertEqual(self.timers, 0)

    def test_clock_set_back(self) -> None:
        """When the wall clock is set back, the machines' time runs on from where it was."""
        self.clock.advance(100)
        before_ms = self.groups.now_ms()
        self.clock.rightNow -= 50
        self.assertEqual(self.groups.now_ms(), before_ms)
        self.clock.advance(1)
        self.assertEqual(self.groups.now_ms(), before_ms + 1000)
