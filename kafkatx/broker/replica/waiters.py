"""Operations that wait for something in a partition, such as delayed fetches. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Waiter(Protocol):
    """An operation that waits for data, such as :class:`kafkatx.broker.replica.purgatory.DelayedFetch`."""

    def wake(self) -> None:
        """Look whether there is enough now."""


def wake_each(waiters: Iterable[Waiter]) -> None:
    """Wake all; they may leave, and others come, meanwhile."""
    for waiter in tuple(waiters):
        waiter.wake()
