"""The quotas of a broker's clients and of addresses, as the cluster's metadata have them.

While no client has a quota of a kind, its attribute of :class:`QuotaManager` is None, and requests look at
nothing else. Nothing but clocks is touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from twisted.internet.interfaces import IReactorTime

from kafkatx.broker.quotas import entities as e
from kafkatx.broker.quotas.byte_rates import ByteRates
from kafkatx.config import BrokerConfig
from kafkatx.config.table import limits as q
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.admission.rates import Window
from kafkatx.net.requests import Peer
from kafkatx.types import ClusterDelta, QuotaEntity

if TYPE_CHECKING:
    from kafkatx.broker.quotas.mutations import Mutations, RequestMutations
    from kafkatx.broker.quotas.request_times import RequestTimes

AddressRates: TypeAlias = Mapping[str | None, float]
"""The quotas of connections by address; None: those of each address without its own."""


LimitedT = TypeVar("LimitedT", ByteRates, "RequestTimes", "Mutations")


class QuotaManager:
    """The quotas of a broker.

    :ivar producer: the rates of producers; None while no client has a producer quota.
    :ivar consumer: the rates of consumers; None while no client has a consumer quota.
    :ivar request_times: the request times; None while no client has a quota for them.
    :ivar mutations: the mutations of partitions; None while no client has a quota for them.
    :param timer: returns seconds, precisely enough for single requests.
    """

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        clock: IReactorTime,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.producer: ByteRates | None = None
        self.consumer: ByteRates | None = None
        self.request_times: RequestTimes | None = None
        self.mutations: Mutations | None = None
        self._window = Window(config[q.QUOTA_WINDOW_NUM], config[q.QUOTA_WINDOW_SIZE_SECONDS] * 1000)
        self._mutation_window_s = (
            config[q.CONTROLLER_QUOTA_WINDOW_NUM] * config[q.CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS]
        )
        self._clock = clock
        self._timer = timer
        self._addresses: AddressRates = MappingProxyType({})
        self._limit_addresses: Callable[[AddressRates], None] | None = None
        metadata.subscribe(self._changed)

    def _changed(self, delta: ClusterDelta) -> None:
        quotas = delta.after.client_quotas
        if quotas is delta.before.client_quotas:
            return
        self.producer = _kept(self.producer, self._make_rates, _limits(quotas, e.PRODUCER_BYTE_RATE))
        self.consumer = _kept(self.consumer, self._make_rates, _limits(quotas, e.CONSUMER_BYTE_RATE))
        of_times = _limits(quotas, e.REQUEST_PERCENTAGE)
        self.request_times = _kept(self.request_times, self._make_times, of_times)
        of_mutations = _limits(quotas, e.CONTROLLER_MUTATION_RATE)
        self.mutations = _kept(self.mutations, self._make_mutations, of_mutations)
        of_addresses = _limits(quotas, e.CONNECTION_CREATION_RATE)
        addresses = {entity[0][1]: rate for entity, rate in of_addresses.items() if entity[0][0] == e.IP}
        if addresses != self._addresses:
            self._addresses = MappingProxyType(addresses)
            if self._limit_addresses is not None:
                self._limit_addresses(self._addresses)

    def when_addresses_change(self, limit: Callable[[AddressRates], None]) -> None:
        """Call *limit* with the quotas of addresses, now and after each change of them."""
        self._limit_addresses = limit
        limit(self._addresses)

    def request_mutations(
        self, peer: Peer, client_id: str | None, is_strict: bool
    ) -> RequestMutations | None:
        """Return what counts the mutations of one request; None if no client has a quota for them.

        :param peer: the client's connection.
        :param is_strict: see :class:`RequestMutations`.
        """
        if self.mutations is None:
            return None
        from kafkatx.broker.quotas.mutations import RequestMutations

        return RequestMutations(self.mutations, peer, client_id, is_strict)

    def _make_rates(self, limits: Mapping[QuotaEntity, float]) -> ByteRates:
        return ByteRates(self._window, self._clock, limits)

    def _make_times(self, limits: Mapping[QuotaEntity, float]) -> RequestTimes:
        from kafkatx.broker.quotas.request_times import RequestTimes  # most brokers have no such quota

        return RequestTimes(self._window, self._clock, self._timer, limits)

    def _make_mutations(self, limits: Mapping[QuotaEntity, float]) -> Mutations:
        from kafkatx.broker.quotas.mutations import Mutations  # most brokers have no such quota

        return Mutations(self._mutation_window_s, self._clock, limits)


def _limits(quotas: Mapping[QuotaEntity, Mapping[str, float]], name: str) -> Mapping[QuotaEntity, float]:
    return {entity: of_one[name] for entity, of_one in quotas.items() if name in of_one}


def _kept(
    old: LimitedT | None,
    make: Callable[[Mapping[QuotaEntity, float]], LimitedT],
    limits: Mapping[QuotaEntity, float],
) -> LimitedT | None:
    """Return an old part with other limits; what was counted so far still counts. None without limits."""
    if not limits:
        return None
    if old is None:
        return make(limits)
    old.accounts.limits = limits
    return old
