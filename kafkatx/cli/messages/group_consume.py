"""``kafkatx consume -G``: print a group's share of topics."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from kafkatx.cli.output.records import MakeRenderer, Rows
from kafkatx.cli.output.terminal import ProgressBar, interactive
from kafkatx.cli.process.signals import Stop, die

if TYPE_CHECKING:
    from kafkatx.client.threads import Admin, Consumer
    from kafkatx.clientcore.consumer.record import Record
    from kafkatx.types import TopicPartition

MOST_RECORDS = 10_000
LOOK_MS = 100
"""So long nothing has come before it is looked whether this is the end, or somebody wants it to be."""


class _Joined:
    """A rebalance listener that knows whether the group has said which partitions are ours."""

    def __init__(self) -> None:
        self.known = threading.Event()

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """It has, be it none."""
        self.known.set()


def consume_group(
    settings: Mapping[str, Any],
    topics: Sequence[str],
    at_end: bool,
    make: MakeRenderer | None,
    count: int | None,
    stop_at_end: bool,
    out: IO[bytes],
) -> None:
    """Join the group, print what it gives, commit what is printed.

    Ctrl-C and SIGTERM are taken when what was given is printed. Raised anywhere, they might come when records
    are given and not yet printed, and closing would commit those; or when they are printed, and nobody knows
    it. A second signal, when the reader of *out* is stuck say, ends the process, which commits nothing more.

    :param at_end: where the group has no offset, begin at the end.
    :param count: stop after so many messages; *stop_at_end* when the ends of all our partitions are reached.
    :raises UnknownTopic: one of them is not there.
    :raises KeyboardInterrupt: a signal asked for the end; what is printed is committed.
    :raises BrokenPipeError: the reader of *out* has gone; what it may not have seen is not committed.
    """
    from kafkatx.cli.process.warnings import warnings_shown
    from kafkatx.client.threads import Admin, Consumer

    reset = "latest" if at_end else "earliest"
    joined, stop = _Joined(), Stop(now=die)
    left = count
    enabled = None if count is not None and not interactive(sys.stdout) else False
    with (
        warnings_shown(),
        Consumer(settings, auto_offset_reset=reset, allow_auto_create_topics=False) as consumer,
        ProgressBar(f"from {', '.join(topics)}", count, enabled=enabled) as bar,
    ):
        _check(topics, Admin(beside=consumer))
        consumer.subscribe(topics, listener=joined)
        rows = Rows(consumer, make)
        with stop.listening():
            while left is None or left > 0:
                if stop.event.is_set():
                    raise KeyboardInterrupt
                limit = MOST_RECORDS if left is None else min(left, MOST_RECORDS)
                found = consumer.getmany(limit, LOOK_MS)
                if found:
                    write(consumer, found, rows, out)
                    written = sum(map(len, found.values()))
                    bar.advance(written)
                    left = None if left is None else left - written
                elif stop_at_end and joined.known.is_set() and _ended(consumer):
                    return


def _check(topics: Sequence[str], admin: Admin) -> None:
    from kafkatx.clientcore.errors import UnknownTopic

    there = admin.metadata().topics
    for name in topics:
        if name not in there:
            raise UnknownTopic(name)


def write(
    consumer: Consumer, found: Mapping[TopicPartition, list[Record]], rows: Rows, out: IO[bytes]
) -> None:
    """Print records; if that fails the group gets them again."""
    from kafkatx.client.consumer.iterators import rewind

    try:
        out.write(rows.render(found))
        out.flush()
    except BaseException:
        rewind(consumer.seek, found)
        raise


def _ended(consumer: Consumer) -> bool:
    """Whether everything in our partitions has been handed out."""
    from kafkatx.clientcore.errors import NotAssigned

    with suppress(NotAssigned):  # a rebalance meanwhile
        ends = consumer.end_offsets(*consumer.assignment())
        return all(consumer.position(place) >= end for place, end in ends.items())
    return False
