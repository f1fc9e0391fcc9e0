"""Base classes for a producer's callbacks and event handler (``callback.handler``, ``event.handler``).

They do nothing of their own; derive from them and override what you need. The plugins' interfaces are
:class:`kafkatx.interfaces.IProducerCallbacks` and :class:`kafkatx.interfaces.IEventHandler`.
"""

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
    """Callbacks that do nothing."""

    def before_enqueue(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record as it is."""
        return record

    def after_enqueue(self, record: ProducerRecord, added: bool) -> None:
        """Do nothing after a record was enqueued, or was rejected (*added* is False)."""

    def after_dequeue(self, batch: ProducerBatch) -> None:
        """Do nothing before a batch is sent for the first time."""

    def before_sending(self, node_id: int, batches: Sequence[ProducerBatch]) -> None:
        """Do nothing before a request is sent."""

    def before_close(self) -> Iterable[ProducerRecord]:
        """Return no records."""
        return ()


@implementer(IEventHandler)
class EventHandler:
    """An event handler that sends each request to the broker."""

    def handle(
        self, node_id: int, batches: Sequence[ProducerBatch], send: Callable[[], Deferred[Any]]
    ) -> Deferred[Any]:
        """Send the request; return its Deferred."""
        return send()

    def close(self) -> None:
        """Do nothing when the producer is closed."""


_log = Logger()


def call_after_enqueue(callbacks: IProducerCallbacks, records: Iterable[ProducerRecord], added: bool) -> None:
    """Call ``after_enqueue`` with each record; log its exceptions."""
    for record in records:
        try:
            callbacks.after_enqueue(record, added)
        except Exception:
            _log.failure("a producer's callback failed")


def records_before_close(callbacks: IProducerCallbacks) -> Iterator[ProducerRecord]:
    """Yield the records of ``before_close``; an exception of it is logged and ends them."""
    try:
        yield from callbacks.before_close()
    except Exception:
        _log.failure("a producer's callback failed")
