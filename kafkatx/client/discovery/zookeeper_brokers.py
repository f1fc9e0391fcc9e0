"""The addresses of the brokers that are registered in ZooKeeper, followed by watches.

Touches the tree and the clock. The content of the nodes is :mod:`kafkatx.client.discovery.registrations`'.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.client.discovery.registrations import address
from kafkatx.clientcore.bootstrap import Address
from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed
from kafkatx.errors import SettingError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import Change, ConnectionLost, NoNode, SessionExpired, SessionState, TreeError
from kafkatx.metadata.cluster.connection import Connection
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.networkclient.shared_call import SharedCall
from kafkatx.networkclient.waiters import Waiters

READ_S = 10.0
"""Seconds to wait for the first list of brokers once there is a session."""
MOST_BROKERS = 100
"""Largest number of brokers whose addresses are read; of more a random choice."""


class ZooKeeperBrokers:
    """The brokers in ``/brokers/ids``, read at the first :meth:`find` and after each change.

    Brokers that change their address without a new registration are not noticed: metadata tells that.
    While there is no connection to ZooKeeper the last known addresses remain.

    :ivar where: ``zookeeper.connect=h:2181``, for messages.
    :ivar known: addresses in random order, so that clients spread over the brokers.
    :param listener: the name of the brokers' listener; empty: the first one with PLAINTEXT.
    :param ended: called at the end of :meth:`close`.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        clock: IReactorTime,
        where: str,
        listener: str = "",
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.where = where
        self.known: Sequence[Address] = ()
        self._tree = tree
        self._clock = clock
        self._listener = listener
        self._ended = ended
        self._connection = Connection(
            tree,
            clock,
            where,
            self._changed,
            lambda lost: None,
            "brokers that come or go are noticed by metadata only",
        )
        self._calls: SharedCall[None] = SharedCall()
        self._listeners: list[Callable[[], None]] = []
        self._first: Waiters[None] = Waiters()
        self._open = self._has_read = self._reading = self._again = self._closed = False
        self._unreadable: dict[int, bytes] = {}

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* after each change of the addresses."""
        self._listeners.append(listener)

    async def find(self) -> Sequence[Address]:
        """Return the addresses; the first call starts a session and reads them.

        :raises ConnectionFailed: ZooKeeper does not answer, or no broker is registered.
        """
        if self._closed:
            raise ClientClosed("the client was closed")
        if not self._has_read:
            await self._calls.wait("", self._start)
        if not self.known:
            raise ConnectionFailed(
                f"{self.where}: no broker is registered in {paths.BROKER_IDS}; check the setting's path, and "
                "that a broker runs"
            )
        return self.known

    async def close(self) -> None:
        """End the session; waiting calls of :meth:`find` fail with ClientClosed."""
        self._closed = True
        error = ClientClosed("the client was closed")
        self._calls.close(error)
        self._first.fail(error)
        try:
            await self._connection.close()
        finally:
            self._ended()

    async def _start(self) -> None:
        if not self._open:
            try:
                await self._connection.open()
            except SettingError as error:
                raise ConnectionFailed(str(error)) from error
            self._open = True
        if self._has_read:
            return
        read = self._first.wait().addTimeout(READ_S, self._clock)
        if self._tree.state is SessionState.CONNECTED:
            self._changed()
        try:
            await read
        except TimedOut:
            raise ConnectionFailed(f"{self.where}: no answer within {READ_S:g} s") from None

    def _changed(self, change: Change | None = None) -> None:
        """Read the brokers: the session is connected, or a watch tells of a change."""
        if self._closed or change is Change.LOST:
            return
        self._again = True
        if not self._reading:
            self._reading = True
            Deferred.fromCoroutine(self._read()).addErrback(
                lambda failure: self._log.failure("{where}: no brokers read", failure, where=self.where)
            )

    async def _read(self) -> None:
        try:
            while self._again and not self._closed:
                self._again = False
                try:
                    self._publish(await self._brokers())
                except TreeError as error:
                    self._failed(error)
        finally:
            self._reading = False

    def _failed(self, error: TreeError) -> None:
        """Wait for the next change or connection, which comes after a lost one."""
        level = self._log.debug if isinstance(error, ConnectionLost | SessionExpired) else self._log.warn
        level("{where}: the brokers cannot be read: {error}", where=self.where, error=error)
        self._first.fail(ConnectionFailed(f"{self.where}: the brokers cannot be read: {error}"))

    async def _brokers(self) -> list[Address]:
        """Return the addresses of the registered brokers, and watch for changes of them.

        :raises TreeError: they cannot be read.
        """
        try:
            names = await self._tree.children(paths.BROKER_IDS, self._changed)
        except NoNode:
            if await self._tree.exists(paths.BROKER_IDS, self._changed) is not None:
                self._again = True  # it was created between the two calls
            return []
        ids = [broker_id for name in names if (broker_id := paths.parse_broker(name)) is not None]
        if len(ids) > MOST_BROKERS:
            ids = random.sample(ids, MOST_BROKERS)
        reads = [self._tree.read(paths.broker(broker_id)) for broker_id in ids]
        found: list[Address] = []
        for broker_id, (succeeded, result) in zip(ids, await _all(reads), strict=True):
            if succeeded:
                found += self._address(broker_id, result[0])
            elif not isinstance(result.value, NoNode):  # it has gone meanwhile, and the watch tells so
                result.raiseException()
        self._unreadable = {key: data for key, data in self._unreadable.items() if key in ids}
        return list(dict.fromkeys(found))

    def _address(self, broker_id: int, data: bytes) -> Iterable[Address]:
        """Return the broker's address, or nothing with a warning, which is not repeated for the same data."""
        try:
            found = address(broker_id, paths.broker(broker_id), data, self._listener)
        except UnreadableNode as error:
            if self._unreadable.get(broker_id) != data:
                self._unreadable[broker_id] = data
                self._log.warn("{where}: broker left out: {error}", where=self.where, error=error)
            return ()
        return (found,)

    def _publish(self, found: list[Address]) -> None:
        if self._closed:
            return
        self._has_read = True
        if set(found) != set(self.known):
            random.shuffle(found)
            self.known = found
            self._log.debug("{where}: brokers {found}", where=self.where, found=found)
            for listener in self._listeners:
                listener()
        self._first.fire(None)


async def _all(reads: Sequence[Deferred[Any]]) -> list[tuple[bool, Any]]:
    """Wait for all reads; return whether each has succeeded, and its result or failure."""
    outcomes: list[tuple[bool, Any]] = list(await DeferredList(reads, consumeErrors=True))
    return outcomes
