"""The assignors by their names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from kafkatx.clientside.assignors.assignor import Assignor
from kafkatx.clientside.assignors.plain import RANGE, ROUND_ROBIN
from kafkatx.clientside.assignors.sticky import COOPERATIVE_STICKY, STICKY
from kafkatx.errors import SettingError

SETTING = "partition.assignment.strategy"

BUILT_IN = {assignor.name: assignor for assignor in (RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY)}

_JAVA = {
    f"org.apache.kafka.clients.consumer.{name}": assignor
    for name, assignor in {
        "RangeAssignor": RANGE,
        "RoundRobinAssignor": ROUND_ROBIN,
        "StickyAssignor": STICKY,
        "CooperativeStickyAssignor": COOPERATIVE_STICKY,
    }.items()
}
"""What settings of Java clients say."""


def named(chosen: Iterable[str | Assignor]) -> tuple[Assignor, ...]:
    """The assignors that ``partition.assignment.strategy`` lists, in its order: the first is liked best.

    :raises SettingError: a name is unknown, one comes twice, or there is none.
    """
    assignors = tuple(_one(choice) for choice in chosen)
    names = [assignor.name for assignor in assignors]
    if not names or len(set(names)) < len(names):
        raise SettingError(f"{SETTING}={','.join(names)}: name one assignor at least, and each only once")
    return assignors


def _one(choice: str | Assignor) -> Assignor:
    if isinstance(choice, Assignor):
        return choice
    found = BUILT_IN.get(choice) or _JAVA.get(choice)
    if found is None:
        near = difflib.get_close_matches(choice, BUILT_IN, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SettingError(f"{SETTING}={choice}: it must be one of {', '.join(BUILT_IN)}{hint}")
    return found
