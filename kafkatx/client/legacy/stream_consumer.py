"""A consumer whose records go several ways: each partition's to whom it belongs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from twisted.internet.defer import Deferred

from kafkatx.client.consumer.consumer import Consumer
from kafkatx.client.consumer.group.autocommit import AutoCommit, Commit
from kafkatx.client.consumer.processor import Processor
from kafkatx.clientcore.consumer.partition_state import Delivery
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.tables import consumer
from kafkatx.types import TopicPartition

Take: TypeAlias = Callable[[Delivery, Callable[[], None]], Awaitable[None]]
"""Called with a hand, and with what is to be called now and then while it gets on with it; done when the
awaitable is."""


class StreamProcessor(Processor):
    """Gives out hands in place of records."""

    def __init__(self, take: Take, **more: Any) -> None:
        super().__init__(function=_nothing, batches=False, **more)
        self._take = take

    async def _each(self, work: Any, hand: Delivery) -> None:
        def alive() -> None:
            work.since = self._reactor.seconds()
            self._report()

        await self._take(hand, alive)


def _nothing(records: object) -> None:
    """No function is called."""


class StreamConsumer(Consumer):
    """Of each partition one hand is out at a time, so that its records keep their order whoever gets them."""

    def distribute(self, take: Take) -> Deferred[None]:
        """Give *take* the records of all partitions until it is cancelled; fails as :meth:`process`."""
        parts = self._parts
        processor = StreamProcessor(
            take,
            reactor=parts.reactor,
            subscriptions=self._subscriptions,
            poller=parts.poller,
            limit=self._max_poll_records,
            report_activity=parts.report_activity,
        )
        return processor.start()

    def breathe(self) -> Deferred[None]:
        """Fires at once, or when the reactor had its turn if it had none for long."""
        return self._parts.poller.yield_to_reactor()

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The next offset of each partition after what was given out."""
        return self._subscriptions.positions()

    def auto_commit(self, commit: Commit) -> AutoCommit:
        """Automatic commits that go elsewhere than to the group's coordinator."""
        interval_ms = self.settings[consumer.AUTO_COMMIT_INTERVAL_MS]
        return AutoCommit(self._parts.reactor, interval_ms, self._subscriptions, commit)
