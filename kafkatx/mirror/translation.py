"""The translation of offsets between a source and the target of a mirror, both ways and exact."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.mirror.copy.notes import read_notes
from kafkatx.mirror.copy.recovery import recover
from kafkatx.mirror.copy.target_log import TargetLog
from kafkatx.mirror.core.offset_map import OffsetMap
from kafkatx.mirror.core.provenance import StreamId, producer_id
from kafkatx.networkclient.cluster import Cluster
from kafkatx.types import TopicPartition

MAX_BYTES = 4 << 30


class Translator:
    """The maps of all partitions that a mirror has copied from one source.

    :ivar maps: by stream: cluster, topic and partition of the source, and topic of the target.
    """

    def __init__(self, maps: Mapping[StreamId, OffsetMap]) -> None:
        self.maps = maps

    def to_target(self, topic: str, partition: int, offset: int) -> list[tuple[TopicPartition, int]]:
        """Return where a group goes on in the target that has read a partition of the source up to *offset*.

        :param offset: the next offset that the group would read; a committed offset, for example.
        :return: for each copy of the topic the partition and the offset to go on at: that of the first copy
            of a record from *offset* on. Empty if nothing of the partition was copied.
        """
        found = []
        for stream, known in self.maps.items():
            if (stream.topic, stream.partition) == (topic, partition):
                at = known.to_target(offset)
                if at is not None:
                    found.append((TopicPartition(stream.target, partition), at))
        return sorted(found)

    def to_source(self, topic: str, partition: int, offset: int) -> list[tuple[str, TopicPartition, int]]:
        """Return where a group goes on at the source that has read a partition of the target up to *offset*.

        :return: for each partition of a source that is copied there its cluster's id, the partition, and the
            offset to go on at: that of the original of the first copy from *offset* on.
        """
        found = []
        for stream, known in self.maps.items():
            if (stream.target, stream.partition) == (topic, partition):
                at = known.to_source(offset)
                if at is not None:
                    found.append((stream.cluster_id, TopicPartition(stream.topic, partition), at))
        return sorted(found)


async def read_translator(alias: str, target: Cluster, max_bytes: int = MAX_BYTES) -> Translator:
    """Read the maps of a source: the mirror's notes, and from the target's logs what was copied since.

    :param alias: the source's alias.
    :param target: the cluster that it is copied to, started.
    :param max_bytes: the most bytes of a partition's log that are read.
    :raises KafkaTXError: the target does not answer, or too much would have to be read.
    """
    log = TargetLog(target)
    maps: dict[StreamId, OffsetMap] = {}
    for stream, records in (await read_notes(log, alias)).items():
        known = records.offset_map()
        producer = producer_id(stream.cluster_id, stream.topic)
        place = TopicPartition(stream.target, stream.partition)
        found = (await recover(log, place, {producer: records.position}, {producer: ""}, max_bytes))[producer]
        if found.lost:
            known.forget_from(max(0, found.resumption.position.target))
        for copied in found.copied:
            known.add_offsets(copied.sources, copied.target)
        maps[stream] = known
    return Translator(maps)
