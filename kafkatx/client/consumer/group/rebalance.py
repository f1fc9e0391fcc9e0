"""What a consumer does when its group gives it partitions or takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.consumer.poll import Reading
from kafkatx.clientcore.consumer.partition_state import COMMITTED
from kafkatx.clientcore.consumer.subscription_state import Positions
from kafkatx.types import TopicPartition


class RebalanceListener:
    """Hears of the partitions that come and go. Each method may return a Deferred, or be a coroutine.

    The group waits for it: others do not get the partitions before :meth:`on_partitions_revoked` is done.
    """

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> Any:
        """These have come; the consumer may seek in them before the first record is given out."""

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> Any:
        """These are about to go: offsets in them can still be committed. None of them is being worked on."""

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> Any:
        """These have gone, and others may have them: offsets in them cannot be committed any more."""
        return self.on_partitions_revoked(partitions)


class Rebalancing:
    """What the membership calls.

    Apache Kafka's consumer rebalances only while the application is in ``poll``. Here it may be at work when
    partitions are to go. So nothing more of them is handed out, and they go when the application asks for
    more, or is done with the records that it has of them: what it commits after it is done is never refused
    for a rebalance. If it takes longer than ``max.poll.interval.ms``, the member leaves without it.

    :param changed: called when partitions have come or gone.
    :ivar forfeited: partitions that were lost, with records handed out, since some were assigned last.
    """

    _log = Logger()

    def __init__(
        self,
        positions: Positions,
        reading: Reading,
        auto_commit: AutoCommit | None,
        changed: Callable[[], None],
    ) -> None:
        self.listener: Any = None
        self.forfeited: set[TopicPartition] = set()
        self._positions = positions
        self._reading = reading
        self._auto_commit = auto_commit
        self._changed = changed

    async def assigned(self, places: set[TopicPartition]) -> None:
        """These have come; nothing is fetched of them before the listener is done."""
        self.forfeited.clear()
        self._positions.add(places, COMMITTED)
        if self._auto_commit is not None:
            self._auto_commit.found(places)
        self._hold(places, True)
        try:
            await self._tell("on_partitions_assigned", places)
        finally:
            self._hold(places, False)
            self._changed()

    async def revoked(self, places: set[TopicPartition]) -> None:
        """These go once the application is done with what it has of them."""
        self._hold(places, True)
        while self._positions.in_hand & places and not self._reading.closed:
            await self._reading.settled.wait()
        if self._auto_commit is not None:
            await self._auto_commit.last(places)
        try:
            await self._tell("on_partitions_revoked", places)
        finally:
            self._positions.remove(places)
            self._changed()

    async def lost(self, places: set[TopicPartition]) -> None:
        """These have gone."""
        self._log.warn("partitions were lost: {places}", places=", ".join(map(str, sorted(places))))
        self.forfeited |= self._positions.offsets(places).keys()
        self._positions.remove(places)
        self._changed()
        await self._tell("on_partitions_lost", places)

    def _hold(self, places: set[TopicPartition], held: bool) -> None:
        for place in places:
            position = self._positions.get(place)
            if position is not None:
                position.held = held
                if held:
                    position.interrupt()
                else:
                    position.shelf.offer(position)

    async def _tell(self, name: str, places: set[TopicPartition]) -> None:
        """Call the listener; what it raises the application gets when it asks for records next."""
        method = getattr(self.listener, name, None)
        if method is None:
            return
        try:
            result = method(set(places))
            if hasattr(result, "__await__"):
                await result
        except CancelledError:
            raise
        except Exception as error:
            self._log.failure("the rebalance listener's {name}", name=name)
            self._reading.fail(error, for_good=False)
