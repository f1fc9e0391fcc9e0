"""The decision about a micro-batch, as it is stored; and the names of transactions. Pure.

The group ``<transactional.id>`` has one offset, in partition 0 of a topic of the query: the number of the
batch that was decided last. Its metadata::

    kafkatx <query id> open <parts>      the parts may not all be committed yet
    kafkatx <query id> complete          they are

Parts are base64 of zlib of ``task,attempt,producer id,epoch,protocol`` for each transaction, all joined by
commas. The group ``<transactional.id>-task-<task>-<attempt>`` has the number of the batch that this id has
committed last, and as metadata the query id; both are committed with the transaction's records.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping

import attrs

from kafkatx.blocking.producer.transaction import TransactionHandle
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

MAX_METADATA = 4096
"""Kafka's default of ``offset.metadata.max.bytes``."""

_MARK = "kafkatx"
_OPEN, _COMPLETE = "open", "complete"
_FIELDS = 5


@attrs.frozen
class Part:
    """The transaction of one attempt of a task."""

    task: int
    attempt: int
    producer_id: int
    epoch: int
    implicit: bool

    def handle(self, transactional_id: str) -> TransactionHandle:
        """Return the identity of the transaction.

        :param transactional_id: the query's.
        """
        name = task_id(transactional_id, self.task, self.attempt)
        return TransactionHandle(name, self.producer_id, self.epoch, self.implicit)


@attrs.frozen
class Decision:
    """A micro-batch that counts.

    :ivar parts: its transactions; empty once all of them are committed.
    """

    query_id: str
    batch_id: int
    parts: tuple[Part, ...] = ()


@attrs.frozen
class Stored:
    """The last decision, and where it is stored."""

    decision: Decision
    place: TopicPartition


def task_id(transactional_id: str, task: int, attempt: int) -> str:
    """Return the transactional id of one attempt of a task."""
    return f"{transactional_id}-task-{task}-{attempt}"


def is_task_id(transactional_id: str, name: str) -> bool:
    """Return True if *name* is one of :func:`task_id`."""
    return re.fullmatch(re.escape(transactional_id) + r"-task-\d+-\d+", name) is not None


def encode(decision: Decision) -> OffsetAndMetadata:
    """Return the offset to be committed.

    :raises KafkaTXError: there are too many parts.
    """
    if not decision.parts:
        return OffsetAndMetadata(decision.batch_id, f"{_MARK} {decision.query_id} {_COMPLETE}")
    numbers = [int(number) for part in decision.parts for number in attrs.astuple(part)]
    packed = base64.b64encode(zlib.compress(",".join(map(str, numbers)).encode(), 9)).decode()
    metadata = f"{_MARK} {decision.query_id} {_OPEN} {packed}"
    if len(metadata) > MAX_METADATA:
        raise KafkaTXError(
            f"batch {decision.batch_id} was written by {len(decision.parts)} tasks, whose transactions do not"
            f" fit in {MAX_METADATA} bytes: write with fewer tasks, by coalesce()"
        )
    return OffsetAndMetadata(decision.batch_id, metadata)


def decode(transactional_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Stored | None:
    """Return the last decision; None if there is none.

    :param offsets: all of the group.
    :raises KafkaTXError: they are not of this sink.
    """
    found = [Stored(_decision(transactional_id, offset), place) for place, offset in offsets.items()]
    if len(found) > 1:
        raise _foreign(transactional_id, f"offsets of {len(found)} partitions")
    return found[0] if found else None


def _decision(transactional_id: str, offset: OffsetAndMetadata) -> Decision:
    try:
        mark, query_id, state, *packed = offset.metadata.split(" ")
        numbers = [int(text) for text in _unpacked(*packed)]
        if mark != _MARK or state not in (_OPEN, _COMPLETE) or bool(packed) != (state == _OPEN):
            raise ValueError
        rows = [numbers[at : at + _FIELDS] for at in range(0, len(numbers), _FIELDS)]
        parts = tuple(_part(*row) for row in rows)
    except (ValueError, IndexError, TypeError, zlib.error):
        raise _foreign(transactional_id, f"the offset {offset.offset} with {offset.metadata!r}") from None
    return Decision(query_id, offset.offset, parts)


def _part(task: int, attempt: int, producer_id: int, epoch: int, implicit: int) -> Part:
    return Part(task, attempt, producer_id, epoch, bool(implicit))


def _unpacked(packed: str = "") -> list[str]:
    return zlib.decompress(base64.b64decode(packed)).decode().split(",") if packed else []


def _foreign(transactional_id: str, has: str) -> KafkaTXError:
    return KafkaTXError(
        f"the group {transactional_id!r} has {has}, which this sink has not stored: give the query"
        " another kafka.transactional.id, which no consumer group and no other program uses"
    )
