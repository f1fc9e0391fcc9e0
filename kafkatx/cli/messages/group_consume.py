"""``kafkatx consume -G``: print the partitions that a consumer group assigns."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from kafkatx.cli.options.cluster import first_contact
from kafkatx.cli.output.progress import ProgressBar
from kafkatx.cli.output.records import MakeRenderer, Rows, WrapRenderer
from kafkatx.cli.output.terminal import interactive
from kafkatx.cli.process.signals import Stop, die

if TYPE_CHECKING:
    from kafkatx.client.threads import Admin, Consumer
    from kafkatx.clientcore.consumer.record import Record
    from kafkatx.types import TopicPartition

MOST_RECORDS = 10_000
LOOK_MS = 100
"""Without records it checks this often for the end of the partitions, for signals and for the idle time."""


class _Joined:
    """A rebalance listener that knows if this consumer has an assignment."""

    def __init__(self) -> None:
        self.known = threading.Event()

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        """Note that there is an assignment, even an empty one."""
        self.known.set()


def consume_group(
    settings: Mapping[str, object],
    topics: Sequence[str],
    at_end: bool,
    make: MakeRenderer | None,
    count: int | None,
    stop_at_end: bool,
    out: IO[bytes],
    idle_s: float | None = None,
    wrap: WrapRenderer | None = None,
) -> None:
    """Join the group, print the records that it assigns, commit what is printed.

    Ctrl-C and SIGTERM take effect when all records that were returned are printed. In between, closing would
    commit records that are not printed, or miss some that are. A second signal (the reader of *out* may be
    stuck) ends the process without another commit.

    :param at_end: start at the end of partitions without a committed offset.
    :param make: None prints JSON.
    :param count: stop after this many messages; *stop_at_end* at the ends of all assigned partitions.
    :param idle_s: stop after this long without a message.
    :param wrap: applied to each topic's renderer, as for :class:`Rows`.
    :raises UnknownTopic: one of them is not there.
    :raises KafkaTXError: a message cannot be decoded; it, and those returned with it, are not committed.
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
        first_contact(str(settings["bootstrap.servers"])) as contact,
        Consumer(settings, auto_offset_reset=reset, allow_auto_create_topics=False) as consumer,
        ProgressBar(f"from {', '.join(topics)}", count, enabled=enabled) as bar,
    ):
        _check(topics, Admin(beside=consumer))
        contact.over()
        consumer.subscribe(topics, listener=joined)
        rows = Rows(consumer, make, wrap)
        moved_at = time.monotonic()
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
                    moved_at = time.monotonic()
                elif not joined.known.is_set():
                    moved_at = time.monotonic()
                elif _is_idle(moved_at, idle_s) or (stop_at_end and _ended(consumer)):
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
    """Print records; if that fails, they are not committed."""
    from kafkatx.client.consumer.iterators import rewind

    try:
        out.write(rows.render(found))
        out.flush()
    except BaseException:
        rewind(consumer.seek, found)
        raise


def _is_idle(moved_at: float, idle_s: float | None) -> bool:
    return idle_s is not None and time.monotonic() - moved_at >= idle_s


def _ended(consumer: Consumer) -> bool:
    """Return True if all records of the assigned partitions were returned."""
    from kafkatx.clientcore.errors import NotAssigned

    with suppress(NotAssigned):  # a rebalance is under way
        ends = consumer.end_offsets(*consumer.assignment())
        return all(consumer.position(place) >= end for place, end in ends.items())
    return False
