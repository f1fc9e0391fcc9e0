"""Producer ids for idempotent producers, reserved from the cluster's metadata in blocks.

The handler of InitProducerId takes them; nothing here does I/O but through :class:`IMetadataStore`.
"""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import DeferredLock

from kafkatx.interfaces import IMetadataStore

BLOCK = 1000
"""Ids reserved at a time, as Apache Kafka's ProducerIdManager does; a restart forgoes the rest."""


class ProducerIds:
    """Producer ids that no broker of the cluster has used before."""

    def __init__(self, metadata: IMetadataStore) -> None:
        self._metadata = metadata
        self._left: Iterator[int] = iter(())
        self._reserving = DeferredLock()  # callers that come while a block is reserved share it

    async def next(self) -> int:
        """Return a new producer id.

        :raises RequestError: no block can be reserved now.
        """
        while True:
            for producer_id in self._left:
                return producer_id
            await self._reserving.acquire()
            try:
                for producer_id in self._left:
                    return producer_id
                self._left = iter(await self._metadata.allocate_producer_ids(BLOCK))
            finally:
                self._reserving.release()
