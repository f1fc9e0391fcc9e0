"""Offsets in the nodes of Kafka 0.7, ``/consumers/G/offsets/T/<broker id>-<number>``.

Touches the tree, and writes nothing.

Kafka 0.7 numbers the partitions of each broker from 0, and sorts them by broker. So do we: partition 3 of a
topic that had two partitions at each of two brokers, 1 and 2, is ``2-1``.

Its offsets are positions in bytes of its own log files. They are right for a topic whose records were copied
with these offsets, and wrong for any other; so they are used only if a setting says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from twisted.logger import Logger

from kafkatx.clientcore.legacy.zookeeper import nodes
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import NoNode
from kafkatx.types import TopicPartition


class OldOffsets:
    """The offsets of a group as Kafka 0.7 left them.

    :param wanted: the setting ``kafkatx.zookeeper.old.offsets``; False: they are only told of.
    """

    _log = Logger()

    def __init__(self, tree: ITree, paths: nodes.GroupPaths, wanted: bool) -> None:
        self._tree = tree
        self._paths = paths
        self._wanted = wanted
        self._told: set[str] = set()

    async def read(
        self, places: Iterable[TopicPartition], topics: Mapping[str, int]
    ) -> dict[TopicPartition, int]:
        """Return the offsets of those partitions that have one of Kafka 0.7, if they are wanted.

        :param places: partitions without an offset in today's form.
        :param topics: the number of partitions of each topic.
        :raises TreeError: it failed.
        :raises UnreadableNode: a node has no offset.
        """
        found: dict[TopicPartition, int] = {}
        by_topic: dict[str, list[TopicPartition]] = {}
        for at in places:
            by_topic.setdefault(at.topic, []).append(at)
        for topic, missing in by_topic.items():
            names = await self._names(topic)
            if names and self._usable(topic, names, topics[topic]):
                for at in missing:
                    path = f"{self._paths.offsets(topic)}/{names[at.partition]}"
                    data, _ = await self._tree.read(path)
                    found[at] = nodes.decode_offset(path, data)
        return found

    async def _names(self, topic: str) -> Sequence[str]:
        """Return the nodes' names, sorted by broker and number."""
        try:
            names = await self._tree.children(self._paths.offsets(topic))
        except NoNode:
            return ()
        parsed = {name: place for name in names if (place := nodes.partition_0_7(name)) is not None}
        return sorted(parsed, key=lambda name: parsed[name])

    def _usable(self, topic: str, names: Sequence[str], partitions: int) -> bool:
        """Return True if the offsets are to be used; say once per topic why they are not."""
        if self._wanted and len(names) == partitions:
            return True
        if topic not in self._told:
            self._told.add(topic)
            why = f"they are {len(names)}, and the topic has {partitions} partitions"
            if not self._wanted:
                why = (
                    "they are positions in its log files. For records copied with these offsets set "
                    "kafkatx.zookeeper.old.offsets=true"
                )
            self._log.warn(
                "group {group} has offsets of Kafka 0.7 for topic {topic}, {names}, not used: {why}",
                group=self._paths.group,
                topic=topic,
                names=", ".join(names[:10]),
                why=why,
            )
        return False
