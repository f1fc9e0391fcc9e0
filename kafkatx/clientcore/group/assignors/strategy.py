"""The assignors that a setting chooses: by Kafka's names, by those of plugins, or themselves."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from kafkatx.clientcore.group.assignors.assignor import Assignor
from kafkatx.clientcore.group.assignors.range_roundrobin import RANGE, ROUND_ROBIN
from kafkatx.clientcore.group.assignors.sticky import COOPERATIVE_STICKY, STICKY
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

_SHAPE = ("name", "cooperative", "assign", "user_data")


def built_in(name: str) -> Assignor:
    """One that comes with kafkatx.

    :raises SettingError: none is called so.
    """
    found = BUILT_IN.get(name)
    if found is None:
        near = difflib.get_close_matches(name, BUILT_IN, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SettingError(f"{SETTING}={name}: it must be one of {', '.join(BUILT_IN)}{hint}")
    return found


def assignors_of(chosen: Any, installed: Callable[[str], Any] = built_in) -> tuple[Assignor, ...]:
    """The assignors that ``partition.assignment.strategy`` lists, in its order: the first is liked best.

    :param chosen: names and objects, or one object alone. A class is called for an object of it.
    :param installed: makes the assignor of a name; raises SettingError where none is called so.
    :raises SettingError: a name is unknown, one comes twice, there is none, or an object is no assignor.
    """
    choices = chosen if isinstance(chosen, (list, tuple)) else [chosen]
    assignors = tuple(_one(choice, installed) for choice in choices)
    names = [assignor.name for assignor in assignors]
    if not names or len(set(names)) < len(names):
        raise SettingError(f"{SETTING}={','.join(names)}: name one assignor at least, and each only once")
    return assignors


def _one(choice: Any, installed: Callable[[str], Any]) -> Assignor:
    if isinstance(choice, str):
        return _JAVA.get(choice) or _assignor(installed(choice))
    return _assignor(choice() if isinstance(choice, type) else choice)


def _assignor(made: Any) -> Assignor:
    """The same as one of ours.

    :raises SettingError: it lacks what ``IAssignor`` has.
    """
    if isinstance(made, Assignor):
        return made
    missing = [name for name in _SHAPE if not hasattr(made, name)]
    if missing:
        raise SettingError(f"{SETTING}: {made!r} is no IAssignor, it has no {' and no '.join(missing)}")
    return Assignor(made.name, made.assign, made.cooperative, made.user_data)
