"""Who gets which partition of a group: the assignors of Apache Kafka's clients, as pure functions."""

from kafkatx.clientside.assignors.assignor import Assignments, Assignor, Member, Partitions
from kafkatx.clientside.assignors.named import built_in, named
from kafkatx.clientside.assignors.plain import RANGE, ROUND_ROBIN
from kafkatx.clientside.assignors.sticky import COOPERATIVE_STICKY, STICKY

__all__ = [
    "Assignments",
    "Assignor",
    "COOPERATIVE_STICKY",
    "Member",
    "Partitions",
    "RANGE",
    "ROUND_ROBIN",
    "STICKY",
    "built_in",
    "named",
]
