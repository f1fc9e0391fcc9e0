"""Who gets which partition of a group: the assignors of Apache Kafka's clients, as pure functions."""

from kafkatx.clientcore.group.assignors.assignor import Assignments, Assignor, Member, Partitions
from kafkatx.clientcore.group.assignors.named import built_in, named
from kafkatx.clientcore.group.assignors.plain import RANGE, ROUND_ROBIN
from kafkatx.clientcore.group.assignors.sticky import COOPERATIVE_STICKY, STICKY

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
