"""A producer's producer id (KIP-98): asked for at its start, and anew when it is used up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerIdAndEpoch
from kafkatx.clientcore.producer.requests import init_producer_id_request, read_producer_id
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.cluster import Cluster


class ProducerIdSource:
    """Gets producer_ids for one producer.

    :param wake: called when the accumulator has a new one.
    :param keep: remembers a Deferred to be cancelled when the producer stops.
    """

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        wake: Callable[[], None],
        keep: Callable[[Deferred[Any]], Deferred[Any]],
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._wake = wake
        self._track = keep
        self._asking = False

    async def set_producer_id(self) -> None:
        """Get a producer id; a broker that has none to give is written to without, one batch at a time.

        :raises KafkaTXError: none could be had within ``max.block.ms``.
        """

        async def ask() -> ProducerIdAndEpoch:
            return read_producer_id(await self._cluster.request_any(init_producer_id_request()))

        try:
            id_and_epoch = await self._cluster.retrying(ask)
        except RequestError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            id_and_epoch = NOT_IDEMPOTENT
            self._accumulator.limits = attrs.evolve(self._accumulator.limits, in_flight=1)
        self._accumulator.set_producer_id(id_and_epoch)
        self._wake()

    def check(self) -> None:
        """Ask for a new producer id if a partition has used up its epochs: 32,767 batches were given up."""
        if self._asking or not self._accumulator.needs_producer_id():
            return
        self._asking = True

        def done(_: object) -> None:
            self._asking = False

        self._track(Deferred.fromCoroutine(self.set_producer_id())).addBoth(done)
