"""Detects clients that are used in a fork of their process; their calls fail instead of waiting for ever.

A forked process has copies of a client's sockets, timers and Deferreds, but its reactor does not run. Writing
to such a socket, or removing it from an epoll set, would affect the parent as well. So a fork closes nothing.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

from kafkatx.clientcore.errors import ForkedClient
from kafkatx.errors import KafkaTXError


class Forkable(Protocol):
    """A part of a client that is called in each fork of its process."""

    def forked(self, error: KafkaTXError) -> None:
        """Fail every later call with *error*, and touch no socket or timer."""


_watched: WeakSet[Forkable] = WeakSet()


def watch(part: Forkable) -> None:
    """Call *part* in each fork of this process, for as long as it lives."""
    _watched.add(part)


def check_process(pid: int) -> None:
    """Check that this is process *pid*, in which a client was made.

    :raises ForkedClient: this is a fork of that process.
    """
    if os.getpid() != pid:
        raise ForkedClient(pid, os.getpid())


def _in_child() -> None:
    error = ForkedClient(os.getppid(), os.getpid())
    for part in list(_watched):
        part.forked(error)


os.register_at_fork(after_in_child=_in_child)
