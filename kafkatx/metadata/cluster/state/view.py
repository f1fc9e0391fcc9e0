"""The current image of the cluster, its listeners, and the coroutines that wait for a change of it.

It touches the clock only. :mod:`kafkatx.metadata.cluster.state.follower` replaces the image,
:mod:`kafkatx.metadata.cluster.fence` fences and unfences this broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import SessionState
from kafkatx.metadata.cluster.state.image import Image
from kafkatx.types import ClusterDelta, ClusterState

Listener = Callable[[ClusterDelta], None]
Condition = Callable[[], bool]
Observer = Callable[[ClusterDelta | None], None]


@attrs.define(eq=False)
class _Waiter:
    condition: Condition
    result: Deferred[bool]
    timer: IDelayedCall | None = None


class View:
    """The image that this broker acts on.

    :ivar image: replaced as a whole.
    """

    _log = Logger()

    def __init__(self, tree: ITree, clock: IReactorTime) -> None:
        self.image = Image(ClusterState(cluster_id="", controller_id=-1, fenced=True))
        self._read = False
        self._tree = tree
        self._clock = clock
        self._listeners: list[Listener] = []
        self._observers: list[Observer] = []
        self._deltas: deque[ClusterDelta | None] = deque()
        self._telling = False
        self._stopped = False
        self._waiters: list[_Waiter] = []

    @property
    def state(self) -> ClusterState:
        """The cluster's state."""
        return self.image.state

    @property
    def ready(self) -> bool:
        """True if the tree is connected, and the image was read since: it is as late as the watches."""
        # the state changes before requests fail, and those who made them look here
        return self._read and self._tree.state is SessionState.CONNECTED

    @property
    def stopped(self) -> bool:
        """True if the store has stopped: no waiting succeeds any more, but for what is so already."""
        return self._stopped

    def subscribe(self, listener: Listener) -> None:
        """Call ``listener(delta)`` after each change of the state, in the order of subscription."""
        self._listeners.append(listener)

    def observe(self, observer: Observer) -> None:
        """Call ``observer(delta)`` after each change of the image, when all listeners have been told.

        The delta is None if the state has not changed. Observers may change the image.
        """
        self._observers.append(observer)

    def show(self, image: Image, delta: ClusterDelta | None) -> None:
        """Replace the image; tell listeners and observers; then wake up the waiters.

        Deltas are told in order, also if an observer or a listener causes another one.
        """
        self.image = image
        self._deltas.append(delta)
        if self._telling:
            return
        self._telling = True
        try:
            while self._deltas:
                self._tell(self._deltas.popleft())
        finally:
            self._telling = False
        self.changed()

    def fence(self, fenced: bool) -> None:
        """Show that this broker may act, or may not."""
        before = self.image.state
        if before.fenced != fenced:
            after = attrs.evolve(before, fenced=fenced)
            self.show(attrs.evolve(self.image, state=after), ClusterDelta(before, after))

    def set_ready(self, ready: bool) -> None:
        """Set :attr:`ready`, and wake up the waiters."""
        self._read = ready
        self.changed()

    def changed(self) -> None:
        """Fire the Deferreds of :meth:`until` whose conditions hold now."""
        for waiter in [each for each in self._waiters if each.condition()]:
            self._end(waiter, True)

    def until(self, condition: Condition, timeout_s: float) -> Deferred[bool]:
        """Wait for a condition, which is evaluated now and after each change.

        :return: fires with True, or with False after *timeout_s* and when the store stops.
        """
        if condition() or self._stopped:
            return succeed(condition())
        result: Deferred[bool] = Deferred()
        waiter = _Waiter(condition, result)
        waiter.timer = self._clock.callLater(max(0.0, timeout_s), self._end, waiter, False)
        self._waiters.append(waiter)
        return result

    def stop(self) -> None:
        """End all waiting, also that which begins later."""
        self._read = False
        self._stopped = True
        while self._waiters:
            self._end(self._waiters[0], False)

    def _end(self, waiter: _Waiter, held: bool) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
            if waiter.timer is not None and waiter.timer.active():
                waiter.timer.cancel()
            waiter.result.callback(held)

    def _tell(self, delta: ClusterDelta | None) -> None:
        called: list[Callable[[ClusterDelta], None] | Observer] = [*self._observers]
        if delta is not None:
            called = [*self._listeners, *called]
        for each in called:
            try:
                each(delta)  # type: ignore[arg-type]  # listeners get no None
            except Exception:
                # the change is made: the others and the waiters must be told
                self._log.failure("a listener of the cluster's state failed")
