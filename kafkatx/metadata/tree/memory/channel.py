"""One direction of a connection in memory: calls are delivered in order, late or held back as a test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall, IReactorTime


class Channel:
    """A first-in, first-out queue of calls, delivered by a clock and never within :meth:`send`.

    :ivar delay_s: seconds that each call sent from now on takes; a call does not overtake those before it.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self.delay_s = 0.0
        self._clock = clock
        self._queue: deque[tuple[float, Callable[[], None]]] = deque()
        self._held = False
        self._timer: IDelayedCall | None = None

    @property
    def held(self) -> bool:
        """True if calls are held back."""
        return self._held

    def send(self, call: Callable[[], None]) -> None:
        """Deliver *call* after :attr:`delay_s`."""
        due_s = self._clock.seconds() + self.delay_s
        if self._queue:
            due_s = max(due_s, self._queue[-1][0])
        self._queue.append((due_s, call))
        self._arm()

    def hold(self) -> None:
        """Keep all calls back until :meth:`release`."""
        self._held = True
        self._disarm()

    def release(self) -> None:
        """Deliver calls again."""
        self._held = False
        self._arm()

    def clear(self) -> list[Callable[[], None]]:
        """Remove and return the calls that are not delivered yet."""
        calls = [call for _, call in self._queue]
        self._queue.clear()
        self._disarm()
        return calls

    def _arm(self) -> None:
        if self._queue and self._timer is None and not self._held:
            wait_s = max(0.0, self._queue[0][0] - self._clock.seconds())
            self._timer = self._clock.callLater(wait_s, self._deliver)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _deliver(self) -> None:
        self._timer = None
        _, call = self._queue.popleft()
        self._arm()
        call()
