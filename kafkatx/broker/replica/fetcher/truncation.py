"""The offset at which a follower's log agrees with its leader's (KIP-101, KIP-279). Pure.

The leader's answer says where its log ends an epoch: the largest one that it knows up to the follower's last
epoch. With the follower's own largest epoch up to that one:

=========================================  ================================  =====================
the follower knows                         it cuts its log to the least of   then
=========================================  ================================  =====================
that epoch                                 both logs' ends of it             both agree: it fetches
only earlier ones                          its own end of the last of these  it asks again
none, or the leader names no epoch         the leader's end                  it fetches
=========================================  ================================  =====================

and never above its own log end. ``getOffsetTruncationState`` of Apache Kafka's ``AbstractFetcherThread``.
"""

from __future__ import annotations

from kafkatx.interfaces import IPartitionLog
from kafkatx.types import NO_LEADER_EPOCH


def truncation_offset(log: IPartitionLog, leader_epoch: int, end_offset: int) -> int:
    """Return the offset to cut a follower's log to, by the table above.

    :param leader_epoch: the epoch that the leader's answer names; -1 for none.
    :param end_offset: the end of that epoch in the leader's log, exclusive.
    """
    log_end_offset: int = log.log_end_offset
    known, known_end = log.end_offset_for_epoch(leader_epoch)
    if known == NO_LEADER_EPOCH or leader_epoch == NO_LEADER_EPOCH:
        return min(end_offset, log_end_offset)
    if known == leader_epoch:
        return min(end_offset, known_end, log_end_offset)
    return min(known_end, log_end_offset)
