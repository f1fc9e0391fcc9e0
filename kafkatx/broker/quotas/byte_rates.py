"""The quotas of produced and of fetched bytes (KIP-13, KIP-219). Nothing but the clock is touched."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.quotas.entities import Accounts
from kafkatx.net.admission.rates import Rate, Window
from kafkatx.types import QuotaEntity


class ByteRates:
    """The byte rates and quotas of clients in one direction, in bytes per second."""

    def __init__(self, window: Window, clock: IReactorTime, limits: Mapping[QuotaEntity, float]) -> None:
        self.accounts = Accounts(limits, lambda: Rate(window))
        self.window = window
        self._clock = clock

    def now_ms(self) -> int:
        """Return the time by the clock of the accounts."""
        return int(self._clock.seconds() * 1000)

    def largest(self, principal: str, client_id: str | None) -> float:
        """Return how many bytes a client may move at once; infinite without a quota."""
        return self.window.largest(self.accounts.limit(principal, client_id))

    def charge(self, principal: str, client_id: str | None, size: int) -> int:
        """Count the bytes that a client has moved; return its throttle time in ms, mostly 0."""
        now_ms = self.now_ms()
        found = self.accounts.find(principal, client_id, now_ms)
        if found is None:
            return 0
        limit, rate = found
        rate.add(size, now_ms)
        return rate.throttle_time_ms(limit, now_ms)

    def charge_reply(self, principal: str, client_id: str | None, size: int) -> tuple[int, bool]:
        """Count a reply before it is sent; return the throttle time in ms, and True if it may be sent.

        A reply that may not be sent is not counted. Waiting does not help a reply larger than the window
        allows at once, such as one large batch: it may be sent if the bytes before it are within the quota.
        """
        now_ms = self.now_ms()
        found = self.accounts.find(principal, client_id, now_ms)
        if found is None:
            return 0, True
        limit, rate = found
        before = rate.total(now_ms)
        rate.add(size, now_ms)
        throttle_time_ms = rate.throttle_time_ms(limit, now_ms)
        may_go = not throttle_time_ms or before <= self.window.largest(limit) < size
        if not may_go:
            rate.add(-size, now_ms)
        return throttle_time_ms, may_go
