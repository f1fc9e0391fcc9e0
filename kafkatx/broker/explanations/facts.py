"""Facts about a group, a client and the broker, over a window of some seconds. Values only.

Differences are between the ends of the window. Offsets and records are those that this broker knows: in a
cluster it has only some of the partitions.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

import attrs


class Severity(enum.IntEnum):
    """The weight of an explanation; the heaviest come first."""

    NOTE = 0
    """Nothing is wrong."""
    HINT = 1
    """Something that makes it slower than it could be."""
    PROBLEM = 2
    """Something that stands in the way."""


@attrs.frozen
class Explanation:
    """A sentence about why something is slow.

    :ivar rule: the name of the rule, as docs/why-slow.md has it.
    :ivar advice: a remedy; empty if none is needed.
    :ivar evidence: names and values that the rule has looked at.
    """

    rule: str
    severity: Severity
    sentence: str
    advice: str = ""
    evidence: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class PartitionFacts:
    """A partition that a group has offsets of.

    :ivar has_leader: False if no broker leads it, or its log dir here has failed.
    :ivar here: True if this broker has a replica; else offsets are -1.
    :ivar produced: records that came in the window; *consumed*: those that were committed as read.
    :ivar records: records that were written here in the window, in *batches* batches.
    :ivar commit_age_ms: the time since the last commit; None if it is not known.
    :ivar parked: fetches that wait for more records.
    :ivar open_producer_id: the producer of the oldest open transaction; -1: there is none.
    :ivar open_idle_ms: the time since that producer's last write.
    :ivar client_id: of the member that has the partition; "" if there is none.
    """

    topic: str
    partition: int
    has_leader: bool = True
    here: bool = True
    committed: int = 0
    log_start_offset: int = 0
    high_watermark: int = 0
    last_stable_offset: int = 0
    produced: int = 0
    consumed: int = 0
    records: int = 0
    batches: int = 0
    commit_age_ms: int | None = None
    parked: int = 0
    open_producer_id: int = -1
    open_idle_ms: int = 0
    client_id: str = ""

    @property
    def lag(self) -> int:
        """The records that the group has not read; 0 if they are not known."""
        return max(0, self.high_watermark - max(self.committed, self.log_start_offset)) if self.here else 0

    @property
    def held_back(self) -> int:
        """The records that only an open transaction keeps from readers of committed ones."""
        return max(0, self.high_watermark - self.last_stable_offset) if self.here else 0

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@attrs.frozen
class MemberFacts:
    """A member of a group, and how many partitions it has."""

    member_id: str
    client_id: str
    host: str
    partitions: int


@attrs.frozen
class QuotaFacts:
    """A quota that a client is measured by.

    :ivar kind: ``produce``, ``fetch`` or ``request time``.
    :ivar limit: in bytes a second, or percent; *rate* likewise, over the window of quotas.
    :ivar throttle_ms: the time for which its next request would be held back.
    """

    kind: str
    client_id: str
    user: str
    limit: float
    rate: float
    throttle_ms: int


@attrs.frozen
class ClientFacts:
    """A client id.

    :ivar instances: the instances that push metrics.
    :ivar pushed: the largest value of each metric that it has pushed, by name without ``org.apache.kafka.``.
    """

    client_id: str
    quotas: tuple[QuotaFacts, ...] = ()
    instances: int = 0
    pushed: Mapping[str, float] = MappingProxyType({})


@attrs.frozen
class GroupFacts:
    """A group, as its coordinator knows it.

    :ivar state_age_ms: the time since it came into its state; None if it is not known.
    :ivar rebalances: rebalances in the window.
    :ivar partitions_left_out: partitions above the bound of an explanation.
    """

    group_id: str
    kind: str
    state: str
    state_age_ms: int | None = None
    rebalances: int = 0
    members: tuple[MemberFacts, ...] = ()
    partitions: tuple[PartitionFacts, ...] = ()
    partitions_left_out: int = 0

    @property
    def lag(self) -> int:
        """The lag of all partitions."""
        return sum(one.lag for one in self.partitions)


@attrs.frozen
class BrokerFacts:
    """This broker in the window.

    :ivar idle_share: the share of time that the reactor was idle; None if it is not measured.
    :ivar cold_reads: reads of fetch requests that had to wait for the disk.
    :ivar syncs: syncs to the disk of the partitions in question, which took *sync_s* together.
    """

    node_id: int
    window_s: float
    idle_share: float | None = None
    cold_reads: int = 0
    syncs: int = 0
    sync_s: float = 0.0
    fenced: bool = False
    offline_dirs: tuple[str, ...] = ()


@attrs.frozen
class Facts:
    """All that rules look at; *group* is None in an explanation of a client.

    :ivar clients: the client, or those of the group's members.
    """

    broker: BrokerFacts
    group: GroupFacts | None = None
    clients: tuple[ClientFacts, ...] = ()
