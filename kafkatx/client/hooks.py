"""The hooks around a producer's queue that do nothing: what others may be derived from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from zope.interface import implementer

from kafkatx.clientside.batches import Batch
from kafkatx.clientside.outgoing import ProducerRecord
from kafkatx.interfaces import IEventHandler, IProducerCallbacks


@implementer(IProducerCallbacks)
class ProducerCallbacks:
    """Hears everything and does nothing."""

    def before_enqueue(self, record: ProducerRecord) -> ProducerRecord:
        """The record as it is."""
        return record

    def after_enqueue(self, record: ProducerRecord, added: bool) -> None:
        """Nothing."""

    def after_dequeue(self, batch: Batch) -> None:
        """Nothing."""

    def before_sending(self, node_id: int, batches: Sequence[Batch]) -> None:
        """Nothing."""

    def before_close(self) -> Iterable[ProducerRecord]:
        """No records."""
        return ()


@implementer(IEventHandler)
class EventHandler:
    """Sends each request to the broker."""

    def handle(
        self, node_id: int, batches: Sequence[Batch], send: Callable[[], Deferred[Any]]
    ) -> Deferred[Any]:
        """Send it."""
        return send()

    def close(self) -> None:
        """Nothing is to be given back."""
