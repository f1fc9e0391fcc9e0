"""The fence: this broker acts only while it is registered, and no other broker can have taken its place.

It touches the tree and the clock. Every third of the session's time-out it sets the broker's lease node; the
tree counts the lease from the sending of a write that succeeded (:mod:`kafkatx.metadata.tree.lease`). The
broker goes on without a connection until its lease ends.
"""

from __future__ import annotations

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import NoNode, OperationError, SessionState, SetData, TreeError
from kafkatx.metadata.cluster.registration import Registration
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.layout import paths
from kafkatx.types import ClusterDelta

RENEWALS = 3
"""Renewals of the lease per time-out of the session."""


class Fence:
    """Renews the lease, and shows in the state if this broker may act.

    :param broker_id: the id of this broker.
    """

    _log = Logger()

    def __init__(self, tree: ITree, clock: IReactorTime, view: View, registration: Registration) -> None:
        self.broker_id = -1
        self._tree = tree
        self._clock = clock
        self._view = view
        self._registration = registration
        self._renewal: IDelayedCall | None = None
        self._end: IDelayedCall | None = None
        self._renewing = False
        self._stopped = False
        view.observe(self._observe)

    def remaining_s(self) -> float:
        """Return for how many seconds this broker may write; 0 or less: not at all."""
        if self._registration.epoch is None or self._stopped:
            return 0.0
        return self._tree.lease_remaining_s()

    def renew(self) -> None:
        """Renew the lease now, and from then on at intervals, if this broker is registered."""
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if self._registration.epoch is None or self._stopped:
            return
        self._renewal = self._clock.callLater(self._tree.session_timeout_s / RENEWALS, self._again)
        if self._tree.state is SessionState.CONNECTED and not self._renewing:
            self._renewing = True
            renewing = self._tree.multi([SetData(paths.lease(self.broker_id), b"")])
            renewing.addCallbacks(self._renewed, self._failed)

    def evaluate(self) -> None:
        """Show if this broker may act. A fenced one may only after everything has been read."""
        remaining_s, state = self.remaining_s(), self._view.state
        node = state.brokers.get(self.broker_id)
        may_act = remaining_s > 0 and node is not None and node.epoch == self._registration.epoch
        if state.fenced and not self._view.ready:
            may_act = False
        if self._end is not None:
            self._end.cancel()
            self._end = None
        if may_act:
            self._end = self._clock.callLater(remaining_s, self._ended)
        if state.fenced == may_act and not self._stopped:
            if may_act:
                self._log.info("broker {id} may lead partitions", id=self.broker_id)
            else:
                self._log.warn("broker {id} is fenced: it leads no partition", id=self.broker_id)
            self._view.fence(not may_act)

    def stop(self) -> None:
        """End the lease."""
        self._stopped = True
        for timer in (self._renewal, self._end):
            if timer is not None:
                timer.cancel()
        self._renewal = self._end = None

    def _observe(self, delta: ClusterDelta | None) -> None:
        if delta is not None and delta.before.brokers is not delta.after.brokers and not self._stopped:
            node = delta.after.brokers.get(self.broker_id)
            epoch = self._registration.epoch
            if (
                epoch is not None
                and (node is None or node.epoch != epoch)
                and self.broker_id in delta.before.brokers
            ):
                self._registration.lost()
            self.evaluate()

    def _again(self) -> None:
        self._renewal = None
        self.renew()

    def _ended(self) -> None:
        self._end = None
        self.evaluate()

    def _renewed(self, outcomes: object) -> None:
        self._renewing = False
        self.evaluate()

    def _failed(self, failure: Failure) -> None:
        self._renewing = False
        if failure.check(NoNode):
            self._log.warn("the node of this broker's lease is gone: it registers again")
            self._registration.lost()
            self.evaluate()
        elif failure.check(OperationError):
            self._log.error("the lease cannot be renewed: {error}", error=failure.value)
        elif not failure.check(TreeError):
            self._log.failure("the lease cannot be renewed", failure)
