"""The decision about each new connection: admitted, refused, or held off; and the pace of its listener.

As in Apache Kafka (KIP-402, KIP-612): a listener whose connections come too fast pauses, an address that
makes too many is held off, and connections above a number are refused. It reads the clock only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from twisted.internet.interfaces import IReactorTime

from kafkatx.net.admission.limits import NO_LIMIT, AdmissionLimits, ListenerLimits, counted_address
from kafkatx.net.admission.rates import Rate

MOST_ADDRESSES = 10_000
"""Addresses whose rate is known; beyond that the one that connected first is forgotten."""

_NO_LIMITS = ListenerLimits()


class Admission:
    """The connections of a server, counted by listener and address.

    :ivar limits: the current limits.
    :ivar make_room: called if all connections are taken and another broker wants one: closes the connection
        of a client that is idle longest, and returns True if there is one.
    """

    def __init__(self, limits: AdmissionLimits, clock: IReactorTime) -> None:
        self.limits = limits
        self._address_rates: Mapping[str | None, float] = MappingProxyType({})
        self.make_room: Callable[[], bool] = bool
        self._clock = clock
        self._total = 0
        self._by_address: dict[str, int] = {}
        self._by_listener: dict[str, int] = {}
        self._rate_of_all = Rate(limits.window)
        self._listener_rates: dict[str, Rate] = {}
        self._rates: dict[str, Rate] = {}

    # --- numbers

    def refusal(self, host: str, listener: str) -> str:
        """Return the limit, as ``setting=value``, that refuses a connection; empty if it may come."""
        limits, address = self.limits, counted_address(host)
        if self._total >= limits.max_connections and (listener != limits.protected or not self.make_room()):
            return f"max.connections={limits.max_connections}"
        most = limits.listeners.get(listener, _NO_LIMITS).max_connections
        if self._by_listener.get(listener, 0) >= most:
            return f"listener.name.{listener.lower()}.max.connections={most}"
        count = self._by_address.get(address, 0)
        own = limits.per_ip_overrides.get(address)
        if own is not None:
            return f"max.connections.per.ip.overrides={address}:{own}" if count >= own else ""
        most = limits.max_connections_per_ip
        return f"max.connections.per.ip={most}" if count >= most else ""

    def enter(self, host: str, listener: str) -> None:
        """Count a connection."""
        self._total += 1
        address = counted_address(host)
        self._by_address[address] = self._by_address.get(address, 0) + 1
        self._by_listener[listener] = self._by_listener.get(listener, 0) + 1

    def leave(self, host: str, listener: str) -> None:
        """Count a connection no more."""
        self._total -= 1
        self._by_listener[listener] -= 1
        address = counted_address(host)
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    # --- rates

    def limit_addresses(self, rates: Mapping[str | None, float]) -> None:
        """Use other quotas: connections per second by address; None: of each other address."""
        self._address_rates = {
            address if address is None else counted_address(address): rate for address, rate in rates.items()
        }

    def held_off_ms(self, host: str) -> int:
        """Count a connection of an address; return the time for which it must be held off, mostly 0.

        It is at most the length of a sample. A connection that is held off is not counted: an address that
        tries again and again gets the connections of its quota.
        """
        if not self._address_rates:
            return 0
        address = counted_address(host)
        limit = self._address_rates.get(address, self._address_rates.get(None))
        if limit is None:
            return 0
        now_ms = self._now_ms()
        rate = self._address_rate(address, now_ms)
        rate.add(1, now_ms)
        throttle_time_ms = rate.throttle_time_ms(limit, now_ms)
        if throttle_time_ms:
            rate.add(-1, now_ms)
        return min(throttle_time_ms, self.limits.window.sample_ms)

    def pause_ms(self, listener: str) -> int:
        """Count a connection of a listener; return how long the listener must pause, mostly 0.

        It is at most the length of a sample: then it is measured anew, with each connection.
        """
        limits = self.limits
        own = limits.listeners.get(listener, _NO_LIMITS).creation_rate
        pause_ms = 0
        if own < NO_LIMIT:
            rate = self._listener_rates.setdefault(listener, Rate(limits.window))
            pause_ms = self._counted(rate, own)
        if limits.creation_rate < NO_LIMIT and listener != limits.protected:
            pause_ms = max(pause_ms, self._counted(self._rate_of_all, limits.creation_rate))
        return min(pause_ms, limits.window.sample_ms)

    def _counted(self, rate: Rate, limit: int) -> int:
        now_ms = self._now_ms()
        rate.add(1, now_ms)
        return rate.throttle_time_ms(limit, now_ms)

    def _address_rate(self, address: str, now_ms: int) -> Rate:
        rate = self._rates.get(address)
        if rate is None:
            rates = self._rates
            while rates and (len(rates) >= MOST_ADDRESSES or next(iter(rates.values())).is_idle(now_ms)):
                del rates[next(iter(rates))]
            rate = rates[address] = Rate(self.limits.window)
        return rate

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)
