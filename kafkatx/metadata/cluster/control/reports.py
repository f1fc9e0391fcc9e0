"""Lines in the controller's log about what it has written. Pure but for the log.

What may have cost records is said loudly. One line names several partitions, at most :data:`MOST_NAMES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twisted.logger import Logger

from kafkatx.metadata.controller.isr import is_lost, without_lost
from kafkatx.metadata.controller.reassignments import is_reassigned
from kafkatx.metadata.controller.writes import StateWrite, TopicWrite, Write
from kafkatx.types import NO_LEADER, ClusterState, PartitionState

MOST_NAMES = 20

_log = Logger(namespace="kafkatx.metadata.cluster.control.controller")


def report(before: ClusterState, writes: Sequence[Write]) -> None:
    """Write lines about some writes that have been made.

    :param before: the state before them.
    """
    unclean: list[str] = []
    lost: list[str] = []
    leaderless: list[str] = []
    begun: list[str] = []
    ended: list[str] = []
    for write in writes:
        if isinstance(write, TopicWrite) and write.topic.name in before.topics:
            for number in write.changed:
                new = write.topic.partitions[number]
                listed = ",".join(map(str, new.replicas))
                moving = begun if is_reassigned(new) else ended
                moving.append(f"{write.topic.name}-{number} (replicas {listed})")
    for name, old, new in _states(before, writes):
        if old.isr and all(is_lost(each, old, before) for each in (*old.isr, *old.eligible)):
            lost.append(f"{name} (in-sync replicas {','.join(map(str, new.isr))})")
        elif is_unclean(before, old, new):
            had = ",".join(map(str, dict.fromkeys((*old.isr, *old.eligible))))
            unclean.append(f"{name} (broker {new.leader}; in sync: {had})")
        if new.leader == NO_LEADER != old.leader:
            leaderless.append(name)
    if unclean:
        _log.error(
            "unclean leader election: a replica that was not in sync leads {partitions}; the records that"
            " only the brokers in sync have are lost, and it is not known how many",
            partitions=_listed(unclean),
        )
    if lost:
        _log.error(
            "the machines of all in-sync replicas have gone down, those of {partitions}: acknowledged records"
            " that were not on the disk are lost, and it is not known how many",
            partitions=_listed(lost),
        )
    if leaderless:
        _log.warn(
            "no in-sync replica is live, so that there is no leader: {partitions}",
            partitions=_listed(leaderless),
        )
    if begun:
        _log.info("replicas are being reassigned: {partitions}", partitions=_listed(begun))
    if ended:
        _log.info("replicas are reassigned: {partitions}", partitions=_listed(ended))


def is_unclean(before: ClusterState, old: PartitionState, new: PartitionState) -> bool:
    """Return True if the leader of a new state was neither in sync nor eligible in the old one."""
    known = without_lost(old, before)
    return bool(old.isr) and new.leader not in (NO_LEADER, *known.isr, *known.eligible)


def _states(
    before: ClusterState, writes: Sequence[Write]
) -> Iterator[tuple[str, PartitionState, PartitionState]]:
    """Yield the name, the old and the new state of each partition."""
    for write in writes:
        if isinstance(write, StateWrite | TopicWrite):
            for one in (write,) if isinstance(write, StateWrite) else write.states:
                topic = before.topics.get(one.topic)
                if topic is not None and one.partition < len(topic.partitions):
                    yield f"{one.topic}-{one.partition}", topic.partitions[one.partition], one.state


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + rest
