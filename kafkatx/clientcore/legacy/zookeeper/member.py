"""The steps of one member of a group over ZooKeeper: register, rebalance, wait. Pure: no I/O, no clock.

The balancer tells it of events and asks for the next step; it makes one step at a time. Changes that come
during a rebalance ask for one more after it. A failed step is repeated after a pause, without an end: another
member may not have released its partitions yet, and a server may be away.
"""

from __future__ import annotations

import enum

import attrs


class Step(enum.Enum):
    """The next step of a member."""

    REGISTER = "register"
    """Start a session, and create the member's node."""
    DROP = "drop"
    """Stop reading: the session has expired, and others may own the partitions."""
    REBALANCE = "rebalance"
    WAIT = "wait"
    """Wait for an event, or for the time of :meth:`GroupMember.wait_s`."""
    LEAVE = "leave"


@attrs.define
class GroupMember:
    """The state of a member.

    :ivar backoff_s: pause in seconds after a failed step (``rebalance.backoff.ms``).
    :ivar max_retries: failures in a row after which people are told (``rebalance.max.retries``).
    """

    backoff_s: float
    max_retries: int
    _registered: bool = attrs.field(default=False, init=False)
    _connected: bool = attrs.field(default=False, init=False)
    _lost: bool = attrs.field(default=False, init=False)
    _unbalanced: bool = attrs.field(default=True, init=False)
    _leaving: bool = attrs.field(default=False, init=False)
    _failures: int = attrs.field(default=0, init=False)
    _retry_s: float | None = attrs.field(default=None, init=False)

    def next(self, now_s: float) -> Step:
        """Return the next step."""
        if self._leaving:
            return Step.LEAVE
        if self._lost:
            return Step.DROP
        if self.wait_s(now_s) is not None:
            return Step.WAIT
        if not self._registered:
            return Step.REGISTER
        return Step.REBALANCE if self._connected and self._unbalanced else Step.WAIT

    def wait_s(self, now_s: float) -> float | None:
        """Return the seconds until a failed step is repeated; None if there is none."""
        if self._retry_s is None or self._retry_s <= now_s:
            return None
        return self._retry_s - now_s

    # -- events

    def connected(self) -> None:
        """Note that the tree is connected; there may have been changes that no watch reported."""
        self._connected = True
        self._unbalanced = True

    def suspended(self) -> None:
        """Note that the connection is lost. The member keeps its partitions while the session may live."""
        self._connected = False

    def session_lost(self) -> None:
        """Note that the session has expired."""
        self._connected = self._registered = False
        self._lost = self._unbalanced = True

    def unregistered(self) -> None:
        """Note that the member's node is gone although its session lives: a tool has deleted it."""
        self._registered = False
        self._unbalanced = True

    def changed(self) -> None:
        """Note that members, topics or brokers have changed."""
        self._unbalanced = True

    def leave(self) -> None:
        """Note that the member is to leave the group."""
        self._leaving = True

    # -- ends of steps

    def registered(self) -> None:
        """Note that the member's node was created; a session that was lost meanwhile does not count."""
        self._registered = not self._lost

    def dropped(self) -> None:
        """Note that the member does not read any more."""
        self._lost = False

    def rebalance_started(self) -> None:
        """Note that the state of the group is read from now on: later changes need one more rebalance."""
        self._unbalanced = False

    def balanced(self) -> None:
        """Note that a rebalance has succeeded."""
        self._failures = 0
        self._retry_s = None

    def failed(self, now_s: float) -> bool:
        """Note that a step has failed.

        :return: True if people should be told: once, at the last of the configured retries.
        """
        self._failures += 1
        self._unbalanced = True
        self._retry_s = now_s + self.backoff_s
        return self._failures == self.max_retries
