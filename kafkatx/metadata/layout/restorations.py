"""The nodes by which an older copy of the tree is noticed, and leaders are found after it. Pure.

- ``/kafkatx/restorations``: ``{"version":1,"number":2}``: how often an older copy was put back, plus 1; empty
  in a new cluster, which counts as 1.
- ``/kafkatx/restoring``: ``{"version":1}``, while states of partitions from before are left.
- ``/kafkatx/log_ends/1``, ephemeral: ``{"version":1,"partitions":{"T":[[0,8,7,7,120]]}}``: number of the
  partition, and the fields of ``types.LogEnd``.

The *generation* of a tree is its number of restorations with the sequence number of its last change record.
It never goes back but in an older copy: log dirs note the highest that their broker has seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.metadata.layout.fields import encode, parse
from kafkatx.metadata.layout.paths import RESTORATIONS
from kafkatx.types import LogEnd, TopicPartition

VERSION = 1
FIRST = 1
_CHANGES_BITS = 32


def generation(restorations: int, applied: int) -> int:
    """Return the generation of a tree; above that of any embedded state, which counts its changes alone.

    :param applied: sequence number of the last change record; -1 if there is none.
    """
    return (restorations << _CHANGES_BITS) + max(applied, 0)


def restorations_of(generation: int) -> int:
    """Return the number of restorations in a generation."""
    return generation >> _CHANGES_BITS


def described(generation: int) -> str:
    """Return a generation for people: ``120``, or ``2-120`` after a restoration."""
    changes = generation & ((1 << _CHANGES_BITS) - 1)
    restorations = restorations_of(generation)
    return str(changes) if restorations <= FIRST else f"{restorations}-{changes}"


def encode_restorations(number: int) -> bytes:
    """Return the content of ``/kafkatx/restorations``."""
    return encode({"version": VERSION, "number": number})


def decode_restorations(data: bytes) -> int:
    """Read the content of ``/kafkatx/restorations``.

    :raises UnreadableNode: it is not one of version 1.
    """
    if not data:
        return FIRST
    fields = parse(RESTORATIONS, data)
    fields.version(VERSION, VERSION)
    return fields.integer("number", lowest=FIRST)


def encode_restoring() -> bytes:
    """Return the content of ``/kafkatx/restoring``."""
    return encode({"version": VERSION})


def encode_log_ends(ends: Mapping[TopicPartition, LogEnd]) -> bytes:
    """Return the content of the list of the ends of a broker's logs."""
    topics: dict[str, list[tuple[int, ...]]] = {}
    for (topic, partition), end in sorted(ends.items()):
        topics.setdefault(topic, []).append((partition, *end))
    return encode({"version": VERSION, "partitions": topics})


def decode_log_ends(path: str, data: bytes) -> dict[TopicPartition, LogEnd]:
    """Read the content of the list of the ends of a broker's logs.

    :raises UnreadableNode: it is not one of version 1.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    found = fields.object("partitions")
    ends: dict[TopicPartition, LogEnd] = {}
    for topic in found:
        for entry in found.items(topic):
            if not isinstance(entry, list) or [type(number) for number in entry] != [int] * 5:
                raise found.wrong(topic, "a list of lists of five numbers")
            ends[TopicPartition(topic, entry[0])] = LogEnd(*entry[1:])
    return ends
