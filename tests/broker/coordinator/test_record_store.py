"""Stores of groups that wait for the disk."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.record_store import NOT_FLUSHED, RecordStore, flushed
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Record

RECORDS = [Record(b"key", b"value")]
NONE = ErrorCode.NONE


class FakeGroup:
    """A group with an id."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id


class FakeTopic:
    """A topic whose appends return or raise the entries of ``results``, one after the other."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def append(self, group_id: str, records: Any) -> Any:
        """Return or raise the next result."""
        result = self.results.pop(0)
        if isinstance(result, RequestError):
            raise result
        return result


class StoringTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make two groups that record their calls."""
        self.told: list[tuple[str, ErrorCode]] = []
        self.topic = FakeTopic()
        topic: Any = self.topic
        self.storing = RecordStore(topic, lambda group, error: self.told.append((group.group_id, error)))

    def store(self, result: Any, group_id: str = "g") -> ErrorCode | None:
        """Store a record for which the log returns *result*."""
        group: Any = FakeGroup(group_id)
        self.topic.results.append(result)
        return self.storing.store(group, RECORDS)

    def test_at_once(self) -> None:
        """A store without a flush returns its code at once, and the group is not called."""
        self.assertIs(self.store(None), NONE)
        refused = RequestError(ErrorCode.NOT_COORDINATOR)
        self.assertIs(self.store(refused), ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.told, [])

    def test_flushed(self) -> None:
        """A group is told when the flush succeeds or fails; then the next store starts afresh."""
        for result, error in ((1, NONE), (OSError(5, "bad disk"), NOT_FLUSHED)):
            flushing: Deferred[int] = Deferred()
            self.assertIsNone(self.store(flushing))
            self.assertEqual(self.told, [])
            (flushing.errback if isinstance(result, OSError) else flushing.callback)(result)  # type: ignore[arg-type]
            self.assertEqual(self.told, [("g", error)])
            self.told.clear()
        self.assertIs(self.store(None), NONE)

    def test_in_order(self) -> None:
        """The stores of a group end in order, whichever flush ends first; other groups do not wait."""
        first: Deferred[int] = Deferred()
        second: Deferred[int] = Deferred()
        self.assertIsNone(self.store(first))
        self.assertIsNone(self.store(second))
        self.assertIsNone(self.store(RequestError(ErrorCode.NOT_COORDINATOR)))
        self.assertIs(self.store(None, "other"), NONE)
        second.callback(2)
        self.assertEqual(self.told, [])
        first.callback(1)
        self.assertEqual(self.told, [("g", NONE), ("g", NONE), ("g", ErrorCode.NOT_COORDINATOR)])

    def test_bug(self) -> None:
        """A bug is logged with its traceback, and the group gets an error."""
        flushing: Deferred[int] = Deferred()
        self.store(flushing)
        flushing.errback(ZeroDivisionError())
        self.assertEqual(self.told, [("g", NOT_FLUSHED)])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_waiting(self) -> None:
        """A flush that is awaited without a group gives the same codes."""
        flushing: Deferred[int] = Deferred()
        waiting = Deferred.fromCoroutine(flushed(flushing))
        flushing.errback(OSError(5, "bad disk"))
        self.assertEqual(self.successResultOf(waiting), NOT_FLUSHED)
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(flushed(None))), NONE)
