"""Producer ids for idempotent producers, reserved from the cluster's metadata in blocks.

The handler of InitProducerId takes them; nothing here does I/O but through :class:`IMetadataStore`. Before a
mirrored topic is promoted, the controller lets the cluster hand out only ids above those in the topic. So the
rest of a block from before that is given to no one.
"""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import DeferredLock

from kafkatx.interfaces import IMetadataStore
from kafkatx.names import KAFKATX_MIRROR
from kafkatx.types import ClusterDelta, Topic

BLOCK = 1000
"""Ids reserved at a time, as Apache Kafka's ProducerIdManager does; a restart forgoes the rest."""


class ProducerIds:
    """Producer ids that no broker of the cluster has used before."""

    def __init__(self, metadata: IMetadataStore) -> None:
        self._metadata = metadata
        self._left: Iterator[int] = iter(())
        self._reserving = DeferredLock()  # callers that come while a block is reserved share it
        self._promotions = 0
        metadata.subscribe(self._follow)

    def _follow(self, delta: ClusterDelta) -> None:
        """Forget the reserved ids when a topic is promoted."""
        for name in delta.topics:
            after = delta.after.topics.get(name)
            if after is not None and _is_promoted(after):
                before = delta.before.topics.get(name)
                if before is None or not _is_promoted(before):
                    self._promotions += 1
                    self._left = iter(())

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
                promotions = self._promotions
                ids = await self._metadata.allocate_producer_ids(BLOCK)
                if promotions == self._promotions:
                    self._left = iter(ids)
            finally:
                self._reserving.release()


def _is_promoted(topic: Topic) -> bool:
    if KAFKATX_MIRROR not in topic.configs:
        return False
    from kafkatx.config.mirror_record import record_of  # few topics are mirrors

    record = record_of(topic.configs)
    return record is not None and record.writable
