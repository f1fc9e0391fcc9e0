"""The choice among announced ranges of offsets that overlap, so that each offset counts at most once. Pure.

Ranges of one partition mostly follow each other. After a crash or a change of leaders some may be announced
again, in other lengths::

    announced     0......100......200             by a leader that crashed before it noted 200
                         100...........250        by the next one
                                       250...300
    chosen        0......100                      the most offsets that ranges without overlap hold
                         100...........250...300
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

WEIGHT_BITS = 64
"""An offset more outweighs fewer than ``2**WEIGHT_BITS`` records less."""

Range = tuple[int, int]
"""Start and end of a range of offsets; the end is exclusive."""


def cover(ranges: Sequence[Range], absent: Sequence[int] = ()) -> list[int]:
    """Return the indices of ranges that do not overlap and hold the most offsets, in the order of offsets.

    Of equal ranges the first counts.

    :param absent: of each range, the number of offsets without a record: among choices with as many offsets
        the one with the most records is better.
    """
    order = sorted(range(len(ranges)), key=lambda index: (ranges[index][1], ranges[index][0], index))
    if all(ranges[one][1] <= ranges[other][0] for one, other in pairwise(order)):
        return order
    ends = [ranges[index][1] for index in order]
    most = [0] * (len(order) + 1)  # the weight of the best choice among the first ranges
    before = [0] * len(order)  # how many of these end before the range starts
    for number, index in enumerate(order):
        start, end = ranges[index]
        before[number] = bisect_right(ends, start, 0, number)
        weight = (end - start << WEIGHT_BITS) - (absent[index] if absent else 0)
        most[number + 1] = max(most[number], most[before[number]] + weight)
    chosen = []
    number = len(order)
    while number:
        if most[number] == most[number - 1]:
            number -= 1
        else:
            chosen.append(order[number - 1])
            number = before[number - 1]
    return chosen[::-1]


def holes(ranges: Sequence[Range]) -> list[Range]:
    """Return the ranges of offsets between the first and the last range that are in none of them."""
    found = []
    end = None
    for start, range_end in sorted(ranges):
        if end is not None and start > end:
            found.append((end, start))
        end = range_end if end is None else max(end, range_end)
    return found
