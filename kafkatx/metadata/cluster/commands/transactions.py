"""Transactions of commands: planned by what the nodes say, made once, and shown in the state.

It touches the tree and the clock.

A transaction ends with a change record that has a mark of its own in ``by``. If the connection is lost
before the reply comes, the record is looked for when it is back: it is there if, and only if, the
transaction was made. One that another change has overtaken (BadVersion, for example) is planned again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    ConnectionLost,
    Create,
    NoNode,
    Operation,
    OperationError,
    Refused,
    SessionExpired,
)
from kafkatx.metadata.cluster.state.requests import each
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.layout import changes, paths
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.fields import UnreadableNode

T = TypeVar("T")

REQUEST_S = 30.0
"""Seconds after which a command that could not be made fails."""
PAUSE_S = 0.05
"""Seconds more between attempts after each that another change has overtaken, from the third on."""
MOST_PAUSE_S = 1.0


@attrs.frozen
class Plan:
    """A transaction that is to be made.

    :ivar record: its change record; ``by`` is filled in.
    """

    operations: Sequence[Operation]
    record: ChangeRecord


class Transactions:
    """Makes the transactions of one broker.

    :ivar broker_id: the id of this broker.
    """

    _log = Logger()

    def __init__(self, tree: ITree, clock: IReactorTime, view: View) -> None:
        self.broker_id = -1
        self._tree = tree
        self._clock = clock
        self._view = view
        self._number = 0

    async def make(self, plan: Callable[[], Awaitable[Plan | None]]) -> None:
        """Make a transaction; when this returns, the state shows it.

        :param plan: reads nodes and returns the transaction, or None if nothing is to be done; it may be
        called
            several times. Its RequestError ends the command.
        :raises RequestError: REQUEST_TIMED_OUT: the tree could not be reached in time; the change may be made
            nevertheless, if the connection was lost meanwhile. UNKNOWN_SERVER_ERROR: the server refuses it.
        """
        deadline_s = self._clock.seconds() + REQUEST_S

        async def attempt() -> int | None:
            planned = await plan()
            return None if planned is None else await self._commit(planned, deadline_s)

        sequence = await self.persist(attempt, deadline_s)
        if sequence is not None:
            shown = lambda: self._view.image.applied >= sequence  # noqa: E731
            if not await self._view.until(shown, deadline_s - self._clock.seconds()):
                raise timed_out()

    async def persist(self, attempt: Callable[[], Awaitable[T]], deadline_s: float | None = None) -> T:
        """Call *attempt* until it is not overtaken by another change and the connection is not lost.

        :param deadline_s: a time of the clock; by default in :data:`REQUEST_S`.
        :raises RequestError: as :meth:`make`, or as *attempt* does.
        """
        if deadline_s is None:
            deadline_s = self._clock.seconds() + REQUEST_S
        failures = 0
        while True:
            await self.connected(deadline_s)
            try:
                return await attempt()
            except Refused as error:
                self._log.error("a change was refused: {error}", error=error)
                raise RequestError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, f"The change was refused: {error}"
                ) from error
            except UnreadableNode as error:
                raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
            except OperationError as error:
                failures += 1
                self._log.debug("planned again: {error}", error=error)
                if failures > 2:
                    await self._view.until(_never, min(MOST_PAUSE_S, PAUSE_S * failures))
            except (ConnectionLost, SessionExpired):
                pass
            if self._clock.seconds() >= deadline_s:
                raise timed_out()

    async def connected(self, deadline_s: float) -> None:
        """Wait until requests can be made, and the image is up to date.

        :raises RequestError: REQUEST_TIMED_OUT.
        """
        if not await self._view.until(lambda: self._view.ready, deadline_s - self._clock.seconds()):
            raise timed_out()

    async def _commit(self, planned: Plan, deadline_s: float) -> int:
        """Make a transaction; return the sequence number of its change record."""
        self._number += 1
        mark = f"b{self.broker_id}-{self._tree.session_id or 0:x}-{self._number}"
        record = attrs.evolve(planned.record, by=mark).encode()
        since = self._view.image.applied
        try:
            made = await self._tree.multi(
                [*planned.operations, Create(paths.CHANGE_PREFIX, record, sequential=True)]
            )
        except (ConnectionLost, SessionExpired):
            return await self._find(mark, since, deadline_s)
        path = made[-1]
        assert isinstance(path, str)
        return paths.parse_change(path) or 0

    async def _find(self, mark: str, since: int, deadline_s: float) -> int:
        """Return the sequence number of the record with a mark.

        :param since: a record that is older.
        :raises ConnectionLost: there is none: the transaction was not made.
        """
        while True:
            await self.connected(deadline_s)
            try:
                await self._tree.sync()
                names = await self._tree.children(paths.CHANGES)
                numbers = [number for number in map(paths.parse_change, names) if number is not None]
                marks = await each(self._mark, [number for number in sorted(numbers) if number > since])
            except (ConnectionLost, SessionExpired):
                continue
            for number, found in marks:
                if found == mark:
                    return number
            raise ConnectionLost("the connection was lost before the transaction was made")

    async def _mark(self, sequence: int) -> tuple[int, str]:
        path = paths.change(sequence)
        try:
            data, _ = await self._tree.read(path)
            return sequence, changes.decode(path, data).by
        except (NoNode, UnreadableNode):
            return sequence, ""


def _never() -> bool:
    return False


def timed_out() -> RequestError:
    """Return the error of a command that could not be made in time."""
    return RequestError(ErrorCode.REQUEST_TIMED_OUT, "The cluster's metadata could not be changed in time.")
