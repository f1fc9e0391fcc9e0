"""Options that name topics and partitions of them: ``-t TOPIC``, ``-t TOPIC:0,1``, ``-t TOPIC -p 0 -p 1``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])


def scope_options(command: F) -> F:
    """Add ``-t/--topic`` and ``-p/--partition``, passed as *topics* and *partitions*."""
    topics = click.option(
        "-t",
        "--topic",
        "topics",
        metavar="TOPIC[:N,...]",
        multiple=True,
        help="Topic, or partitions of it; repeatable.",
    )
    partitions = click.option(
        "-p",
        "--partition",
        "partitions",
        metavar="N",
        type=click.IntRange(min=0),
        multiple=True,
        help="Partition of the topic; repeatable.",
    )
    return topics(partitions(command))


def parse_scope(topics: Iterable[str], partitions: Iterable[int]) -> dict[str, set[int]]:
    """Return the topics and their chosen partitions; an empty set means all partitions.

    :raises click.UsageError: a partition is not a number, or *partitions* come without exactly one topic.
    """
    found: dict[str, set[int]] = {}
    for text in topics:
        name, colon, numbers = text.partition(":")  # no topic has a colon in its name
        chosen = found.setdefault(name, set())
        if not name or (colon and not all(map(_is_partition, numbers.split(",")))):
            raise click.UsageError(f"{text}: give TOPIC or TOPIC:0,1,2")
        if colon:
            chosen.update(map(int, numbers.split(",")))
    extra = set(partitions)
    if extra and len(found) != 1:
        raise click.UsageError("--partition needs exactly one topic; for several write TOPIC:0,1")
    for chosen in found.values():
        chosen.update(extra)
    return found


def _is_partition(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
