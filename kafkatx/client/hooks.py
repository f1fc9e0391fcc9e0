"""The hooks around a producer's queue that do nothing, for others to derive from; and calls of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.clientcore.producer.values import ProducerRecord
from kafkatx.interfaces import IEventHandler, IProducerCallbacks


@implementer(IProducerCallbacks)
class ProducerCallbacks:
    """Hears everything and does nothing."""

    def before_enqueue(self, record: ProducerRecord) -> ProducerRecord:
        """The record as it is."""
        return record

    def after_enqueue(self, record: ProducerRecord, added: bool) -> None:
        """Nothing."""

    def after_dequeue(self, batch: ProducerBatch) -> None:
        """Nothing."""

    def before_sending(self, node_id: int, batches: Sequence[ProducerBatch]) -> None:
        """Nothing."""

    def before_close(self) -> Iterable[ProducerRecord]:
        """No records."""
        return ()


@implementer(IEventHandler)
class EventHandler:
    """Sends each request to the broker."""

    def handle(
        self, node_id: int, batches: Sequence[ProducerBatch], send: Callable[[], Deferred[Any]]
    ) -> Deferred[Any]:
        """Send it."""
        return send()

    def close(self) -> None:
        """Nothing is to be given back."""


_log = Logger()


def call_after_enqueue(callbacks: Any, records: Iterable[ProducerRecord], added: bool) -> None:
    """Call ``after_enqueue`` of an ``IProducerCallbacks`` with each record; what it raises is logged."""
    for record in records:
        try:
            callbacks.after_enqueue(record, added)
        except Exception:
            _log.failure("a producer's callback failed")


def records_before_close(callbacks: Any) -> Iterator[ProducerRecord]:
    """Yield the records of ``before_close``; what it raises is logged and ends them."""
    try:
        yield from callbacks.before_close()
    except Exception:
        _log.failure("a producer's callback failed")
