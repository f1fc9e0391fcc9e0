"""The store of group records: it appends what the machines of groups want stored, and reports in order.

It touches :class:`kafkatx.broker.coordinator.offsets_topic.OffsetsTopic` only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.broker.coordinator.offsets_topic import TO_CLIENTS, OffsetsTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Group, Record

NOT_FLUSHED = TO_CLIENTS[ErrorCode.KAFKA_STORAGE_ERROR]
"""The error that members are told if flushing written records has failed."""


class _Store:
    """A store that is not reported yet; its error is None while it waits for the disk."""

    __slots__ = ("error", "group")

    def __init__(self, group: Group, error: ErrorCode | None) -> None:
        self.group = group
        self.error = error


class RecordStore:
    """Appends records at once; reports later where ``flush.messages`` makes writers wait for the disk.

    :param stored: called with the group and NONE or the error, for each store that was not done at once.
    """

    _log = Logger()

    def __init__(self, topic: OffsetsTopic, stored: Callable[[Group, ErrorCode], None]) -> None:
        self._topic = topic
        self._stored = stored
        self._waiting: dict[str, deque[_Store]] = {}

    def store(self, group: Group, records: Sequence[Record]) -> ErrorCode | None:
        """Append the records of a group; return NONE or the error, or None if that is reported later."""
        error, flushing = ErrorCode.NONE, None
        try:
            flushing = self._topic.append(group.group_id, records)
        except RequestError as refused:
            error = refused.code
        if flushing is None and group.group_id not in self._waiting:
            return error
        store = _Store(group, error if flushing is None else None)
        self._waiting.setdefault(group.group_id, deque()).append(store)
        if flushing is not None:
            flushing.addBoth(self._flushed, store)
        return None

    def _flushed(self, result: object, store: _Store) -> None:
        store.error = ErrorCode.NONE
        if isinstance(result, Failure):
            store.error = NOT_FLUSHED
            if not result.check(OSError):
                self._log.failure("flushing __consumer_offsets failed", result)
        self._report(store.group.group_id)

    def _report(self, group_id: str) -> None:
        """Report the stores that are done, up to the first of the group that is not."""
        waiting = self._waiting[group_id]
        while waiting and (error := waiting[0].error) is not None:
            self._stored(waiting.popleft().group, error)
        if not waiting:
            self._waiting.pop(group_id, None)


async def flushed(flushing: Deferred[int] | None) -> ErrorCode:
    """Wait for a flush, if there is one; return NONE or the error for clients."""
    if flushing is not None:
        try:
            await flushing
        except OSError:
            return NOT_FLUSHED
    return ErrorCode.NONE
