"""What a consumer does when its group gives it partitions or takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.consumer.poll import Poller
from kafkatx.clientcore.consumer.partition_state import COMMITTED
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
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


class RebalanceCallbacks:
    """What the membership calls.

    Apache Kafka's consumer rebalances only while the application is in ``poll``. Here it may be at work when
    partitions are to go. So nothing more of them is handed out, and they go when the application asks for
    more, or is done with the records that it has of them: what it commits after it is done is never refused
    for a rebalance. If it takes longer than ``max.poll.interval.ms``, the member leaves without it.

    :param changed: called when partitions have come or gone.
    :ivar lost_partitions: partitions that were lost, with records handed out, since some were assigned last.
    """

    _log = Logger()

    def __init__(
        self,
        positions: SubscriptionState,
        reading: Poller,
        auto_commit: AutoCommit | None,
        changed: Callable[[], None],
    ) -> None:
        self.listener: Any = None
        self.lost_partitions: set[TopicPartition] = set()
        self._subscriptions = positions
        self._poller = reading
        self._auto_commit = auto_commit
        self._on_change = changed

    async def assigned(self, places: set[TopicPartition]) -> None:
        """These have come; nothing is fetched of them before the listener is done."""
        self.lost_partitions.clear()
        self._subscriptions.add_partitions(places, COMMITTED)
        if self._auto_commit is not None:
            self._auto_commit.forget(places)
        self._suspend(places, True)
        try:
            await self._call_listener("on_partitions_assigned", places)
        finally:
            self._suspend(places, False)
            self._on_change()

    async def revoked(self, places: set[TopicPartition]) -> None:
        """These go once the application is done with what it has of them."""
        self._suspend(places, True)
        while self._subscriptions.unprocessed_partitions & places and not self._poller.closed:
            await self._poller.processed.wait()
        if self._auto_commit is not None:
            await self._auto_commit.try_commit(places)
        try:
            await self._call_listener("on_partitions_revoked", places)
        finally:
            self._subscriptions.remove_partitions(places)
            self._on_change()

    async def lost(self, places: set[TopicPartition]) -> None:
        """These have gone."""
        self._log.warn("partitions were lost: {places}", places=", ".join(map(str, sorted(places))))
        self.lost_partitions |= self._subscriptions.positions(places).keys()
        self._subscriptions.remove_partitions(places)
        self._on_change()
        await self._call_listener("on_partitions_lost", places)

    def _suspend(self, places: set[TopicPartition], held: bool) -> None:
        for place in places:
            position = self._subscriptions.get(place)
            if position is not None:
                position.suspended = held
                if held:
                    position.interrupt_delivery()
                else:
                    position.buffer.enqueue(position)

    async def _call_listener(self, name: str, places: set[TopicPartition]) -> None:
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
            self._poller.fail(error, for_good=False)
