"""The actions of group state machines: answers, records, timers and log lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.coordinator.runtime.partition_hash import partition_for
from kafkatx.broker.replica.partition import Partition
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import NEVER_MS, Action, Answer, LogLine, Record, Replace, Store
from kafkatx.group.offset_records import Committed
from tests.broker.running import BrokerTestCase

RECORDS = [Record(b"\x00\x02key", b"value")]
NUMBER = partition_for("g", 50)
"""The partition of group ``g``."""


class FakeGroup:
    """A group state machine scripted by the test, which records its calls."""

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
        """Record that a store is done."""
        self.stored_with.append(error)
        return self.after_store

    def advance(self, now_ms: int) -> list[Action]:
        """Record the time."""
        self.advanced_ms.append(now_ms)
        self.deadline_ms = self.next_deadline_ms
        return self.after_advance

    def tombstones(self) -> list[Record]:
        """Return one tombstone."""
        return [Record(b"\x00\x02" + self.group_id.encode(), None)]


class FakeWriter:
    """A writer of records that takes them, or refuses them."""

    def __init__(self) -> None:
        self.appended: list[tuple[int, list[Record]]] = []
        self.error: ErrorCode | None = None
        self.committing: Deferred[None] | None = None

    def append(self, partition: Partition, records: Sequence[Record]) -> Deferred[None] | None:
        """Keep the records, or fail."""
        if self.error is not None:
            raise RequestError(self.error)
        self.appended.append((partition.topic_partition.partition, list(records)))
        return self.committing


class GroupsTestCase(BrokerTestCase):
    def setUp(self) -> None:
        """Make one group, whose state machine the test plays."""
        super().setUp()
        self.groups = self.broker.groups
        self.writer = FakeWriter()
        self.successResultOf(self.groups.topic.ensure())
        self.patched = self.patch(self.groups.writer, "append", self.writer.append)
        self.group = self.make_group()
        self.groups.add(self.group)
        self.delayed = len(self.clock.getDelayedCalls())

    def make_group(self) -> Any:
        """Return the group scripted by the test."""
        return FakeGroup()

    def ask(self, *actions: Action) -> Any:  # type: ignore[override]
        """Call the group, which returns *actions*; ``Ellipsis`` stands for this request's token."""

        def call(token: object, now_ms: int) -> list[Action]:
            return [
                Answer(token, a.response) if isinstance(a, Answer) and a.token is ... else a for a in actions
            ]

        return self.groups.ask(self.group, call)

    def wait(self) -> tuple[Any, Deferred[Any]]:
        """Make a request that is not answered yet; return its token and the Deferred."""
        tokens: list[Any] = []

        def call(token: object, now_ms: int) -> list[Action]:
            tokens.append(token)
            return []

        waiting: Any = self.groups.ask(self.group, call)
        self.assertNoResult(waiting)
        return tokens[0], waiting

    @property
    def timers(self) -> int:
        """Return the number of timers beside those of the broker."""
        return len(self.clock.getDelayedCalls()) - self.delayed


class AskTests(GroupsTestCase):
    def test_at_once(self) -> None:
        """An answer that is ready at once is returned as it is, without a Deferred."""
        self.assertEqual(self.ask(Answer(..., "yes")), "yes")

    def test_later(self) -> None:
        """An answer from a later call fires the Deferred, once."""
        token, waiting = self.wait()
        self.assertEqual(self.ask(Answer(token, "later"), Answer(..., "now")), "now")
        self.assertEqual(self.successResultOf(waiting), "later")

    def test_cancelled(self) -> None:
        """A request whose connection is lost is not answered, and other requests are unaffected."""
        token, waiting = self.wait()
        other_token, other = self.wait()
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.ask(Answer(token, "lost"), Answer(other_token, "found"), Answer(..., ""))
        self.assertEqual(self.successResultOf(other), "found")

    def test_not_in_the_middle(self) -> None:
        """A request made from within an answer finds the whole previous call completed."""
        token, waiting = self.wait()
        seen: list[Any] = []
        waiting.addCallback(
            lambda _: seen.extend([list(self.writer.appended), self.ask(Answer(..., "again"))])
        )
        self.ask(Answer(token, "first"), Store(RECORDS), Answer(..., "own"))
        self.assertEqual(seen, [[(NUMBER, RECORDS)], "again"])

    def test_group_id(self) -> None:
        """An empty group id is valid for offsets only, any other for every API."""
        check = self.groups.check
        self.assertEqual(check(""), ErrorCode.INVALID_GROUP_ID)
        self.assertEqual(check("", may_be_empty=True), ErrorCode.NONE)
        self.assertEqual(check("x" * 300), ErrorCode.NONE)


