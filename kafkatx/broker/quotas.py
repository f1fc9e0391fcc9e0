"""Client quotas (KIP-13, KIP-546): the quota of each client, and the bytes that count towards it.

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
from kafkatx.config.table import limits as q
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import ClusterDelta, QuotaEntity

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"

ANONYMOUS = "ANONYMOUS"
"""The name of clients that are not authenticated (``KafkaPrincipal.ANONYMOUS``): at present, all clients."""

MAX_CLIENTS = 10_000
"""For how many clients bytes are counted; beyond that, the one that is idle longest is forgotten."""

MAX_KEPT_CHARACTERS = 100
"""Longer client ids are replaced by a digest, to bound the memory."""


class ByteRates:
    """The byte rates and quotas of clients in one direction.

    :ivar limits: the quotas by entity, in bytes per second.
    """

    def __init__(self, window: Window, clock: IReactorTime, limits: Mapping[QuotaEntity, float]) -> None:
        self.limits = limits
        self._window = window
        self._clock = clock
        self._rates: OrderedDict[tuple[str, str], Rate] = OrderedDict()  # the last used is the last

    def largest(self, client_id: str | None) -> float:
        """Return how many bytes a client may move at once; infinite without a quota."""
        limit, _shared = self._find(client_id)
        return self._window.largest(limit)

    def charge(self, client_id: str | None, size: int) -> int:
        """Count the bytes that a client has moved; return its throttle time in ms, mostly 0."""
        limit, shared = self._find(client_id)
        if shared is None:
            return 0
        now_ms = self._now_ms()
        rate = self._rate(shared, now_ms)
        rate.add(size, now_ms)
        return rate.throttle_time_ms(limit, now_ms)

    def charge_reply(self, client_id: str | None, size: int) -> tuple[int, bool]:
        """Count a reply before it is sent; return the throttle time in ms, and True if it may be sent.

        A reply that may not be sent is not counted. Waiting does not help a reply larger than the window
        allows at once, such as one large batch: it may be sent if the bytes before it are within the quota.
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
        """Return a client's quota, and the user and client id that share it; empty ones do not matter."""
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
        """Forget clients without bytes in the window, and one more if there are too many."""
        rates = self._rates
        while rates and (len(rates) >= MAX_CLIENTS or not next(iter(rates.values())).total(now_ms)):
            rates.popitem(last=False)

    def _now_ms(self) -> int:
        return int(self._clock.seconds() * 1000)


class ClientQuotaManager:
    """The quotas of a broker's clients, from the cluster's metadata.

    :ivar producer: the rates of producers; None while no client has a producer quota.
    :ivar consumer: the rates of consumers; None while no client has a consumer quota.
    """

    _log = Logger()

    def __init__(self, config: BrokerConfig, metadata: IMetadataStore, clock: IReactorTime) -> None:
        self.producer: ByteRates | None = None
        self.consumer: ByteRates | None = None
        self._window = Window(config[q.QUOTA_WINDOW_NUM], config[q.QUOTA_WINDOW_SIZE_SECONDS] * 1000)
        self._clock = clock
        self._not_enforced: frozenset[str] = frozenset()
        metadata.subscribe(self._changed)

    def _changed(self, delta: ClusterDelta) -> None:
        quotas = delta.after.client_quotas
        if quotas is delta.before.client_quotas:
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
        """Return the rates with other quotas; the bytes counted so far still count."""
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
