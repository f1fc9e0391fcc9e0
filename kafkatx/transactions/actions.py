"""The actions that a transaction's machine returns, and the answers that it gives.

The caller performs the actions of a list in order and at once, before it calls the machine again:

*   :class:`Answer`: send a reply to the request that came with ``token``. A token is any object of the
    caller's, and is answered exactly once.
*   :class:`Store`: append a record to the partition of ``__transaction_state``, then call
    ``stored(error, now_ms)`` and perform the actions that it returns. The change counts from then on.
*   :class:`WriteMarkers`: write the markers to all partitions, then call ``markers_written(now_ms)``.
*   :class:`CompleteLater`: call ``markers_written(now_ms)`` again after a pause.
*   :class:`Remove`: forget the transactional id.
*   :class:`LogLine`: write a line to the broker's log.

Time is ``now_ms``, in milliseconds of a monotonic clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from kafkatx.errors import ErrorCode
from kafkatx.transactions.metadata import Producer
from kafkatx.transactions.records import Record
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

NO_PRODUCER = Producer(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class Reply(NamedTuple):
    """The reply to a request: an error or NONE, and the producer id and epoch to go on with."""

    error: ErrorCode
    producer: Producer = NO_PRODUCER


class Answer(NamedTuple):
    """Send a reply to the request of *token*."""

    token: Any
    reply: Reply


class Store(NamedTuple):
    """Append a record, then call ``stored`` with the result."""

    record: Record


class Marker(NamedTuple):
    """The end of one transaction, as it is written to its partitions.

    :ivar producer: the id and the epoch of the marker.
    :ivar commit: False for an abort.
    :ivar version: the version of transactions, by which partitions check the epoch.
    """

    producer: Producer
    commit: bool
    version: int


class WriteMarkers(NamedTuple):
    """Write a marker to partitions, then call ``markers_written``; there is at least one partition."""

    marker: Marker
    partitions: frozenset[TopicPartition]


class CompleteLater(NamedTuple):
    """Call ``markers_written`` again after a pause: the end of the transaction could not be stored."""


class Remove(NamedTuple):
    """Forget the transactional id: its tombstone is stored."""


class LogLine(NamedTuple):
    """Write a line to the broker's log; ``{id}`` in the format is the transactional id."""

    text: str
    values: Mapping[str, object]
    warn: bool = False


Action: TypeAlias = Answer | Store | WriteMarkers | CompleteLater | Remove | LogLine
