"""The connection to the tree: it is opened at the start, and again after each lost session, for ever.

It touches the tree and the clock.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.errors import SettingError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import SessionState, TreeError

RETRY_S = 1.0
"""Seconds between attempts to start a session."""
COMPLAINT_S = 10.0
"""Seconds between lines in the log while there is no connection."""


class Connection:
    """Keeps a session.

    :param where: the tree, for messages: ``zookeeper.connect=h:2181``.
    :param connected: called when requests can be made, after :meth:`open`.
    :param disconnected: called with True if the session is lost, with False if only the connection is.
    :param consequence: the effect of a missing connection, for messages.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        clock: IReactorTime,
        where: str,
        connected: Callable[[], None],
        disconnected: Callable[[bool], None],
        consequence: str = "a broker without one leads no partition",
    ) -> None:
        self._tree = tree
        self._clock = clock
        self._where = where
        self._connected = connected
        self._disconnected = disconnected
        self._consequence = consequence
        self._open = False
        self._pause: Deferred[None] | None = None
        self._complaint: IDelayedCall | None = None
        self._since_s = 0.0
        tree.subscribe(self._changed)

    async def open(self) -> None:
        """Start the first session.

        :raises SettingError: no server is reached, or none accepts this program.
        """
        self._open = True
        try:
            await self._tree.connect()
        except TreeError as error:
            raise SettingError(f"{self._where}: {error}; check the setting, and that it runs") from error

    async def close(self) -> None:
        """End the session, and start no other."""
        self._open = False
        self._end_complaints()
        pause, self._pause = self._pause, None
        if pause is not None:
            pause.cancel()
        await self._tree.close()

    def _changed(self, state: SessionState) -> None:
        if not self._open:
            return
        if state is SessionState.CONNECTED:
            self._end_complaints()
            self._connected()
            return
        if self._complaint is None:
            self._since_s = self._clock.seconds()
            self._complaint = self._clock.callLater(COMPLAINT_S, self._complain)
        lost = state is SessionState.LOST
        self._log.warn(
            "{where}: {what}",
            where=self._where,
            what="the session has expired; starting another" if lost else "the connection is lost",
        )
        self._disconnected(lost)
        if lost:
            Deferred.fromCoroutine(self._connect_again())

    async def _connect_again(self) -> None:
        while self._open:
            try:
                await self._tree.connect()
                return
            except TreeError as error:
                self._log.debug("{where}: {error}", where=self._where, error=error)
            except Exception:
                self._log.failure("{where}: no session could be started", where=self._where)
            if self._open:
                self._pause = deferLater(self._clock, RETRY_S)
                try:
                    await self._pause
                except CancelledError:
                    return

    def _complain(self) -> None:
        self._log.error(
            "{where}: no connection for {seconds:.0f} s; {consequence}",
            where=self._where,
            seconds=self._clock.seconds() - self._since_s,
            consequence=self._consequence,
        )
        self._complaint = self._clock.callLater(COMPLAINT_S, self._complain)

    def _end_complaints(self) -> None:
        if self._complaint is not None:
            self._complaint.cancel()
            self._complaint = None
