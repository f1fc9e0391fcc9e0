"""Waiting for several Deferreds, with the error itself of the first that fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.internet.defer import Deferred, FirstError, gatherResults


async def gather(waiting: Iterable[Deferred[Any]]) -> None:
    """Wait until all have fired; cancelling this cancels all.

    :raises Exception: the first error; the others are dropped.
    """
    try:
        await gatherResults(list(waiting), consumeErrors=True)
    except FirstError as error:
        error.subFailure.raiseException()
