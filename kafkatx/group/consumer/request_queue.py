"""The ground of a group of KIP-848: requests are served one by one, and written before they are answered.

A request's changes are made at once and written as one batch. The answer goes when they are written; if they
cannot be, they are taken back. Requests that come meanwhile wait for that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.actions import Action, Answer, LogLine, Record, Replace, Store
from kafkatx.group.consumer.rebalance import Rebalance
from kafkatx.group.consumer.records import Change, Kind, encode
from kafkatx.group.settings import GroupSettings
from kafkatx.types import ClusterState

Refuse: TypeAlias = Callable[[ErrorCode, str], Any]
"""Makes the response to a request that is refused."""

Then: TypeAlias = Callable[[int], "list[Action]"]
"""What is to be done when records are written; called with the time."""

Failed: TypeAlias = Callable[[ErrorCode], "list[Action]"]
"""What is to be done when they cannot be."""


class Asked:
    """A request: whom to answer, and how it is refused and served."""

    __slots__ = ("_refuse", "token", "work")

    def __init__(self, token: object, refuse: Refuse, work: Work) -> None:
        self.token = token
        self._refuse = refuse
        self.work = work

    def answer(self, response: Any) -> list[Action]:
        """Give the response."""
        return [Answer(self.token, response)]

    def refused(self, code: ErrorCode, message: str = "") -> list[Action]:
        """Give the response with an error."""
        return self.answer(self._refuse(code, message or code.name))


Work: TypeAlias = Callable[[Asked, int], "list[Action]"]
"""Serves a request at a time; raises RequestError to refuse it."""


class Serving:
    """A group that serves requests, whatever they are.

    :param settings: gives the settings as they are now.
    :param cluster: gives the topics as they are now.
    :param new_member_id: gives a new member id that begins with its argument.
    :param wall_ms: the wall clock, for times that are stored.
    """

    def __init__(
        self,
        group_id: str,
        settings: Callable[[], GroupSettings],
        cluster: Callable[[], ClusterState],
        new_member_id: Callable[[str], str],
        wall_ms: Callable[[], int],
    ) -> None:
        self.group_id = group_id
        self._rebalance = Rebalance(group_id, settings, cluster, wall_ms)
        self._new_member_id = new_member_id
        self._wall_ms = wall_ms
        self._writing: tuple[Then, Failed] | None = None
        self._queue: deque[Asked] = deque()
        self._is_replaced = False
        self._emptied_ms = -1

    def _ask(self, token: object, refuse: Refuse, work: Work, now_ms: int) -> list[Action]:
        """Serve a request, at once or when what is being written is written."""
        asked = Asked(token, refuse, work)
        if self._writing is not None:
            self._queue.append(asked)
            return []
        return self._serve(asked, now_ms)

    def _serve(self, asked: Asked, now_ms: int) -> list[Action]:
        try:
            return asked.work(asked, now_ms)
        except RequestError as error:
            self._take_back()
            return asked.refused(error.code, str(error))
        except BaseException:
            self._take_back()
            raise

    def _write(self, then: Then, failed: Failed) -> list[Action]:
        """Write what has changed and go on; where nothing has, go on."""
        changes = self._rebalance.state.changes
        if not changes:
            return [*self._keep(), *then(0)]
        return self._store(self._encoded(changes), lambda now_ms: [*self._keep(), *then(now_ms)], failed)

    def _encoded(self, changes: Iterable[Change]) -> list[Record]:
        return [encode(self.group_id, change) for change in changes]

    def _store(self, records: list[Record], then: Then, failed: Failed) -> list[Action]:
        self._writing = (then, failed)
        return [Store(records)]

    def stored(self, error: ErrorCode, now_ms: int) -> list[Action]:
        """The records are written, or not; then whoever came meanwhile is served."""
        assert self._writing is not None
        (then, failed), self._writing = self._writing, None
        if error:
            self._take_back()
        actions = failed(error) if error else then(now_ms)
        while self._queue and self._writing is None:
            asked = self._queue.popleft()
            if self._is_replaced:
                actions += asked.refused(ErrorCode.NOT_COORDINATOR)  # to be sent again, then to the new group
            else:
                actions += self._serve(asked, now_ms)
        return actions

    def _keep(self) -> list[Action]:
        """What has changed stays, and what hangs on it is done; gives a line for the log."""
        rebalance = self._rebalance
        told = self._told(rebalance.state.changes)
        rebalance.state.keep()
        later, rebalance.later = rebalance.later, []
        for do in later:
            do()
        if rebalance.state.members:
            self._emptied_ms = -1
        elif self._emptied_ms < 0:
            self._emptied_ms = self._wall_ms()
        return told

    def _told(self, changes: list[Change]) -> list[Action]:
        if not any(change.kind is Kind.GROUP_EPOCH for change in changes):
            return []
        state = self._rebalance.state
        text = "group {group} rebalances: epoch {epoch}, {members} members, {topics} topics"
        return [
            LogLine(text, {"epoch": state.epoch, "members": len(state.members), "topics": len(state.topics)})
        ]

    def _take_back(self) -> None:
        self._rebalance.state.take_back()
        self._rebalance.later.clear()

    def _replace(self, group: Any) -> Replace:
        """Another group is in this one's place from now on."""
        self._is_replaced = True
        return Replace(group)
