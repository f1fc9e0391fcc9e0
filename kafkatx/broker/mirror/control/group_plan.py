"""The committed offsets of groups that a link copies, and the groups that it leaves alone. Pure.

Offsets are the same on both sides, so they are copied as they are. A group that is used here is never
overwritten. It is used if it has members or has had some, or if another client has committed one of its
offsets of mirrored topics. The link knows its own commits, also those of an earlier controller::

    the offset here                                           whose it is
    equal to what this controller has committed last          the link's
    with the mark of the link as its metadata                 the link's
    with other metadata than the mark, but the source's,      the link's, if it is not ahead of the source's
      and the source's is not empty
    anything else                                             of another client

The mark stands where the source's metadata are empty, as most are; other metadata are copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.types import TopicPartition

GroupOffsets: TypeAlias = Mapping[TopicPartition, OffsetAndMetadata]
MirroredTopics: TypeAlias = Mapping[str, int]
"""The number of partitions of each mirrored topic, by its name."""


@attrs.frozen
class GroupHere:
    """A group as it is in this cluster.

    :ivar was_joined: it has members, or has had some.
    :ivar offsets: its committed offsets for mirrored topics.
    """

    was_joined: bool
    offsets: GroupOffsets


NOT_HERE = GroupHere(False, {})


def mark_of(link: str) -> str:
    """Return the metadata of offsets that a link has committed."""
    return f"kafkatx.mirror={link}"


def offsets_in(topics: Iterable[Any], wanted: MirroredTopics) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the committed offsets of an answer's topics, in any version, for some topics."""
    found = {}
    for topic in topics:
        count = wanted.get(topic.name, 0)
        for one in topic.partitions:
            if not one.error_code and one.committed_offset >= 0 and one.partition_index < count:
                found[TopicPartition(topic.name, one.partition_index)] = OffsetAndMetadata(
                    one.committed_offset, one.metadata or "", one.committed_leader_epoch
                )
    return found


def copied(link: str, source: GroupOffsets) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return what is to be committed here for the source's offsets."""
    return {
        at: offset if offset.metadata else offset._replace(metadata=mark_of(link))
        for at, offset in source.items()
    }


def is_used(link: str, here: GroupHere, source: GroupOffsets, written: GroupOffsets) -> bool:
    """Return True if a group is used here: it is left alone then.

    :param source: its offsets at the source.
    :param written: what this controller has committed for it.
    """
    return here.was_joined or not all(
        _is_of_link(link, offset, source.get(at), written.get(at)) for at, offset in here.offsets.items()
    )


def _is_of_link(
    link: str, here: OffsetAndMetadata, source: OffsetAndMetadata | None, written: OffsetAndMetadata | None
) -> bool:
    if written is not None:
        return here == written
    if here.metadata == mark_of(link):
        return True
    return (
        source is not None and bool(source.metadata) and bool(here.metadata) and here.offset <= source.offset
    )


def changes(link: str, source: GroupOffsets, here: GroupOffsets) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets to commit for a group that is not used here."""
    return {at: offset for at, offset in copied(link, source).items() if here.get(at) != offset}


def beyond(
    here: GroupOffsets, ends: Mapping[str, tuple[int, ...]]
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return what to commit in place of offsets that are beyond the ends of promoted topics."""
    return {
        at: OffsetAndMetadata(ends[at.topic][at.partition])
        for at, offset in here.items()
        if at.topic in ends
        and at.partition < len(ends[at.topic])
        and offset.offset > ends[at.topic][at.partition]
    }
