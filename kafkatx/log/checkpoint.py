"""The small text files beside the segments, in Apache Kafka's formats. Pure: text to values and back.

Offset checkpoints (``recovery-point-offset-checkpoint``, ``log-start-offset-checkpoint``,
``replication-offset-checkpoint``, ``cleaner-offset-checkpoint``)::

    0
    <number of lines that follow>
    <topic> <partition> <offset>

``stray.metadata`` in a stray partition's directory has ``name: value`` lines: what the directory was called,
and why it was put aside. ``kafkatx-generation`` has the number of the last change of the cluster's state that
was noted in this log dir, and its CRC-32 in hexadecimal.

``kafkatx-transaction-checksums`` in a partition's directory has ``<base offset> <entries> <CRC-32C>`` per
line, the last in hexadecimal, for each ``.txnindex``: that format has no checksum of its own.

``leader-epoch-checkpoint`` has ``<epoch> <start offset>`` per line. ``partition.metadata`` and
``meta.properties`` are ``name: value`` and ``name=value`` lines.
"""

from __future__ import annotations

import base64
import binascii
import uuid
import zlib
from collections.abc import Iterable, Mapping
from itertools import pairwise

from kafkatx.names import META_PROPERTIES as META_PROPERTIES
from kafkatx.types import TopicPartition

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANED_OFFSETS = "cleaner-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
TRANSACTION_CHECKSUMS = "kafkatx-transaction-checksums"
PARTITION_METADATA = "partition.metadata"
STRAY_METADATA = "stray.metadata"
GENERATION = "kafkatx-generation"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"

NO_TOPIC_ID = uuid.UUID(int=0)
"""The id of a log made by a version without topic ids."""


class CheckpointDamaged(Exception):
    """The content of a file is not valid."""


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Return the content of an offset checkpoint."""
    return _encode(f"{tp.topic} {tp.partition} {offset}" for tp, offset in sorted(offsets.items()))


def decode_offsets(data: bytes) -> dict[TopicPartition, int]:
    """Read an offset checkpoint.

    :raises CheckpointDamaged: it is not one.
    """
    try:
        rows = [line.split(" ") for line in _decode(data)]
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in rows}
    except ValueError as error:
        raise CheckpointDamaged(str(error)) from error


def encode_checksums(checksums: Mapping[int, tuple[int, int]]) -> bytes:
    """Return the content of ``kafkatx-transaction-checksums``: base offset -> number of entries and CRC."""
    return _encode(f"{base} {count} {crc:08x}" for base, (count, crc) in sorted(checksums.items()))


def decode_checksums(data: bytes) -> dict[int, tuple[int, int]]:
    """Read ``kafkatx-transaction-checksums``.

    :raises CheckpointDamaged: it is not one.
    """
    try:
        rows = [line.split(" ") for line in _decode(data)]
        return {int(base): (int(count), int(crc, 16)) for base, count, crc in rows}
    except ValueError as error:
        raise CheckpointDamaged(str(error)) from error


def encode_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """Return the content of ``leader-epoch-checkpoint``."""
    return _encode(f"{epoch} {start_offset}" for epoch, start_offset in entries)


def decode_epochs(data: bytes) -> list[tuple[int, int]]:
    """Read ``leader-epoch-checkpoint``.

    :raises CheckpointDamaged: it is not one, or epochs or offsets do not rise.
    """
    try:
        rows = [line.split(" ") for line in _decode(data)]
        entries = [(int(epoch), int(start_offset)) for epoch, start_offset in rows]
    except ValueError as error:
        raise CheckpointDamaged(str(error)) from error
    for (epoch, start), (next_epoch, next_start) in pairwise(entries):
        if not (epoch < next_epoch and start < next_start):
            raise CheckpointDamaged(f"{next_epoch} {next_start} follows {epoch} {start}")
    return entries


def _encode(lines: Iterable[str]) -> bytes:
    rows = list(lines)
    return "\n".join(["0", str(len(rows)), *rows, ""]).encode()


def _decode(data: bytes) -> list[str]:
    if not data.endswith(b"\n"):
        raise ValueError("the last line has no end: it may be a part of what was written")
    version, count, *rows = data.decode().splitlines()
    if int(version) != 0 or int(count) != len(rows):
        raise ValueError(f"version {version}, {count} lines announced, {len(rows)} found")
    return rows


def encode_partition_metadata(topic_id: uuid.UUID) -> bytes:
    """Return the content of ``partition.metadata``; the id is in Kafka's url-safe base64, not padded."""
    text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    return f"version: 0\ntopic_id: {text}".encode()


def decode_partition_metadata(data: bytes) -> uuid.UUID:
    """Read ``partition.metadata``.

    :raises CheckpointDamaged: it names no topic id.
    """
    try:
        pairs = dict(line.split(": ", 1) for line in data.decode().splitlines())
        return uuid.UUID(bytes=base64.urlsafe_b64decode(pairs["topic_id"] + "=="))
    except (ValueError, KeyError, binascii.Error) as error:
        raise CheckpointDamaged(str(error)) from error


def encode_meta_properties(pairs: Mapping[str, str]) -> bytes:
    """Return the content of ``meta.properties``."""
    return "".join(f"{name}={value}\n" for name, value in pairs.items()).encode()


def decode_meta_properties(data: bytes) -> dict[str, str]:
    """Read ``meta.properties``; lines that are comments or no pairs are ignored."""
    lines = [line.strip() for line in data.decode(errors="replace").splitlines()]
    pairs = [line.partition("=") for line in lines if not line.startswith("#")]
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def encode_generation(generation: int) -> bytes:
    """Return the content of ``kafkatx-generation``."""
    return b"%d %08x\n" % (generation, zlib.crc32(b"%d" % generation))


def decode_generation(data: bytes) -> int:
    """Read ``kafkatx-generation``; 0 if it is not one."""
    number = data.partition(b" ")[0]
    return int(number) if number.isdigit() and data == encode_generation(int(number)) else 0


def encode_stray(was: str, why: str) -> bytes:
    """Return the content of ``stray.metadata``."""
    return f"version: 0\nwas: {was}\nwhy: {why}\n".encode()


def decode_stray(data: bytes) -> str | None:
    """Read the original name of a stray directory; None if ``stray.metadata`` lacks it."""
    for line in data.decode(errors="replace").splitlines():
        name, _, value = line.partition(": ")
        if name == "was":
            return value
    return None
