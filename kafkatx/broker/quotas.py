"""Client quotas (KIP-13, KIP-546): which one holds for a client, and what the clients have used of theirs.

The cluster's metadata keep the quotas; the byte rates are enforced here. While no client has a quota,
``producer`` and ``consumer`` of :class:`ClientQuotaManager` are None, and produce and fetch look at nothing
else. Nothing but the clock is touched.

Deviations from Apache Kafka: a client without a client id has the quotas of the default client id; what
``request_percentage``, ``controller_mutation_rate`` and ``connection_creation_rate`` limit is not enforced.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.rates import Rate, Window
from kafkatx.config import BrokerConfig
from kafkatx.config.table import quotas as q
from kafkatx.interfaces import ICoordinator
from kafkatx.types import ClusterState, QuotaEntity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"

ANONYMOUS = "ANONYMOUS"
"""The name of whoever did not say who he is (``KafkaPrincipal.ANONYMOUS``): so far, that is everyone."""

MAX_CLIENTS = 10_000
"""Of how many clients the bytes are counted. Of more, the one that was silent longest begins anew."""

MAX_KEPT_CHARACTERS = 100
"""Longer client ids are told apart by their digest: a client may make up as many as it likes."""


class ByteRates:
    """What clients moved in one direction, and how much each may.

    :ivar limits: bytes a second by whose they are.
    """

    def __init__(self, window: Window, clock: IReactorTime, limits: Mapping[QuotaEntity, float]) -> None:
        self.limits = limits
        self._window = window
        self._clock = clock
        self._rates: OrderedDict[tuple[str, str], Rate] = OrderedDict()  # the last used is the last

    def largest(self, client_id: str | None) -> float:
        """How many bytes a client may move at once; infinite where it has no quota."""
        limit, _shared = self._find(client_id)
        return self._window.largest(limit)

    def charge(self, client_id: str | None, size: int) -> int:
        """Count what a client has moved; give the time in ms for which it must pause, mostly 0."""
        limit, shared = self._find(client_id)
        if shared is None:
            return 0
        now_ms = self._now_ms()
        rate = self._rate(shared, now_ms)
        rate.add(size, now_ms)
        return rate.throttle_time_ms(limit, now_ms)

    def charge_reply(self, client_id: str | None, size: int) -> tuple[int, bool]:
        """As :meth:`charge`, for what was not sent yet; the other value says whether it may be sent.

        Where not, it is not counted. Of what is more than the window allows at once, a batch that is larger
        say, waiting would make nothing better: it may go when what was counted before is within the quota.
        """
        limit, shared = self._find(client_id)
        if shared is None:
            return 0, True
        now_ms = self._now_ms()
        rate = self._rate(shared, now_ms)
        before = rate.total(now_ms)
        rate.add(size, now_ms)
        throttle_time_ms = rate.throttle_time_ms(limit, now_ms)
        may_go = not throttle_time_ms or before <= self._window.largest(limit) < size
        if not may_go:
            rate.add(-size, now_ms)
        return throttle_time_ms, may_go

    def _find(self, client_id: str | None) -> tuple[float, tuple[str, str] | None]:
        """A client's limit, and the user and client id that share it: empty is what does not matter."""
        user, any_user, name = (USER, ANONYMOUS), (USER, None), client_id or ""
        client, any_client = (CLIENT_ID, name), (CLIENT_ID, None)
        for entity in (  # the order of ClientQuotaManager
            (client, user),
            (any_client, user),
            (user,),
            (client, any_user),
            (any_client, any_user),
            (any_user,),
            (client,),
            (any_client,),
        ):
            limit = self.limits.get(entity)
            if limit is not None:
                of_user, of_client = entity[-1][0] == USER, entity[0][0] == CLIENT_ID
                return limit, (ANONYMOUS if of_user else "", _kept(name) if of_client else "")
        return math.inf, None

    def _rate(self, shared: tuple[str, str], now_ms: int) -> Rate:
        rate = self._rates.get(shared)
        if rate is None:
            self._make_room(now_ms)
            rate = self._rates[shared] = Rate(self._window)
        else:
            self._rates.move_to_end(shared)
        return rate

    def _make_room(self, now_ms: int) -> None:
        """Forget clients of whom there is nothing to remember, and one more if there are too many."""
        rates = self._rates
        while rates and (len(rates) >= MAX_CLIENTS or not next(iter(rates.values())).total(now_ms)):
            rates.popitem(last=False)

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)


class ClientQuotaManager:
    """The quotas of a broker's clients, as the coordinator knows them.

    :ivar producer: what clients produce; None where nobody has a quota for it.
    :ivar consumer: what clients fetch; None where nobody has a quota for it.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, coordinator: ICoordinator, clock: IReactorTime) -> None:
        self.producer: ByteRates | None = None
        self.consumer: ByteRates | None = None
        self._window = Window(config[q.QUOTA_WINDOW_NUM], config[q.QUOTA_WINDOW_SIZE_SECONDS] * 1000)
        self._clock = clock
        self._not_enforced: frozenset[str] = frozenset()
        coordinator.subscribe(self._changed)

    def _changed(self, old: ClusterState, new: ClusterState) -> None:
        quotas = new.client_quotas
        if quotas is old.client_quotas:
            return
        self.producer = self._limited(self.producer, quotas, PRODUCER_BYTE_RATE)
        self.consumer = self._limited(self.consumer, quotas, CONSUMER_BYTE_RATE)
        names = {name for of_one in quotas.values() for name in of_one}
        not_enforced = frozenset(names - {PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE})
        if not_enforced - self._not_enforced:
            self._log.warn(
                "client quotas are set that kafkatx keeps and shows, but does not enforce: {names}",
                names=", ".join(sorted(not_enforced)),
            )
        self._not_enforced = not_enforced

    def _limited(
        self, rates: ByteRates | None, quotas: Mapping[QuotaEntity, Mapping[str, float]], name: str
    ) -> ByteRates | None:
        """The rates under other limits; what was counted so far still counts."""
        limits = {entity: of_one[name] for entity, of_one in quotas.items() if name in of_one}
        if not limits:
            return None
        if rates is None:
            return ByteRates(self._window, self._clock, limits)
        rates.limits = limits
        return rates


def _kept(client_id: str) -> str:
    if len(client_id) <= MAX_KEPT_CHARACTERS:
        return client_id
    return blake2b(client_id.encode(), digest_size=16).hexdigest()
