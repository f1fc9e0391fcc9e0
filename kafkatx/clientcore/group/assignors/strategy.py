"""The setting ``partition.assignment.strategy``: assignors by Kafka's name, plugin name, or object."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Protocol, runtime_checkable

from kafkatx.clientcore.group.assignors.assignor import Assignments, Assignor, Member, PartitionCounts
from kafkatx.clientcore.group.assignors.range_roundrobin import RANGE, ROUND_ROBIN
from kafkatx.clientcore.group.assignors.sticky import COOPERATIVE_STICKY, STICKY
from kafkatx.errors import SettingError
from kafkatx.types import TopicPartition

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
"""Class names in the settings of Java clients."""

_ATTRIBUTES = ("name", "cooperative", "assign", "user_data")


@runtime_checkable
class AssignorPlugin(Protocol):
    """The attributes of ``kafkatx.interfaces.IAssignor``, which this package cannot import."""

    name: str
    cooperative: bool

    def assign(self, members: Mapping[str, Member], partitions: PartitionCounts) -> Assignments:
        """Return each member's partitions."""

    def user_data(self, owned: Collection[TopicPartition] | None, generation: int) -> bytes | None:
        """Return what a member tells the leader of its last assignment."""


def built_in(name: str) -> Assignor:
    """Return the built-in assignor with this name.

    :raises SettingError: there is none.
    """
    found = BUILT_IN.get(name)
    if found is None:
        near = difflib.get_close_matches(name, BUILT_IN, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise SettingError(f"{SETTING}={name}: it must be one of {', '.join(BUILT_IN)}{hint}")
    return found


def assignors_of(chosen: object, installed: Callable[[str], object] = built_in) -> tuple[Assignor, ...]:
    """Return the assignors of ``partition.assignment.strategy``, in order of preference.

    :param chosen: a list of names and objects, or one object. A class is instantiated.
    :param installed: returns the assignor with a name; raises SettingError if there is none.
    :raises SettingError: a name is unknown or repeated, there is none, or an object is not an assignor.
    """
    choices = chosen if isinstance(chosen, (list, tuple)) else [chosen]
    assignors = tuple(_one(choice, installed) for choice in choices)
    names = [assignor.name for assignor in assignors]
    if not names or len(set(names)) < len(names):
        raise SettingError(f"{SETTING}={','.join(names)}: name at least one assignor, and each only once")
    return assignors


def _one(choice: object, installed: Callable[[str], object]) -> Assignor:
    if isinstance(choice, str):
        return _JAVA.get(choice) or _assignor(installed(choice))
    return _assignor(choice() if isinstance(choice, type) else choice)


def _assignor(made: object) -> Assignor:
    """Convert an object that provides ``IAssignor``.

    :raises SettingError: it lacks an attribute of ``IAssignor``.
    """
    if isinstance(made, Assignor):
        return made
    if not isinstance(made, AssignorPlugin):
        missing = [name for name in _ATTRIBUTES if not hasattr(made, name)]
        raise SettingError(f"{SETTING}: {made!r} is not an IAssignor, it has no {' and no '.join(missing)}")
    return Assignor(made.name, made.assign, made.cooperative, made.user_data)
