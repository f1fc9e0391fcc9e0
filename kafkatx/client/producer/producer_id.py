"""A producer's identity (KIP-98): asked for at its start, and anew when it is used up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from kafkatx.clientcore.producer.accumulator import Accumulator
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, Identity
from kafkatx.clientcore.producer.requests import identity_request, identity_told
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.networkclient.cluster import Cluster


class IdentitySource:
    """Gets identities for one producer.

    :param wake: called when the accumulator has a new one.
    :param keep: remembers a Deferred to be cancelled when the producer stops.
    """

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator,
        wake: Callable[[], None],
        keep: Callable[[Deferred[Any]], Deferred[Any]],
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._wake = wake
        self._keep = keep
        self._asking = False

    async def identify(self) -> None:
        """Get an identity; a broker that has none to give is written to without, one batch at a time.

        :raises KafkaTXError: none could be had within ``max.block.ms``.
        """

        async def ask() -> Identity:
            return identity_told(await self._cluster.request_any(identity_request()))

        try:
            identity = await self._cluster.retrying(ask)
        except RequestError as error:
            if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                raise
            identity = NOT_IDEMPOTENT
            self._accumulator.limits = attrs.evolve(self._accumulator.limits, in_flight=1)
        self._accumulator.identify(identity)
        self._wake()

    def check(self) -> None:
        """Ask for another identity if one is used up: after 32,767 batches of a partition were given up."""
        if self._asking or not self._accumulator.wants_identity():
            return
        self._asking = True

        def done(_: object) -> None:
            self._asking = False

        self._keep(Deferred.fromCoroutine(self.identify())).addBoth(done)
