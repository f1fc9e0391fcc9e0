"""The rules of in-sync replicas that the controller and the leaders share. Pure.

Both write states, and each write keeps these rules:

- :func:`next_eligible`: while there are fewer in-sync replicas than ``min.insync.replicas``, those that have
  left them stay eligible: the high watermark stands still, so they have all committed records (KIP-966).
- :func:`without_lost`: a broker whose machine has gone down since it was in sync may have lost records.
- :func:`is_stale`: a broker whose logs are not those of its last life lacks records of that, and it is not
  known how many: unlike one that may have lost some, it is never elected by what it was.
- :func:`incarnation_checks`: a write that names a broker is made only in the life of the broker that its
  writer knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from kafkatx.interfaces.nodes import Check
from kafkatx.metadata.layout import paths
from kafkatx.types import ClusterState, PartitionState


def next_eligible(state: PartitionState, new_isr: Iterable[int], min_insync: int) -> tuple[int, ...]:
    """Return the eligible brokers after a change of the in-sync replicas, in the order of the replicas.

    :param state: the state before the change.
    :param new_isr: the in-sync replicas after it.
    :param min_insync: ``min.insync.replicas``; more than there are replicas counts as their number.
    :return: none if enough replicas are in sync; else those that were in sync or eligible, and are not in
        sync any more.
    """
    members = frozenset(new_isr)
    if len(members) >= min(min_insync, len(state.replicas)):
        return ()
    able = {*state.eligible, *state.isr} - members
    return tuple(replica for replica in state.replicas if replica in able) if able else ()


def is_lost(broker_id: int, state: PartitionState, cluster: ClusterState) -> bool:
    """Return True if a broker may have lost records that it had when a state was written.

    Its machine has gone down, and it has registered again since the state was written. It may have stopped
    since, and may have registered once more: no controller need have taken notice of that life.
    """
    node = cluster.brokers.get(broker_id)
    if node is not None and not node.clean and state.revision <= node.epoch:
        return True
    return state.revision <= cluster.lost_epochs.get(broker_id, -1)


def is_stale(broker_id: int, state: PartitionState, cluster: ClusterState) -> bool:
    """Return True if a broker has registered with logs of an earlier life since a state was written."""
    return state.revision <= cluster.stale_epochs.get(broker_id, -1)


def without_lost(state: PartitionState, cluster: ClusterState) -> PartitionState:
    """Return a state whose in-sync and eligible brokers have lost no records, if any such are left.

    If all in-sync replicas may have lost records, the eligible ones take their place. If these may have, too,
    one of them stays that is not stale: the first of the replicas that is in sync and live, or the first. If
    all are stale, the state stays as it is: see ``leaders.Replicas.is_stale``.

    :return: the same object if no broker may have lost records.
    """
    lost = [each for each in (*state.isr, *state.eligible) if is_lost(each, state, cluster)]
    if not lost:
        return state
    fresh = [each for each in lost if not is_stale(each, state, cluster)]
    if not fresh and len(lost) == len(state.isr) + len(state.eligible):
        return state
    isr = tuple(each for each in state.isr if each not in lost)
    eligible = tuple(each for each in state.eligible if each not in lost)
    if not isr:
        isr, eligible = eligible, ()
    if not isr:
        able = [each for each in state.isr if each in fresh] or fresh
        order = [each for each in state.replicas if each in able] or able
        isr = tuple([each for each in order if each in cluster.brokers][:1] or order[:1])
    return attrs.evolve(state, isr=isr, eligible=eligible)


def incarnation_checks(versions: Mapping[int, int], named: Iterable[int]) -> list[Check]:
    """Return the checks that the brokers which a transaction names live the lives that its writer knows.

    :param versions: versions of the incarnations by broker id; a broker without one is not checked.
    :param named: leaders, in-sync replicas and eligible brokers of the new states; each is checked once.
    """
    found = {each: versions[each] for each in named if versions.get(each, -1) >= 0}
    return [Check(paths.incarnation(each), found[each]) for each in sorted(found)]


@attrs.frozen
class TopicRules:
    """The configs of a topic that bear on elections.

    :ivar unclean: ``unclean.leader.election.enable``: a replica that is not in sync may be elected.
    :ivar min_insync: ``min.insync.replicas``.
    """

    unclean: bool = False
    min_insync: int = 1