class StoreTests(GroupsTestCase):
    def test_stored(self) -> None:
        """Records are appended, the group is told, and its next actions run before the remaining ones."""
        token, waiting = self.wait()
        order: list[str] = []
        waiting.addCallback(order.append)
        second, later = self.wait()
        later.addCallback(order.append)
        self.group.after_store = [Answer(token, "stored")]
        self.ask(Store(RECORDS), Answer(second, "after"), Answer(..., ""))
        self.assertEqual(order, ["stored", "after"])
        self.assertEqual(self.writer.appended, [(NUMBER, RECORDS)])
        self.assertEqual(self.group.stored_with, [ErrorCode.NONE])

    def test_not_stored(self) -> None:
        """The group is told why its records could not be appended."""
        self.writer.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.ask(Store(RECORDS), Answer(..., ""))
        self.assertEqual(self.group.stored_with, [ErrorCode.COORDINATOR_NOT_AVAILABLE])

    def test_flushed(self) -> None:
        """The group continues when its records are on disk, if ``flush.messages`` asks for that."""
        token, waiting = self.wait()
        self.writer.committing = Deferred()
        self.group.after_store = [Answer(token, "stored")]
        self.ask(Store(RECORDS), Answer(..., ""))
        self.assertNoResult(waiting)
        self.writer.committing.callback(None)
        self.assertEqual(self.successResultOf(waiting), "stored")
        self.assertEqual(self.group.stored_with, [ErrorCode.NONE])

    def test_deleted(self) -> None:
        """A group is removed when its tombstone is written; the request is answered when that is on disk."""
        self.writer.committing = Deferred()
        deleting = Deferred.fromCoroutine(self.groups.delete(self.group))
        self.assertIsNone(self.groups.find("g"))
        self.assertNoResult(deleting)
        self.writer.committing.errback(RequestError(ErrorCode.NOT_COORDINATOR))
        self.assertEqual(self.successResultOf(deleting), ErrorCode.NOT_COORDINATOR)

    def test_deleted_while_it_stores(self) -> None:
        """A group of which a store is under way is not deleted: what it stores next would bring it back."""
        self.writer.committing = Deferred()
        self.ask(Store(RECORDS), Answer(..., ""))
        deleting = Deferred.fromCoroutine(self.groups.delete(self.group))
        self.assertEqual(self.successResultOf(deleting), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        committing, self.writer.committing = self.writer.committing, None
        committing.callback(None)
        deleting = Deferred.fromCoroutine(self.groups.delete(self.group))
        self.assertEqual(self.successResultOf(deleting), ErrorCode.NONE)
        self.assertIsNone(self.groups.find("g"))

    def test_replaced(self) -> None:
        """A group that changes its protocol is replaced by another, which stores the next records."""
        other = self.make_group()
        other.deadline_ms = 5000
        self.group.deadline_ms = 1000
        self.assertEqual(self.ask(Replace(other), Store(RECORDS), Answer(..., "new")), "new")
        self.assertIs(self.groups.find("g"), other)
        self.assertEqual((self.group.stored_with, other.stored_with), ([], [ErrorCode.NONE]))
        self.clock.advance(5)
        self.assertEqual((self.group.advanced_ms, other.advanced_ms), ([], [5000]))

    def test_unused(self) -> None:
        """A group that never had members is forgotten, unless it has offsets or a deadline."""
        self.group.empty_since_ms = -1
        self.group.deadline_ms = 1000
        self.ask(Answer(..., ""))
        self.assertIsNotNone(self.groups.find("g"))
        self.group.deadline_ms = NEVER_MS
        self.groups.offsets_of("g").set("g", "t", 0, Committed(1))
        self.ask(Answer(..., ""))
        self.assertIsNotNone(self.groups.find("g"))
        self.groups.offsets_of("g").remove("g")
        self.ask(Answer(..., ""))
        self.assertIsNone(self.groups.find("g"))

    def test_told(self) -> None:
        """A log line of a group has the text of peers escaped."""
        with capturedLogs() as events:
            self.ask(LogLine("{group}: {reason}, {count}", {"reason": "a\nb", "count": 3}), Answer(..., ""))
            self.ask(LogLine("{group} is late", {}, warn=True), Answer(..., ""))
        self.assertEqual([e["log_level"] for e in events], [LogLevel.info, LogLevel.warn])
        self.assertEqual((events[0]["group"], events[0]["reason"], events[0]["count"]), ("'g'", r"'a\nb'", 3))


class TimerTests(GroupsTestCase):
    def beat(self, deadline_ms: int) -> None:
        """Make a call that moves the deadline."""
        self.group.deadline_ms = deadline_ms
        self.ask(Answer(..., ""))

    def test_due(self) -> None:
        """The group is called at its deadline, and then again at the next one."""
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
        """A deadline that moves away leaves the timer as it is until it fires."""
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
        """A deadline that moves nearer is kept."""
        self.beat(10_000)
        self.beat(1000)
        self.assertEqual(self.timers, 1)
        self.clock.advance(1)
        self.assertEqual(self.group.advanced_ms, [1000])

    def test_advance_answers(self) -> None:
        """The actions that a group returns when time has passed are performed."""
        token, waiting = self.wait()
        self.group.after_advance = [Store(RECORDS), Answer(token, "time")]
        self.beat(1)
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(waiting), "time")
        self.assertEqual(self.writer.appended, [(NUMBER, RECORDS)])

    def test_another_in_its_place(self) -> None:
        """A replaced group is not called any more, and its remaining actions are dropped."""
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
        """A removed group leaves no timer."""
        self.beat(1000)
        self.groups.remove("g")
        self.groups.remove("g")
        self.assertEqual((self.timers, self.groups.find("g")), (0, None))

    def test_stop(self) -> None:
        """No group is called after a stop."""
        self.beat(1000)
        self.groups.stop()
        self.assertEqual(self.timers, 0)

    def test_clock_set_back(self) -> None:
        """The groups' time continues from where it was when the wall clock is set back."""
        self.clock.advance(100)
        before_ms = self.groups.now_ms()
        self.clock.rightNow -= 50
        self.assertEqual(self.groups.now_ms(), before_ms)
        self.clock.advance(1)
        self.assertEqual(self.groups.now_ms(), before_ms + 1000)
