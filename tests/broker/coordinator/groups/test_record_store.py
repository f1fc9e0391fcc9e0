"""Stores of groups that wait until they are committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.coordinator.groups.record_store import RecordStore
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Record

RECORDS = [Record(b"key", b"value")]
NONE, STALE = ErrorCode.NONE, ErrorCode.NOT_COORDINATOR


class FakeGroup:
    """A group with an id."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id


class StoringTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a store that records its calls."""
        self.told: list[tuple[str, ErrorCode]] = []
        self.results: list[Any] = []
        self.storing = RecordStore(
            self.append, lambda group, error: self.told.append((group.group_id, error))
        )

    def append(self, records: Sequence[Record]) -> Deferred[None] | None:
        """Return or raise the next of the results."""
        self.assertEqual(records, RECORDS)
        result: Deferred[None] | RequestError | None = self.results.pop(0)
        if isinstance(result, RequestError):
            raise result
        return result

    def store(self, result: Any, group_id: str = "g") -> ErrorCode | None:
        """Store a record for which the log returns *result*."""
        group: Any = FakeGroup(group_id)
        self.results.append(result)
        return self.storing.store(group, RECORDS)

    def test_at_once(self) -> None:
        """A store without a flush returns its code at once, and the group is not called."""
        self.assertIs(self.store(None), NONE)
        refused = RequestError(ErrorCode.NOT_COORDINATOR)
        self.assertIs(self.store(refused), ErrorCode.NOT_COORDINATOR)
        self.assertEqual(self.told, [])

    def test_later(self) -> None:
        """A group is told when its records are committed, or are not; then the next store starts afresh."""
        for failure, error in ((None, NONE), (RequestError(STALE), STALE)):
            committing: Deferred[None] = Deferred()
            self.assertIsNone(self.store(committing))
            self.assertEqual(self.told, [])
            self.assertTrue(self.storing.is_storing("g"))
            committing.callback(None) if failure is None else committing.errback(failure)
            self.assertEqual(self.told, [("g", error)])
            self.told.clear()
            self.assertFalse(self.storing.is_storing("g"))
        self.assertIs(self.store(None), NONE)

    def test_in_order(self) -> None:
        """The stores of a group end in order, whichever flush ends first; other groups do not wait."""
        first: Deferred[None] = Deferred()
        second: Deferred[None] = Deferred()
        self.assertIsNone(self.store(first))
        self.assertIsNone(self.store(second))
        self.assertIsNone(self.store(RequestError(ErrorCode.NOT_COORDINATOR)))
        self.assertIs(self.store(None, "other"), NONE)
        second.callback(None)
        self.assertEqual(self.told, [])
        first.callback(None)
        self.assertEqual(self.told, [("g", NONE), ("g", NONE), ("g", ErrorCode.NOT_COORDINATOR)])

    def test_stopped(self) -> None:
        """After a stop nothing is appended, and no group is told of what was under way."""
        committing: Deferred[None] = Deferred()
        self.store(committing)
        self.storing.stop()
        committing.callback(None)
        self.assertEqual(self.told, [])
        self.assertIs(self.store(None), STALE)
        self.assertEqual(self.results, [None])

    def test_stopped_by_a_group(self) -> None:
        """A group that is told may cause the stop; those after it are not told."""
        first: Deferred[None] = Deferred()
        second: Deferred[None] = Deferred()
        self.store(first)
        self.store(second)
        second.callback(None)
        self.patch(self.storing, "_stored", lambda group, error: self.storing.stop())
        first.callback(None)
        self.assertEqual(self.told, [])
