"""Connecting to a cluster, however long it is away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.clientcore.errors import ClientClosed, retriable
from kafkatx.errors import KafkaTXError

PAUSE_S = 1.0


async def connect(start: Callable[[], Deferred[Any]], what: str, reactor: IReactorTime, log: Logger) -> None:
    """Call *start* until it succeeds.

    :param what: the cluster, for the log.
    :raises KafkaTXError: an error that a person has to mend.
    """
    failures = 0
    while True:
        try:
            await start()
            return
        except ClientClosed:
            raise
        except KafkaTXError as error:
            if not retriable(error):
                raise
            if failures & failures - 1 == 0:  # the first, then less and less often
                log.warn("{what}: {error}; trying on", what=what, error=error)
        failures += 1
        await deferLater(reactor, PAUSE_S)
