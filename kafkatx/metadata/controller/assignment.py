"""The assignment of replicas to brokers: that of Apache Kafka's ``AdminUtils``, with its results. Pure.

Brokers stand in one order: by id, or, if they have racks (KIP-36), alternating between the racks. Partition p
of a topic (numbered over the whole topic) has its first replica at index ``(p + start) mod n`` of that order.
The other replicas follow at a distance that grows by one each time that the first replicas begin a new round,
so that the partitions of one broker have their other replicas on different brokers. With racks, a broker is
skipped while its rack has a replica and another rack has none.

Five brokers, ten partitions with three replicas, start and shift 0::

    0: 0 1 2    1: 1 2 3    2: 2 3 4    3: 3 4 0    4: 4 0 1
    5: 0 2 3    6: 1 3 4    7: 2 4 0    8: 3 0 1    9: 4 1 2

Start and shift are random numbers below the number of brokers for a new topic; the caller draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, zip_longest

from kafkatx.errors import ErrorCode, RequestError


def assign_replicas(
    brokers: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    start: int,
    shift: int,
    first: int = 0,
) -> list[tuple[int, ...]]:
    """Return the replicas of each of some partitions, the preferred leader first.

    :param brokers: the rack of each live broker by id; None for a broker without a rack.
    :param partitions: number of partitions to assign.
    :param start: index of the broker of partition 0.
    :param shift: distance of the second replica from the first, less 1.
    :param first: number of the first of these partitions in its topic.
    :raises RequestError: INVALID_PARTITIONS; INVALID_REPLICATION_FACTOR: it is not between 1 and the number
        of brokers; INVALID_REPLICA_ASSIGNMENT: some brokers have a rack, and some have none.
    """
    if partitions < 1:
        raise RequestError(ErrorCode.INVALID_PARTITIONS, f"{partitions} partitions: at least 1 is needed")
    if not 1 <= replication_factor <= len(brokers):
        raise RequestError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"replication factor {replication_factor}: the number of live brokers is {len(brokers)}",
        )
    racks = {broker: rack for broker, rack in brokers.items() if rack is not None}
    if racks and len(racks) < len(brokers):
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"brokers {sorted(set(brokers) - set(racks))} have no rack, but the others have: set broker.rack"
            " on all brokers or on none, or create the topic with an assignment of its own",
        )
    order = rack_alternated(racks) if racks else sorted(brokers)
    assigned = []
    for partition in range(first, first + partitions):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        leader = (partition + start) % len(order)
        if racks:
            others = _spread_over_racks(order, racks, leader, shift)
        else:
            others = _followers(order, leader, shift)
        replicas = [order[leader]]
        while len(replicas) < replication_factor:
            replicas.append(next(others))
        assigned.append(tuple(replicas))
    return assigned


def assign_new_partitions(
    brokers: Mapping[int, str | None], existing: Sequence[Sequence[int]], partitions: int
) -> list[tuple[int, ...]]:
    """Return the replicas of partitions that are added to a topic, as ``AdminZkClient.addPartitions`` does.

    The replication factor is that of partition 0. Start and shift are the index, in the order of ids, of
    partition 0's first replica or, if it is not live, of the next live broker.

    :param existing: the replicas of the topic's partitions.
    :param partitions: number of partitions to add.
    :raises RequestError: as :func:`assign_replicas`.
    """
    live = sorted(brokers)
    start = next((index for index, broker in enumerate(live) if broker >= existing[0][0]), 0)
    return assign_replicas(brokers, partitions, len(existing[0]), start, start, len(existing))


def rack_alternated(racks: Mapping[int, str]) -> list[int]:
    """Return the brokers with one of each rack in turn; racks by name, the brokers of a rack by id.

    Racks a: 0, 1, 2; b: 3; c: 6, 7 give 0, 3, 6, 1, 7, 2.
    """
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    turns = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for turn in turns for broker in turn if broker is not None]


def _followers(order: Sequence[int], leader: int, shift: int) -> Iterator[int]:
    """Yield the brokers after that at index *leader*, beginning at a distance, around and around."""
    for step in count(shift):
        yield order[(leader + 1 + step % (len(order) - 1)) % len(order)]


def _spread_over_racks(
    order: Sequence[int], racks: Mapping[int, str], leader: int, shift: int
) -> Iterator[int]:
    """Yield brokers, each once: while a rack has no replica, only brokers of such racks."""
    all_racks = set(racks.values())
    used_racks = {racks[order[leader]]}
    used = {order[leader]}
    for broker in _followers(order, leader, shift * len(all_racks)):
        if broker not in used and (racks[broker] not in used_racks or used_racks == all_racks):
            used.add(broker)
            used_racks.add(racks[broker])
            yield broker
