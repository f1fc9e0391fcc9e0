"""The steps by which a link's topics follow those of the source. Pure.

A topic here belongs to a link if its record says so (:mod:`kafkatx.config.mirror_record`); no other one is
ever touched. The table of what happens to a topic that the link should mirror::

    here                          source                   step
    nothing                       has it                   Create
    a topic of others             has it                   Refused, as long as both are there
    the link's, not promoted      fewer partitions here    Grow
    the link's, not promoted      other configs            Configure
    the link's, not promoted      made anew, deleted,      Mark: failed, with a reason that says what to do
                                  or fewer partitions
    the link's, failed            as its record says       Mark: mirroring again
    the link's, promoted          anything                 nothing, for good

A mirror that the settings do not choose any more is followed all the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs

from kafkatx.clientcore.admin.mirror_links import matches
from kafkatx.config.links import LinkSettings
from kafkatx.config.mirror_record import KAFKATX_MIRROR, MirrorRecord, MirrorState, record_of
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import Topic

FOLLOWED_CONFIGS = (
    "cleanup.policy",
    "compression.type",
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.ms",
)
"""Configs that mean the same in any cluster; replication, placement and flushes are the target's."""

INTERNAL_ENDS = (".internal", "-internal")
"""Ends of the names of topics that programs such as mirrors and Kafka Connect keep for themselves."""


@attrs.frozen
class SourceTopic:
    """A topic of the source.

    :ivar topic_id: zeros if the source is too old for ids (before Apache Kafka 2.8).
    :ivar configs: the followed configs that are set for the topic; None if they are not known now.
    """

    topic_id: uuid.UUID
    partitions: int
    configs: Mapping[str, str] | None = None


@attrs.frozen
class Create:
    """Create a topic with its record."""

    name: str
    partitions: int
    configs: Mapping[str, str]


@attrs.frozen
class Grow:
    """Add partitions to a topic that has *count* of them."""

    name: str
    count: int
    added: int


@attrs.frozen
class Configure:
    """Replace the followed configs of a topic."""

    name: str
    configs: Mapping[str, str]


@attrs.frozen
class Mark:
    """Replace the record of a topic."""

    name: str
    before: MirrorRecord
    after: MirrorRecord


@attrs.frozen
class Refused:
    """A topic that is not mirrored, and why."""

    name: str
    why: str


Step: TypeAlias = Create | Grow | Configure | Mark | Refused


def is_mirrored(name: str, pattern: str, excluded: Sequence[str] = ()) -> bool:
    """Return True if a link's pattern chooses a topic that may be mirrored: none of a cluster's own.

    :param excluded: more names that are not mirrored.
    """
    own = name in INTERNAL_TOPICS or name in excluded
    return (
        not own and not name.startswith("__") and not name.endswith(INTERNAL_ENDS) and matches(pattern, name)
    )


def plan(
    link: LinkSettings,
    source: Mapping[str, SourceTopic],
    here: Mapping[str, Topic],
    excluded: Sequence[str] = (),
) -> Iterator[Step]:
    """Yield the steps that a link's topics need.

    :param source: the topics of the source, at least those that the settings choose and those of the link.
    :param here: the topics of this cluster.
    :param excluded: names that are not mirrored.
    """
    for name, found in sorted(source.items()):
        if not is_mirrored(name, link.topics, excluded):
            continue
        topic = here.get(name)
        record = None if topic is None else record_of(topic.configs)
        if topic is None:
            yield from _create(link, name, found)
        elif record is None or record.link != link.name:
            yield Refused(name, _owner(record))
    for name, topic in sorted(here.items()):
        record = record_of(topic.configs)
        if record is not None and record.link == link.name:
            yield from _follow(link, topic, record, source.get(name))


def _owner(record: MirrorRecord | None) -> str:
    if record is None:
        return (
            "a topic of that name is here already, and not of a link: delete it, or leave it out of the link"
        )
    return f"the topic is mirrored by the link {record.link}"


def _create(link: LinkSettings, name: str, found: SourceTopic) -> Iterator[Step]:
    """Yield the creation of a mirror; none if it would be promoted at once, or is not known enough."""
    if found.configs is None or not found.partitions or matches(link.promoted, name):
        return
    record = MirrorRecord(link.name, found.topic_id, _wanted(link, name))
    yield Create(name, found.partitions, {**found.configs, KAFKATX_MIRROR: record.text()})


def _wanted(link: LinkSettings, name: str) -> MirrorState:
    return MirrorState.PAUSED if matches(link.paused, name) else MirrorState.MIRRORING


def _follow(
    link: LinkSettings, topic: Topic, record: MirrorRecord, found: SourceTopic | None
) -> Iterator[Step]:
    if record.state in (MirrorState.PROMOTED, MirrorState.PROMOTING):
        return
    why = _failure(topic, record, found)
    after = record
    if why:
        after = attrs.evolve(record, state=MirrorState.FAILED, reason=why)
    elif record.state is MirrorState.FAILED:
        after = attrs.evolve(record, state=_wanted(link, topic.name), reason="")
    if after != record:
        yield Mark(topic.name, record, after)
    if found is None or why:
        return
    count = len(topic.partitions)
    if found.partitions > count:
        yield Grow(topic.name, count, found.partitions - count)
    if found.configs is not None and found.configs != followed(topic.configs):
        yield Configure(topic.name, found.configs)


def followed(configs: Mapping[str, str]) -> dict[str, str]:
    """Return those of a topic's configs that are followed."""
    return {name: configs[name] for name in FOLLOWED_CONFIGS if name in configs}


def _failure(topic: Topic, record: MirrorRecord, found: SourceTopic | None) -> str:
    """Return why a topic cannot be mirrored further, and what to do; empty if it can."""
    if found is None:
        return (
            "the source does not have the topic any more: promote it to keep and write to what is here, or"
            " delete it"
        )
    if found.topic_id != record.source_id:
        return (
            "the topic was deleted at the source and made anew: delete it here, and it is mirrored from the"
            " beginning; or promote it to keep what is here"
        )
    if 0 < found.partitions < len(topic.partitions):
        return (
            f"the topic has {len(topic.partitions)} partitions here and {found.partitions} at the source:"
            " delete it here, and it is mirrored from the beginning; or promote it to keep what is here"
        )
    return ""
