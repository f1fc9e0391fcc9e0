"""The store of the records of groups: it appends what their machines want stored, and reports in order.

It touches the log, through the function that it is given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from twisted.internet.defer import Deferred

from kafkatx.broker.coordinator.runtime.record_writer import outcome
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Group, Record

Append = Callable[[Sequence[Record]], "Deferred[None] | None"]
"""Appends records as :meth:`kafkatx.broker.coordinator.runtime.record_writer.RecordWriter.append` does."""


class _Store:
    """A store that is not reported yet; its error is None while it waits to be committed."""

    __slots__ = ("error", "group")

    def __init__(self, group: Group, error: ErrorCode | None) -> None:
        self.group = group
        self.error = error


class RecordStore:
    """Appends records at once; reports later where a writer has to wait until they are committed.

    :param stored: called with the group and NONE or the error, for each store that was not done at once.
    """

    def __init__(self, append: Append, stored: Callable[[Group, ErrorCode], None]) -> None:
        self._append = append
        self._stored = stored
        self._waiting: dict[str, deque[_Store]] = {}
        self._stopped = False

    def store(self, group: Group, records: Sequence[Record]) -> ErrorCode | None:
        """Append the records of a group; return NONE or the error, or None if that is reported later."""
        if self._stopped:
            return ErrorCode.NOT_COORDINATOR
        error, committed = ErrorCode.NONE, None
        try:
            committed = self._append(records)
        except RequestError as refused:
            error = refused.code
        if committed is None and group.group_id not in self._waiting:
            return error
        store = _Store(group, error if committed is None else None)
        self._waiting.setdefault(group.group_id, deque()).append(store)
        if committed is not None:
            Deferred.fromCoroutine(outcome(committed)).addCallback(partial(self._end, store))
        return None

    def is_storing(self, group_id: str) -> bool:
        """Return True if a store of the group is not reported yet."""
        return bool(self._waiting.get(group_id))

    def _end(self, store: _Store, error: ErrorCode) -> None:
        """End a store, and report those of its group that are done, up to the first that is not."""
        store.error = error
        group_id = store.group.group_id
        waiting = self._waiting.get(group_id, deque())
        while waiting and (error_of_first := waiting[0].error) is not None:
            self._stored(waiting.popleft().group, error_of_first)
        if not waiting:
            self._waiting.pop(group_id, None)

    def stop(self) -> None:
        """Append nothing and report no store any more."""
        self._stopped = True
        for waiting in self._waiting.values():
            waiting.clear()
        self._waiting.clear()
