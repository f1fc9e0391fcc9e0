"""Clients in a fork of the process that made them: they say so instead of waiting for ever.

A fork has copies of a client's sockets, timers and Deferreds, but its reactor does not run, and what it wrote
to a socket or removed from an epoll set would be written or removed for its parent, too. So nothing is closed
in a fork, and calls fail.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

from kafkatx.clientcore.errors import ForkedClient
from kafkatx.errors import KafkaTXError


class Forkable(Protocol):
    """A part of a client that is told of a fork, in the fork."""

    def forked(self, error: KafkaTXError) -> None:
        """Fail every call from now on with *error*, and touch no socket or timer."""


_watched: WeakSet[Forkable] = WeakSet()


def watch(part: Forkable) -> None:
    """Tell *part* when the process is forked, for as long as it lives."""
    _watched.add(part)


def check_process(pid: int) -> None:
    """Check that this is the process *pid*, which made a client.

    :raises ForkedClient: it is a fork of that.
    """
    if os.getpid() != pid:
        raise ForkedClient(pid, os.getpid())


def _in_child() -> None:
    error = ForkedClient(os.getppid(), os.getpid())
    for part in list(_watched):
        part.forked(error)


os.register_at_fork(after_in_child=_in_child)
