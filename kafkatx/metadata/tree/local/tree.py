"""A client of the tree of one machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkatx.metadata.tree.client import SessionEvents, TreeClient
from kafkatx.metadata.tree.local.session import LocalSession, LocalSettings


class LocalTree(TreeClient):
    """A tree that is kept by a server on this machine, behind a Unix socket.

    :param reactor: a Twisted reactor; its clock is monotonic.
    :param boottime_s: the clock of the lease: ``time.clock_gettime(time.CLOCK_BOOTTIME)``.
    """

    def __init__(self, settings: LocalSettings, reactor: Any, boottime_s: Callable[[], float]) -> None:
        def open_session(events: SessionEvents) -> LocalSession:
            return LocalSession(settings, reactor, events)

        super().__init__(open_session, boottime_s)
