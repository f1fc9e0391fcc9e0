"""The producer id and epoch (KIP-98): requested at the start, and again when the epochs are used up."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from twisted.internet.defer import Deferred

from kafkatx.clientcore.producer.accumulator import RecordAccumulator
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerIdAndEpoch
from kafkatx.clientcore.producer.requests import init_producer_id_request, read_producer_id
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.cluster import Cluster


class ProducerIdSource:
    """Gets producer_ids for one producer.

    :param wake: called when the accumulator has a new producer id.
    :param track: remembers a Deferred so that it is cancelled when the producer stops.
    """

    def __init__(
        self,
        cluster: Cluster,
        accumulator: RecordAccumulator,
        wake: Callable[[], None],
        track: Callable[[Deferred[None]], Deferred[None]],
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._wake = wake
        self._track = track
        self._requesting = False

    async def set_producer_id(self) -> None:
        """Request a producer id and give it to the accumulator.

        A broker before Kafka 0.11 has none; then one batch of a partition is in flight at a time.

        :raises KafkaTXError: no broker has given one within ``max.block.ms``.
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
        """Request a new producer id if a partition has used up its epochs: after 32,767 failed batches."""
        if self._requesting or not self._accumulator.needs_producer_id():
            return
        self._requesting = True

        def done(_: object) -> None:
            self._requesting = False

        self._track(Deferred.fromCoroutine(self.set_producer_id())).addBoth(done)
