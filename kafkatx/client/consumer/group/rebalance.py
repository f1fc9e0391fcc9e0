"""The consumer's reaction to a rebalance: it assigns, revokes or drops partitions and calls the listener."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkatx.client.consumer.group.autocommit import AutoCommit
from kafkatx.client.consumer.poll import Poller
from kafkatx.clientcore.consumer.partition_state import COMMITTED
from kafkatx.clientcore.consumer.subscription_state import SubscriptionState
from kafkatx.clientcore.errors import CommitFailed
from kafkatx.errors import ErrorCode
from kafkatx.types import TopicPartition


class RebalanceListener:
    """Hears of assigned and revoked partitions. Each method may return a Deferred, or be a coroutine.

    The rebalance waits for it: other members do not get the partitions before :meth:`on_partitions_revoked`
    is done.
    """

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> object:
        """Handle newly assigned partitions; the consumer may seek before their first record is delivered."""

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> object:
        """Handle partitions about to be revoked; none is being processed, offsets can be committed."""

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> object:
        """Handle lost partitions: other members may have them, and offsets cannot be committed any more."""
        return self.on_partitions_revoked(partitions)


class RebalanceCallbacks:
    """The callbacks that the membership calls in a rebalance.

    Apache Kafka's consumer rebalances only while the application is in ``poll``. Here the application may be
    processing records of partitions to be revoked. Then nothing more of them is delivered, and they are
    revoked when the application asks for more or has processed those records. So what it commits after
    processing is never refused because of a rebalance. If it takes longer than ``max.poll.interval.ms``, the
    member leaves the group.

    :param on_change: called when partitions were assigned or removed.
    :ivar lost_partitions: partitions that were lost after records of them were delivered, since the last
        assignment.
    """

    _log = Logger()

    def __init__(
        self,
        subscriptions: SubscriptionState,
        poller: Poller,
        auto_commit: AutoCommit | None,
        on_change: Callable[[], None],
    ) -> None:
        self.listener: object = None
        self.lost_partitions: set[TopicPartition] = set()
        self._subscriptions = subscriptions
        self._poller = poller
        self._auto_commit = auto_commit
        self._on_change = on_change

    async def assigned(self, partitions: set[TopicPartition]) -> None:
        """Add partitions; nothing of them is fetched before the listener is done."""
        self.lost_partitions.clear()
        self._subscriptions.add_partitions(partitions, COMMITTED)
        if self._auto_commit is not None:
            self._auto_commit.forget(partitions)
        self._suspend(partitions, True)
        try:
            await self._call_listener("on_partitions_assigned", partitions)
        finally:
            self._suspend(partitions, False)
            self._on_change()

    async def revoked(self, partitions: set[TopicPartition]) -> None:
        """Remove partitions, once the application has processed the records that it has of them."""
        self._suspend(partitions, True)
        while self._subscriptions.unprocessed_partitions & partitions and not self._poller.closed:
            await self._poller.processed.wait()
        if self._auto_commit is not None:
            await self._auto_commit.try_commit(partitions)
        try:
            await self._call_listener("on_partitions_revoked", partitions)
        finally:
            self._subscriptions.remove_partitions(partitions)
            self._on_change()

    async def lost(self, partitions: set[TopicPartition]) -> None:
        """Remove partitions at once."""
        self._log.warn(
            "partitions were lost: {partitions}", partitions=", ".join(map(str, sorted(partitions)))
        )
        self.lost_partitions |= self._subscriptions.positions(partitions).keys()
        self._subscriptions.lose_partitions(partitions)
        self._on_change()
        await self._call_listener("on_partitions_lost", partitions)

    def check_positions(self) -> None:
        """Raise CommitFailed, once, if partitions were lost after records of them were delivered."""
        if self.lost_partitions:
            error = _removed(self.lost_partitions)
            self.lost_partitions.clear()
            raise error

    def check_delivered(self) -> None:
        """Raise CommitFailed while the application has records of partitions that were lost.

        By then the member may have joined again: as a member of the new generation it must not commit
        records of the old one in a transaction, because another member may have copied them.
        """
        if self._subscriptions.lost_unprocessed:
            raise _removed(self._subscriptions.lost_unprocessed)

    def _suspend(self, partitions: set[TopicPartition], held: bool) -> None:
        for topic_partition in partitions:
            state = self._subscriptions.get(topic_partition)
            if state is not None:
                state.suspended = held
                if held:
                    state.interrupt_delivery()
                else:
                    state.buffer.enqueue(state)

    async def _call_listener(self, name: str, partitions: set[TopicPartition]) -> None:
        """Call the listener; raise its error to the application at the next poll."""
        method = getattr(self.listener, name, None)
        if method is None:
            return
        try:
            result = method(set(partitions))
            if isinstance(result, Awaitable):
                await result
        except CancelledError:
            raise
        except Exception as error:
            self._log.failure("the rebalance listener's {name}", name=name)
            self._poller.fail(error, permanent=False)


def _removed(partitions: Iterable[TopicPartition]) -> CommitFailed:
    names = ", ".join(map(str, sorted(partitions)))
    return CommitFailed(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"no offset of {names} was committed: this consumer was removed from its group, and others have the "
        "partitions; increase max.poll.interval.ms, or decrease max.poll.records",
    )
