"""The consumer of a ConsumerConnector: it gives the records of each partition to one stream."""

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

Deliver: TypeAlias = Callable[[Delivery, Callable[[], None]], Awaitable[None]]
"""Called with a delivery, and a function to be called now and then while its records are processed.

The delivery is finished when the awaitable is.
"""


class StreamProcessor(Processor):
    """A processor of whole deliveries instead of records."""

    def __init__(self, deliver: Deliver, **more: Any) -> None:
        super().__init__(function=_do_nothing, batches=False, **more)
        self._deliver = deliver

    async def _each(self, work: Any, delivery: Delivery) -> None:
        def report_activity() -> None:
            work.since = self._reactor.seconds()
            self._report()

        await self._deliver(delivery, report_activity)


def _do_nothing(records: object) -> None:
    """Do nothing: ``_each`` does not call the function."""


class StreamConsumer(Consumer):
    """A consumer with one delivery per partition at a time, so that records keep their order."""

    def distribute(self, deliver: Deliver) -> Deferred[None]:
        """Call *deliver* with the records of all partitions until cancelled; fails as :meth:`process`."""
        parts = self._parts
        processor = StreamProcessor(
            deliver,
            reactor=parts.reactor,
            subscriptions=self._subscriptions,
            poller=parts.poller,
            limit=self._max_poll_records,
            report_activity=parts.report_activity,
        )
        return processor.start()

    def check_started(self) -> None:
        """Raise NotStarted before :meth:`start`."""
        self._parts.poller.check_started()

    def yield_to_reactor(self) -> Deferred[None]:
        """Yield to the reactor if it has not run for long; fires when it has, or at once."""
        return self._parts.poller.yield_to_reactor()

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offset after the last delivered record of each partition."""
        return self._subscriptions.positions()

    def auto_commit(self, commit: Commit) -> AutoCommit:
        """Return automatic commits that call *commit* instead of the group's coordinator."""
        interval_ms = self.settings[consumer.AUTO_COMMIT_INTERVAL_MS]
        return AutoCommit(self._parts.reactor, interval_ms, self._subscriptions, commit)
