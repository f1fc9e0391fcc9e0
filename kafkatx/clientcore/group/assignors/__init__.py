"""Partition assignors: the strategies of Apache Kafka's clients, as pure functions."""

from kafkatx.clientcore.group.assignors.assignor import Assignments, Assignor, Member, PartitionCounts
from kafkatx.clientcore.group.assignors.range_roundrobin import RANGE, ROUND_ROBIN
from kafkatx.clientcore.group.assignors.sticky import COOPERATIVE_STICKY, STICKY
from kafkatx.clientcore.group.assignors.strategy import assignors_of, built_in

__all__ = [
    "Assignments",
    "Assignor",
    "COOPERATIVE_STICKY",
    "Member",
    "PartitionCounts",
    "RANGE",
    "ROUND_ROBIN",
    "STICKY",
    "built_in",
    "assignors_of",
]
