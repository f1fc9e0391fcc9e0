"""``async with producer.transaction()``: a block that commits, or aborts if it is left by an exception."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType

from twisted.logger import Logger

from kafkatx.clientcore.producer.transactions.errors import AbortRequired
from kafkatx.errors import KafkaTXError

_log = Logger()


class TransactionBlock:
    """One transaction as a block, for Twisted and for asyncio.

    :param is_open: returns False if the program has ended the transaction in the block itself.
    """

    def __init__(
        self,
        begin: Callable[[], None],
        commit: Callable[[], Awaitable[None]],
        abort: Callable[[], Awaitable[None]],
        is_open: Callable[[], bool],
    ) -> None:
        self._begin = begin
        self._commit = commit
        self._abort = abort
        self._is_open = is_open

    async def __aenter__(self) -> None:
        self._begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_open():
            return
        if error is None:
            try:
                await self._commit()
            except AbortRequired:
                await self._abort()
                raise
            return
        try:
            await self._abort()
        except KafkaTXError:
            _log.failure("a transaction was not aborted, its time-out will do it")
