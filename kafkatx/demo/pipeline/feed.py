"""The users of the front ends: they cause events at an even rate, each at the next front end in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import IO

TICK_S = 0.05


def feed(
    events: Iterable[tuple[str, bytes]],
    front_ends: Sequence[IO[bytes]],
    per_second: float | None,
    passed: Callable[[int], object],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> int:
    """Write events to the inputs of the front ends; return how many there were.

    :param per_second: events a second; None: as fast as they are taken.
    :param passed: called with their number so far, about every *TICK_S*.
    """
    left, count, began_s = iter(events), 0, clock()
    each_tick = 1000 if per_second is None else max(1, round(per_second * TICK_S))
    while piece := list(islice(left, each_tick)):
        for topic, value in piece:
            front_ends[count % len(front_ends)].write(topic.encode() + b" " + value + b"\n")
            count += 1
        for stream in front_ends:
            with suppress(BrokenPipeError):  # it has ended: its log says why
                stream.flush()
        passed(count)
        if per_second is not None:
            wait_s = began_s + count / per_second - clock()
            if wait_s > 0:
                sleep(wait_s)
    return count
