"""The quota of request times, ``request_percentage`` (KIP-124). It reads clocks, and nothing else.

The time is that of the reactor's thread: reading a request, its handler, and encoding the response. Time in
workers, and that of a write round that several requests share, is not counted. 100 % is all of one thread,
and a broker has one; Apache Kafka's limit is the number of its threads times 100 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.quotas.entities import Accounts
from kafkatx.net.admission.rates import Rate, Window
from kafkatx.types import QuotaEntity
from kafkatx.wire.messages.fetch import FetchRequest
from kafkatx.wire.schema import Message

WRITE_TXN_MARKERS = 27


class RequestTimes:
    """The request times and quotas of clients, in percent of a thread.

    :param timer: returns seconds, precisely enough for single requests.
    """

    def __init__(
        self,
        window: Window,
        clock: IReactorTime,
        timer: Callable[[], float],
        limits: Mapping[QuotaEntity, float],
    ) -> None:
        self.accounts = Accounts(limits, lambda: Rate(window))
        self.timer = timer
        self.window = window
        self._clock = clock

    def now_ms(self) -> int:
        """Return the time by the clock of the accounts."""
        return int(self._clock.seconds() * 1000)

    def charge(self, principal: str, client_id: str | None, since_s: float) -> int:
        """Count the time since *since_s* by the timer; return the throttle time in ms.

        It is at most the length of a sample, as in Apache Kafka, so that no client's connection is idle for
        so long that it takes the broker for dead.
        """
        now_ms = self.now_ms()
        found = self.accounts.find(principal, client_id, now_ms)
        if found is None:
            return 0
        limit, rate = found
        rate.add((self.timer() - since_s) * 100, now_ms)
        return min(rate.throttle_time_ms(limit, now_ms), self.window.sample_ms)

    def is_exempt(self, api_key: int, request: Message) -> bool:
        """Return True for a request of a broker: others wait for it."""
        if isinstance(request, FetchRequest):
            state = request.replica_state
            return request.replica_id >= 0 or (state is not None and state.replica_id >= 0)
        return api_key == WRITE_TXN_MARKERS
