"""Producer ids for idempotent producers, reserved from the cluster's metadata in blocks.

The handler of InitProducerId takes them; nothing here does I/O but through :class:`IMetadataStore`. Before a
mirrored topic is promoted, the controller lets the cluster hand out only ids above those in the topic; and so
does a broker with its logs before it registers. So the rest of a block from before that is given to no one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from twisted.internet.defer import DeferredLock

from kafkatx.interfaces import IMetadataStore
from kafkatx.names import KAFKATX_MIRROR
from kafkatx.types import ClusterDelta, Topic

BLOCK = 1000
"""Ids reserved at a time, as Apache Kafka's ProducerIdManager does; a restart forgoes the rest."""


class ProducerIds:
    """Producer ids that no broker of the cluster has used before.

    :param highest: returns the highest id in the logs of this broker; -1 if there is none. An older copy of
        the cluster's state may have been put back, which does not know of it.
    """

    def __init__(self, metadata: IMetadataStore, highest: Callable[[], int] = lambda: -1) -> None:
        self._metadata = metadata
        self._highest = highest
        self._left: Iterator[int] = iter(())
        self._reserving = DeferredLock()  # callers that come while a block is reserved share it
        self._forgotten = 0
        self._raised = -1
        metadata.subscribe(self._follow)

    def _follow(self, delta: ClusterDelta) -> None:
        """Forget the reserved ids when a topic is promoted, and when a broker brings logs with it."""
        if any(
            one.epoch != getattr(delta.before.brokers.get(one.id), "epoch", None)
            for one in (
                delta.after.brokers.values() if delta.before.brokers is not delta.after.brokers else ()
            )
        ):
            self._forget()
        for name in delta.topics:
            after = delta.after.topics.get(name)
            if after is not None and _is_promoted(after):
                before = delta.before.topics.get(name)
                if before is None or not _is_promoted(before):
                    self._forget()

    async def raise_above(self, used: int) -> None:
        """Raise the ids that the cluster hands out above one that was used; -1: none was.

        :raises RequestError: the ids cannot be reserved now.
        """
        if used <= self._raised:
            return
        self._forget()
        self._raised = await raise_producer_ids(self._metadata, used)

    def _forget(self) -> None:
        self._forgotten += 1
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
                forgotten = self._forgotten
                ids = await self._metadata.allocate_producer_ids(BLOCK)
                self._raised = max(self._raised, ids.start)
                highest = self._highest()
                if ids.start <= highest:
                    await self.raise_above(highest)
                elif forgotten == self._forgotten:
                    self._left = iter(ids)
            finally:
                self._reserving.release()


async def raise_producer_ids(metadata: IMetadataStore, above: int) -> int:
    """Raise the producer ids that the cluster hands out above one that was used; -1: none was.

    :return: an id above which they are.
    :raises RequestError: the ids cannot be reserved now.
    """
    if above < 0:
        return above
    ids = await metadata.allocate_producer_ids(1)
    if ids.start <= above:
        await metadata.allocate_producer_ids(above + 1 - ids.start)
    return max(ids.start, above)


def _is_promoted(topic: Topic) -> bool:
    if KAFKATX_MIRROR not in topic.configs:
        return False
    from kafkatx.config.mirror_record import record_of  # few topics are mirrors

    record = record_of(topic.configs)
    return record is not None and record.writable
