"""The forms in which ``kafkatx topics`` shows topics: tables for a person, lines or JSON for a program."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkatx.cli.output.terminal import hint, interactive, print_rows, print_table, show_json

if TYPE_CHECKING:
    from kafkatx.clientcore.admin.topics import PartitionDescription, TopicDescription
    from kafkatx.clientcore.metadata import TopicMetadata

PARTITION_COLUMNS = (
    "partition#",
    "leader#",
    "leader epoch#",
    "replicas",
    "in sync",
    "earliest#",
    "latest#",
)


def print_topics(topics: Sequence[TopicMetadata], as_json: bool, header: bool) -> None:
    """Print a line for each topic: its name alone into a pipe."""
    if as_json:
        for topic in topics:
            show_json(_summary(topic))
    elif interactive(sys.stdout):
        if topics:
            rows = [(t.name, len(t.partitions), replicas(t), "yes" if t.internal else "") for t in topics]
            print_table(["topic", "partitions#", "replicas#", "internal"], rows)
    else:
        print_rows(([topic.name] for topic in topics), ["topic"] if header else ())
    if not topics:
        hint("there are no topics: `kafkatx topics create NAME` creates one")


def replicas(topic: TopicMetadata) -> int:
    """Return the number of replicas of each partition."""
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=0)


def _summary(topic: TopicMetadata) -> dict[str, object]:
    return {
        "topic": topic.name,
        "topic_id": str(topic.topic_id),
        "partitions": len(topic.partitions),
        "replicas": replicas(topic),
        "internal": topic.internal,
    }


def print_descriptions(topics: Iterable[TopicDescription], as_json: bool, header: bool, named: bool) -> None:
    """Print topics with their partitions and the settings made for them.

    :param named: begin each line for a program with the topic's name.
    """
    for at, topic in enumerate(topics):
        if as_json:
            show_json(_description(topic))
        elif interactive(sys.stdout):
            _print_tables(topic)
        else:
            _print_lines(topic, header and not at, [topic.name] if named else [])


def _print_tables(topic: TopicDescription) -> None:
    rows = [_partition(partition, ", ") for partition in topic.partitions]
    print_table(PARTITION_COLUMNS, rows, f"topic {topic.name}, id {topic.topic_id}")
    settings = _settings(topic)
    if settings:
        print_table(["setting", "value"], settings)


def _print_lines(topic: TopicDescription, header: bool, name: list[str]) -> None:
    columns = [*(["topic"] if name else []), *PARTITION_COLUMNS] if header else []
    print_rows(([*name, *_partition(partition, ",")] for partition in topic.partitions), columns)
    print_rows([*name, f"{key}={value}"] for key, value in _settings(topic))


def _settings(topic: TopicDescription) -> list[tuple[str, str | None]]:
    return [(entry.name, entry.value) for entry in topic.configs.values() if entry.overridden]


def _partition(partition: PartitionDescription, separator: str) -> tuple[object, ...]:
    known = partition.metadata
    return (
        known.partition,
        known.leader,
        known.leader_epoch,
        separator.join(map(str, known.replicas)),
        separator.join(map(str, known.isr)) or "-",
        partition.earliest,
        partition.latest,
    )


def _description(topic: TopicDescription) -> dict[str, object]:
    return {
        "topic": topic.name,
        "topic_id": str(topic.topic_id),
        "internal": topic.internal,
        "partitions": [
            {
                "partition": p.metadata.partition,
                "leader": p.metadata.leader,
                "leader_epoch": p.metadata.leader_epoch,
                "replicas": list(p.metadata.replicas),
                "isr": list(p.metadata.isr),
                "earliest": p.earliest,
                "latest": p.latest,
            }
            for p in topic.partitions
        ],
        "configs": {entry.name: entry.value for entry in topic.configs.values()},
    }
