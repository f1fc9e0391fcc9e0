"""Conditions that must hold at the end. Pure.

Each function returns faults: a line for each, with offsets.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from tests.copiers.values import ABORT, Value

Place = tuple[str, int]
Seen = tuple[int, Value]
"""The offset of a record, and its value."""

MOST = 20
"""Faults of a kind and a partition that are told."""


@attrs.define
class Count:
    """Faults of one copier by kind."""

    lost: int = 0
    doubled: int = 0
    strange: int = 0
    disordered: int = 0

    def __str__(self) -> str:
        faults = attrs.asdict(self)
        return ", ".join(f"{number} {kind}" for kind, number in faults.items())


def copied(source: Sequence[Seen], target: Sequence[Seen], name: str, count: Count, lines: list[str]) -> None:
    """Check that a partition of the output has each record of the input once, in order.

    :param name: of the partition.
    :param count: gets the number of faults.
    :param lines: get a line for each of the first faults.
    """
    given = {value.number: offset for offset, value in source}
    found = Counter(value.number for _, value in target)
    at: dict[int, list[int]] = {}
    for offset, value in target:
        at.setdefault(value.number, []).append(offset)
    lost = [number for number in given if number not in found]
    doubled = [number for number in found if found[number] > 1]
    strange = [number for number in found if number not in given]
    count.lost += len(lost)
    count.doubled += sum(found[number] - 1 for number in doubled)
    count.strange += len(strange)
    lines += [f"{name}: lost {n}, at {given[n]} in the input" for n in lost[:MOST]]
    lines += [f"{name}: doubled {n}, at {at[n]}; at {given.get(n)} in the input" for n in doubled[:MOST]]
    lines += [f"{name}: {n} at {at[n]} is not in the input" for n in strange[:MOST]]
    firsts = [offset for offset, _ in sorted(_first_copies(target), key=lambda one: one[1].number)]
    wrong = [(one, two) for one, two in itertools.pairwise(firsts) if one > two]
    count.disordered += len(wrong)
    lines += [f"{name}: the records at {two} and {one} are in the wrong order" for one, two in wrong[:MOST]]


def _first_copies(target: Sequence[Seen]) -> Iterator[Seen]:
    known = set()
    for offset, value in target:
        if value.number not in known:
            known.add(value.number)
            yield offset, value


def torn(seen: Mapping[Place, Sequence[Seen]]) -> list[str]:
    """Check that each transaction is there as a whole, and that none is there that was to be aborted."""
    places: dict[str, list[str]] = {}
    values: dict[str, Value] = {}
    for (topic, partition), records in seen.items():
        for offset, value in records:
            values[value.transaction] = value
            places.setdefault(value.transaction, []).append(f"{topic}-{partition} at {offset}")
    faults = []
    for name, value in values.items():
        where = f"{', '.join(places[name][:MOST])}"
        if value.fate == ABORT:
            faults.append(f"transaction {name} was aborted, and seen: {where}")
        elif len(places[name]) != value.count:
            faults.append(f"transaction {name} is torn: {len(places[name])} of {value.count}: {where}")
    return faults


def transactions(seen: Mapping[Place, Sequence[Seen]]) -> set[str]:
    """Return the ids of the transactions that were seen."""
    return {value.transaction for records in seen.values() for _, value in records}


def missing(committed: Collection[str], seen: Mapping[Place, Sequence[Seen]]) -> list[str]:
    """Check that what the broker has acknowledged as committed is there."""
    there = transactions(seen)
    return [f"transaction {name} was committed, and is lost" for name in committed if name not in there]


def same(live: Sequence[Seen], final: Sequence[Seen], name: str) -> list[str]:
    """Check that a reader that ran all along has seen what one sees at the end."""
    if list(live) == list(final):
        return []
    known, seen = dict(final), dict(live)
    faults = [f"{name}: seen at {o}, and is not there: {v}" for o, v in live if known.get(o) != v]
    faults += [f"{name}: at {o}, and was not seen: {v}" for o, v in final if o not in seen]
    return faults[:MOST] or [f"{name}: records were seen twice, or in another order"]
