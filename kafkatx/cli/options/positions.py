"""The positions of ``kafkatx consume -o``: parsed from text, then looked up in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster

LATEST = -1
EARLIEST = -2
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
"""Names of isolation levels 0 and 1."""


class BadPosition(ValueError):
    """The text is not a position; the message lists the forms."""


@attrs.frozen
class Position:
    """``beginning``, ``end``, ``offset`` *value*, ``tail`` (the last *value*), ``time`` *value* in ms."""

    kind: str
    value: int = 0


BEGINNING = Position("beginning")
END = Position("end")


def parse(texts: Iterable[str]) -> tuple[Position, int | None]:
    """Parse the ``-o`` options: at most one start, and ``e@MS``, the time to stop at (exclusive).

    ======================  ==========================================
    ``beginning``           the first message
    ``end``                 only new messages
    ``42``                  this offset
    ``-5``                  the last five messages of each partition
    ``s@1700000000000``     the first message at or after this time, in ms
    ``e@1700000000000``     stop before the first message at or after this time
    ======================  ==========================================

    :raises BadPosition: a text has another form, or there are two starts.
    """
    start, stop_ms = None, None
    for text in texts:
        if text.startswith("e@"):
            stop_ms = _number(text, text[2:])
        elif start is not None:
            raise BadPosition(f"{text}: only one position to start at can be given")
        else:
            start = _start(text)
    return start or BEGINNING, stop_ms


def _start(text: str) -> Position:
    if text in ("beginning", "earliest"):
        return BEGINNING
    if text in ("end", "latest"):
        return END
    if text.startswith("s@"):
        return Position("time", _number(text, text[2:]))
    if text.startswith("-"):
        return Position("tail", _number(text, text[1:]))
    return Position("offset", _number(text, text))


def _number(text: str, digits: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise BadPosition(f"{text!r}: give beginning, end, OFFSET, -COUNT, s@MILLISECONDS or e@MILLISECONDS")
    return int(digits)


def resolve(
    cluster: Cluster,
    topic: str,
    partitions: Sequence[int],
    start: Position,
    stop_ms: int | None,
    stop_at_end: bool,
    isolation_level: int = 0,
) -> dict[int, tuple[int, int | None]]:
    """Look up for each partition the first offset and the exclusive end (None: no end).

    A time after the last message stands for the end. Of *stop_ms* and *stop_at_end* the earlier one applies.

    :param isolation_level: 1: the end is the last stable offset.
    """
    latest = _offsets(cluster, topic, partitions, LATEST, isolation_level)
    starts = _starts(cluster, topic, partitions, start, latest)
    if stop_ms is not None:
        by_time = _offsets(cluster, topic, partitions, stop_ms)
        return {p: (starts[p], by_time[p] if by_time[p] >= 0 else latest[p]) for p in partitions}
    return {p: (starts[p], latest[p] if stop_at_end else None) for p in partitions}


def _starts(
    cluster: Cluster, topic: str, partitions: Sequence[int], start: Position, latest: dict[int, int]
) -> dict[int, int]:
    if start.kind == "end":
        return latest
    if start.kind == "offset":
        return dict.fromkeys(partitions, start.value)
    if start.kind == "time":
        by_time = _offsets(cluster, topic, partitions, start.value)
        return {p: by_time[p] if by_time[p] >= 0 else latest[p] for p in partitions}
    earliest = _offsets(cluster, topic, partitions, EARLIEST)
    if start.kind == "tail":
        return {p: max(earliest[p], latest[p] - start.value) for p in partitions}
    return earliest


def _offsets(
    cluster: Cluster, topic: str, partitions: Sequence[int], timestamp: int, isolation_level: int = 0
) -> dict[int, int]:
    found = cluster.offsets(topic, dict.fromkeys(partitions, timestamp), isolation_level)
    return {partition: offset for partition, (offset, _) in found.items()}
