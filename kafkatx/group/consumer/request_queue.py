"""The requests of a consumer group: served one by one, and stored before they are answered. Pure.

The changes of a request are made at once and stored as one batch. The answer is sent when they are stored; if
storing fails, the changes are rolled back. Requests that arrive meanwhile wait in the queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Action, Answer, Group, LogLine, Record, Replace, Store
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.consumer.records import Change, Kind, encode
from kafkatx.wire.schema import Message

Refuse: TypeAlias = Callable[[ErrorCode, str], Message]
"""Makes the response of a refused request."""

Then: TypeAlias = Callable[[int], "list[Action]"]
"""Called with the time after records are stored; returns the next actions."""

Failed: TypeAlias = Callable[[ErrorCode], "list[Action]"]
"""Called with the error if records cannot be stored; returns the next actions."""


class PendingRequest:
    """A request that is not answered yet.

    :ivar work: serves the request.
    """

    __slots__ = ("_refuse", "token", "work")

    def __init__(self, token: object, refuse: Refuse, work: Work) -> None:
        self.token = token
        self._refuse = refuse
        self.work = work

    def answer(self, response: Message) -> list[Action]:
        """Return the action that answers the request."""
        return [Answer(self.token, response)]

    def refused(self, code: ErrorCode, message: str = "") -> list[Action]:
        """Return the action that answers the request with an error."""
        return self.answer(self._refuse(code, message or code.name))


Work: TypeAlias = Callable[[PendingRequest, int], "list[Action]"]
"""Serves a request at the given time; raises RequestError to refuse it."""


class RequestQueue:
    """Serves the requests of a group and stores their changes.

    :ivar rebalance: the group's state and the steps of a rebalance.
    :ivar waiting: the callbacks of the store that is under way, or None.
    :ivar is_replaced: another group has taken the place of this one.
    :ivar emptied_ms: the time when the last member left, on the wall clock; -1 if there are members.
    """

    def __init__(self, rebalance: Rebalance) -> None:
        self.rebalance = rebalance
        self.waiting: tuple[Then, Failed] | None = None
        self.is_replaced = False
        self.emptied_ms = -1
        self._queue: deque[PendingRequest] = deque()

    def submit(self, token: object, refuse: Refuse, work: Work, now_ms: int) -> list[Action]:
        """Serve a request at once, or after the store that is under way."""
        request = PendingRequest(token, refuse, work)
        if self.waiting is not None:
            self._queue.append(request)
            return []
        return self._serve(request, now_ms)

    def _serve(self, request: PendingRequest, now_ms: int) -> list[Action]:
        try:
            return request.work(request, now_ms)
        except RequestError as error:
            self.roll_back()
            return request.refused(error.code, str(error))
        except BaseException:
            self.roll_back()
            raise

    def write(self, then: Then, failed: Failed) -> list[Action]:
        """Store the changes and continue with *then*; continue at once if there are none."""
        changes = self.rebalance.state.changes
        if not changes:
            return [*self._commit(), *then(0)]
        return self.store(self.encoded(changes), lambda now_ms: [*self._commit(), *then(now_ms)], failed)

    def encoded(self, changes: Iterable[Change]) -> list[Record]:
        """Return the records of some changes."""
        return [encode(self.rebalance.group_id, change) for change in changes]

    def store(self, records: list[Record], then: Then, failed: Failed) -> list[Action]:
        """Store records, then continue with *then* or *failed*."""
        self.waiting = (then, failed)
        return [Store(records)]

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """Continue after the store that was under way, then serve the queued requests."""
        assert self.waiting is not None
        (then, failed), self.waiting = self.waiting, None
        if error:
            self.roll_back()
        actions = failed(error) if error else then(now_ms)
        while self._queue and self.waiting is None:
            request = self._queue.popleft()
            if self.is_replaced:
                actions += request.refused(ErrorCode.NOT_COORDINATOR)  # the client retries, at the new group
            else:
                actions += self._serve(request, now_ms)
        return actions

    def _commit(self) -> list[Action]:
        """Keep the changes and call what waits for that; return a line for the log."""
        rebalance = self.rebalance
        lines = self._log_lines(rebalance.state.changes)
        rebalance.state.commit()
        later, rebalance.later = rebalance.later, []
        for call in later:
            call()
        if rebalance.state.members:
            self.emptied_ms = -1
        elif self.emptied_ms < 0:
            self.emptied_ms = rebalance.wall_ms()
        return lines

    def _log_lines(self, changes: list[Change]) -> list[Action]:
        if not any(change.kind is Kind.GROUP_EPOCH for change in changes):
            return []
        state = self.rebalance.state
        text = "group {group} rebalances: epoch {epoch}, {members} members, {topics} topics"
        return [
            LogLine(text, {"epoch": state.epoch, "members": len(state.members), "topics": len(state.topics)})
        ]

    def roll_back(self) -> None:
        """Undo the changes that are not stored."""
        self.rebalance.state.roll_back()
        self.rebalance.later.clear()

    def replace(self, group: Group) -> Replace:
        """Return the action that puts another group in the place of this one."""
        self.is_replaced = True
        return Replace(group)
