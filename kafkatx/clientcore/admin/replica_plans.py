"""Plans that move replicas between brokers: to drain a broker, or to spread replicas evenly. Pure.

A plan is a list of :class:`Move`, as ``kafkatx cluster move`` executes it. As JSON it has the form of Apache
Kafka's ``kafka-reassign-partitions.sh``::

    {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}]}
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from kafkatx.clientcore.metadata import ClusterMetadata
from kafkatx.errors import SettingError
from kafkatx.types import TopicPartition

Replicas = Sequence[int]
Racks = Mapping[int, "str | None"]


@attrs.frozen
class Move:
    """The new replicas of a partition, the preferred leader first.

    :ivar before: the replicas that it has.
    """

    topic_partition: TopicPartition
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def copied(self) -> int:
        """Number of brokers that must copy the partition."""
        return len(set(self.after) - set(self.before))


class _Placement:
    """Replicas by partition and partitions by broker, while a plan is made."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self.racks: Racks = {broker: node.rack for broker, node in metadata.brokers.items()}
        self.before: dict[TopicPartition, tuple[int, ...]] = {
            TopicPartition(name, partition.partition): partition.replicas
            for name, topic in sorted(metadata.topics.items())
            for partition in topic.partitions.values()
        }
        self.replicas = {name: list(replicas) for name, replicas in self.before.items()}
        self.on: dict[int, dict[TopicPartition, None]] = {broker: {} for broker in sorted(self.racks)}
        for name, replicas in self.before.items():
            for broker in replicas:
                self.on.setdefault(broker, {})[name] = None

    def replace(self, name: TopicPartition, old: int, new: int) -> None:
        replicas = self.replicas[name]
        replicas[replicas.index(old)] = new
        del self.on[old][name]
        self.on[new][name] = None

    def keeps_racks(self, name: TopicPartition, old: int, new: int) -> bool:
        """Return True if the replicas are in as many racks when *new* takes the place of *old*."""
        others = {self.racks.get(broker) for broker in self.replicas[name] if broker != old}
        return len(others | {self.racks.get(new)}) >= len(others | {self.racks.get(old)})

    def moves(self) -> list[Move]:
        return [
            Move(name, self.before[name], tuple(replicas))
            for name, replicas in self.replicas.items()
            if tuple(replicas) != self.before[name]
        ]


def drain(metadata: ClusterMetadata, broker: int) -> list[Move]:
    """Return the moves after which a broker has no replica.

    Each goes to the broker with the fewest replicas, in a rack that has none of the partition if there is
    one.

    :raises SettingError: a partition has a replica on every other live broker.
    """
    placement = _Placement(metadata)
    targets = [each for each in placement.racks if each != broker]
    for name in list(placement.on.get(broker, {})):
        replicas = placement.replicas[name]
        free = [each for each in targets if each not in replicas]
        if not free:
            raise SettingError(
                f"broker {broker} cannot be drained: {name} has {len(replicas)} replicas, and no other live"
                " broker is without one; add a broker, or lower the number of its replicas"
            )
        used = {placement.racks.get(each) for each in replicas if each != broker}
        chosen = min(
            free,
            key=lambda each: (placement.racks[each] in used, len(placement.on[each]), each),
        )
        placement.replace(name, broker, chosen)
    return placement.moves()


def spread(metadata: ClusterMetadata) -> list[Move]:
    """Return the moves after which all live brokers have about as many replicas, and prefer as many leaders.

    No partition has its replicas in fewer racks than before. Only as many replicas are copied as needed; then
    the order of replicas is changed, which copies nothing.
    """
    placement = _Placement(metadata)
    _even_replicas(placement)
    _even_leaders(placement)
    return placement.moves()


def _even_replicas(placement: _Placement) -> None:
    """Move replicas from full brokers until a pass over all of them moves nothing.

    A broker that nothing can leave in one pass, because of racks, may be able to give in the next.
    """
    moved = True
    while moved:
        moved = False
        sources = set(placement.on)
        while sources:
            # a broker that is away has too many in any case
            source = max(
                sources, key=lambda each: (each not in placement.racks, len(placement.on[each]), -each)
            )
            found = _movable(placement, source)
            if found is None:
                sources.discard(source)
            else:
                placement.replace(found[0], source, found[1])
                moved = True


