"""The end of the process at the other end of a Unix socket: Linux tells of it.

A connection may end while its client lives on, and its session must then wait for the time-out. But a process
that has ended needs its session no more: its lease has ended with it.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

_CREDENTIALS = struct.Struct("3i")


class FDReactor(Protocol):
    """The methods of a reactor that this module calls."""

    def addReader(self, reader: IReadDescriptor) -> None:
        """Call the reader when its file can be read."""

    def removeReader(self, reader: IReadDescriptor) -> None:
        """Stop that."""


@implementer(IReadDescriptor)
class ProcessEnd:
    """Waits for the end of a process; it holds a file descriptor until :meth:`close`.

    :param handle: a pidfd, which can be read when the process has ended.
    """

    def __init__(self, reactor: FDReactor, handle: int) -> None:
        self._reactor = reactor
        self._handle: int | None = handle
        self._call: Callable[[], None] | None = None

    def then(self, call: Callable[[], None]) -> None:
        """Call a function once, when the process has ended."""
        if self._handle is not None and self._call is None:
            self._call = call
            self._reactor.addReader(self)

    def close(self) -> None:
        """Stop waiting. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            if self._call is not None:
                self._reactor.removeReader(self)
            os.close(handle)

    def doRead(self) -> None:
        """Note that the process has ended. Called by the reactor."""
        call = self._call
        self.close()
        if call is not None:
            call()

    def fileno(self) -> int:
        """Return the file descriptor."""
        return -1 if self._handle is None else self._handle

    def connectionLost(self, reason: Failure) -> None:
        """Stop waiting. Called by the reactor when it stops."""
        self.close()

    def logPrefix(self) -> str:
        """Return the name of this reader."""
        return "process end"


def peer_process(connection: socket.socket) -> int | None:
    """Return the id of the process that made the other end of a Unix socket; None where it is not told."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    with suppress(OSError):
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid: int = _CREDENTIALS.unpack(data)[0]
        return pid if pid > 0 else None
    return None


def watch_process(reactor: FDReactor, pid: int | None) -> ProcessEnd | None:
    """Return what waits for the end of a process; None if the system cannot tell of it."""
    if pid is not None and hasattr(os, "pidfd_open"):
        with suppress(OSError):
            return ProcessEnd(reactor, os.pidfd_open(pid))
    return None
