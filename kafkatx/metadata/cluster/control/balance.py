"""The automatic election of preferred leaders (``auto.leader.rebalance.enable``).

It touches the clock. A broker that was away leads nothing when it is back; at intervals the controller gives
it back the partitions that prefer it, if it lacks too many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.errors import RequestError
from kafkatx.metadata.cluster.control.options import ControllerOptions
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.controller.elections import imbalanced
from kafkatx.metadata.controller.writes import Answers
from kafkatx.types import TopicPartition


class Balance:
    """Looks for brokers that lead too little, while this broker is the controller.

    :param elect: elects preferred leaders.
    """

    _log = Logger()

    def __init__(
        self,
        clock: IReactorTime,
        view: View,
        options: ControllerOptions,
        elect: Callable[[Sequence[TopicPartition]], Deferred[Answers]],
    ) -> None:
        self._clock = clock
        self._view = view
        self._options = options
        self._elect = elect
        self._timer: IDelayedCall | None = None

    def start(self) -> None:
        """Begin an interval: this broker has become the controller. A second call does nothing."""
        interval_s = self._options.balance_interval_s
        if self._timer is None and interval_s is not None:
            self._timer = self._clock.callLater(interval_s, self._look)

    def stop(self) -> None:
        """Look no more."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _look(self) -> None:
        self._timer = None
        self.start()
        image = self._view.image
        found = imbalanced(image.whole_state(), image.deleting, self._options.imbalance_percentage)
        if found:
            self._log.info("{count} partitions are given back to their preferred leaders", count=len(found))
            self._elect(found).addCallbacks(self._elected, self._failed)

    def _elected(self, answers: Answers) -> None:
        errors = [error for error in answers.values() if error is not None]
        if errors:
            self._log.info("{count} of them could not be: {error}", count=len(errors), error=errors[0])

    def _failed(self, failure: Failure) -> None:
        failure.trap(RequestError)
        self._log.info("partitions are not given back: {error}", error=failure.getErrorMessage())
