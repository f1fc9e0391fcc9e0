"""The owners of partitions in a group over ZooKeeper, as its nodes tell. Connects to ZooKeeper, by kazoo."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kafkatx.clientcore.legacy.zookeeper.nodes import GroupPaths
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

LOOK_EVERY_S = 0.1


def wait_for_owners(
    connect: str, group: str, topics: Sequence[str], partitions: int, members: int, timeout_s: float
) -> dict[str, list[str]]:
    """Wait until each partition has an owner, and as many members own some; return them by member.

    A record that is being processed while partitions change hands is read twice. Without records none is.

    :param connect: ``HOST:PORT/PATH`` of ZooKeeper.
    :raises KafkaTXError: that takes too long.
    """
    kazoo = KazooClient(connect)
    kazoo.start(timeout_s)
    deadline_s = time.monotonic() + timeout_s
    places = [TopicPartition(topic, number) for topic in topics for number in range(partitions)]
    try:
        while True:
            found = by_member(_owners(kazoo, GroupPaths(group), places))
            if len(found) == members and sum(map(len, found.values())) == len(places):
                return found
            if time.monotonic() > deadline_s:
                raise KafkaTXError(
                    f"the group {group} does not own all partitions after {timeout_s:g} s: {found}"
                )
            time.sleep(LOOK_EVERY_S)
    finally:
        kazoo.stop()
        kazoo.close()


def by_member(owners: Mapping[TopicPartition, str]) -> dict[str, list[str]]:
    """Return the partitions of each member, whose name its streams have before the last hyphen. Pure."""
    found: dict[str, list[str]] = {}
    for place, stream in sorted(owners.items()):
        found.setdefault(stream.rpartition("-")[0], []).append(f"{place.topic}-{place.partition}")
    return found


def _owners(
    kazoo: KazooClient, paths: GroupPaths, places: Collection[TopicPartition]
) -> dict[TopicPartition, str]:
    found = {}
    for place in places:
        try:
            found[place] = kazoo.get(paths.owner(place))[0].decode()
        except NoNodeError:  # it has no owner now
            continue
    return found