def _movable(placement: _Placement, source: int) -> tuple[TopicPartition, int] | None:
    """Return a partition and the broker that it should move to; None if *source* has none too many."""
    on = placement.on
    for target in sorted(placement.racks, key=lambda each: (len(on[each]), each)):
        if source in placement.racks and len(on[source]) - len(on[target]) <= 1:
            return None
        for name in on[source]:
            if target not in placement.replicas[name] and placement.keeps_racks(name, source, target):
                return name, target
    return None


def _even_leaders(placement: _Placement) -> None:
    """Put the replica first that is first least often, until it changes nothing any more."""
    leads = Counter(replicas[0] for replicas in placement.replicas.values() if replicas)
    changed = True
    while changed:
        changed = False
        for replicas in placement.replicas.values():
            live = [each for each in replicas if each in placement.racks]
            if not live:
                continue
            least = min(live, key=lambda each: leads[each])
            if leads[replicas[0]] - leads[least] > 1 or replicas[0] not in placement.racks:
                first = replicas[0]
                at = replicas.index(least)
                replicas[0], replicas[at] = least, first
                leads[first] -= 1
                leads[least] += 1
                changed = True


def to_json(moves: Iterable[Move], before: bool = False) -> str:
    """Return a plan as JSON.

    :param before: write the replicas that the partitions have: the plan that undoes this one.
    """
    partitions = [
        {
            "topic": move.topic_partition.topic,
            "partition": move.topic_partition.partition,
            "replicas": list(move.before if before else move.after),
        }
        for move in moves
    ]
    return json.dumps({"version": 1, "partitions": partitions})


def from_json(text: str) -> dict[TopicPartition, tuple[int, ...]]:
    """Read the replicas of partitions; ``log_dirs`` must be "any" or missing.

    :raises SettingError: it is not a plan, or names a partition twice.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise SettingError(f"the plan is not JSON: {error}") from None
    items = content.get("partitions") if isinstance(content, dict) else None
    if not isinstance(items, list) or content.get("version", 1) != 1:
        raise SettingError('the plan must be {"version": 1, "partitions": [...]}')
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for item in items:
        match item:
            case {"topic": str(topic), "partition": int(partition), "replicas": list(replicas)} if (
                partition >= 0 and _are_brokers(replicas)
            ):
                name = TopicPartition(topic, partition)
            case _:
                raise SettingError(
                    f'the plan has {json.dumps(item)}; it must be {{"topic": "orders", "partition": 0,'
                    ' "replicas": [1, 2]}'
                )
        if any(each != "any" for each in item.get("log_dirs") or ()):
            raise SettingError(f"the plan has log_dirs of {name}: kafkatx chooses the log dir; write any")
        if name in found:
            raise SettingError(f"the plan has {name} twice")
        found[name] = tuple(replicas)
    return found


def _are_brokers(ids: Collection[object]) -> bool:
    return bool(ids) and len(set(ids)) == len(ids) and all(type(each) is int and each >= 0 for each in ids)


def planned(metadata: ClusterMetadata, wanted: Mapping[TopicPartition, Replicas]) -> list[Move]:
    """Return the moves that give partitions the wanted replicas; those that have them are left out.

    :raises SettingError: there is no such partition, or a broker is not live.
    """
    moves = []
    for name, replicas in wanted.items():
        topic = metadata.topics.get(name.topic)
        partition = topic.partitions.get(name.partition) if topic is not None else None
        if partition is None:
            raise SettingError(f"there is no partition {name}")
        unknown = [each for each in replicas if each not in metadata.brokers]
        if unknown:
            raise SettingError(f"{name}: no live broker has the id {unknown[0]}")
        if tuple(replicas) != partition.replicas:
            moves.append(Move(name, partition.replicas, tuple(replicas)))
    return moves
