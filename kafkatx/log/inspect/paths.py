"""The kinds of paths, the files in them, and the locks of log dirs. Reads and locks files.

A log dir has directories of partitions and checkpoints, a partition's directory has segments; their names are
described in :mod:`kafkatx.log.store.file_store` and :mod:`kafkatx.log.segment.segment`.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import os
import re
from collections.abc import Iterator

from kafkatx.errors import KafkaTXError
from kafkatx.log.checkpoint import (
    CLEANED_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOCK,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
)
from kafkatx.types import TopicPartition

OFFSET_CHECKPOINTS = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANED_OFFSETS)

_SEGMENT_FILE = re.compile(r"(\d{20})\.(log|index|timeindex|snapshot|txnindex)")
_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9]\d{0,9})")


class NotALog(KafkaTXError):
    """The path is not part of a log."""


class LogDirInUse(KafkaTXError):
    """A broker is using the log dir; its files must not be changed."""


class Kind(enum.Enum):
    """The kinds of paths that can be inspected."""

    LOG_DIR = "log dir"
    PARTITION = "partition"
    LOG = "log"
    INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    SNAPSHOT = "snapshot"
    OFFSETS = "offsets"
    EPOCHS = "epochs"
    PROPERTIES = "properties"


_BY_SUFFIX = {
    "log": Kind.LOG,
    "index": Kind.INDEX,
    "timeindex": Kind.TIME_INDEX,
    "txnindex": Kind.TRANSACTION_INDEX,
    "snapshot": Kind.SNAPSHOT,
}
_BY_NAME = {
    **dict.fromkeys(OFFSET_CHECKPOINTS, Kind.OFFSETS),
    LEADER_EPOCHS: Kind.EPOCHS,
    META_PROPERTIES: Kind.PROPERTIES,
    PARTITION_METADATA: Kind.PROPERTIES,
}


def kind_of(path: str) -> Kind:
    """Return the kind of *path*, by its name, or by its content if it is a directory.

    :raises NotALog: the path is not part of a log.
    :raises OSError: it cannot be read.
    """
    if not os.path.isdir(path):
        name = os.path.basename(path)
        match = _SEGMENT_FILE.fullmatch(name)
        kind = _BY_SUFFIX.get(match[2]) if match else _BY_NAME.get(name)
        if kind is None:
            raise NotALog(
                f"{path}: no file of a log; there are .log, .index, .timeindex, .txnindex and .snapshot "
                "files, checkpoints, meta.properties and partition.metadata"
            )
        return kind
    names = os.listdir(path)
    if any(_SEGMENT_FILE.fullmatch(name) for name in names) or PARTITION_METADATA in names:
        return Kind.PARTITION
    if not {META_PROPERTIES, *OFFSET_CHECKPOINTS}.isdisjoint(names) or partitions(path):
        return Kind.LOG_DIR
    raise NotALog(f"{path}: neither a log dir nor a partition's directory: no segments, no checkpoints")


def paths_of_brokers(path: str) -> list[str]:
    """Return the log dirs that *path* stands for.

    The data directory of ``kafkatx up --brokers`` has one folder for each broker, named by its id, and may be
    the log dir of one of them itself. Every other path stands for itself.
    """
    found = []
    if os.path.isdir(path):
        names = sorted(filter(str.isdigit, os.listdir(path)), key=int)
        found = [
            folder
            for folder in (os.path.join(path, name) for name in names)
            if os.path.exists(os.path.join(folder, META_PROPERTIES))
        ]
    try:
        kind_of(path)
    except NotALog:
        return found or [path]
    return [path, *found]


def partition_of(directory: str) -> TopicPartition | None:
    """Return the partition of a directory by its name; None if the name is not a partition's."""
    match = _PARTITION.fullmatch(os.path.basename(os.path.abspath(directory)))
    return TopicPartition(match[1], int(match[2])) if match else None


def partitions(log_dir: str) -> list[str]:
    """Return the directories of the partitions in a log dir, by topic and number."""
    found = []
    for name in os.listdir(log_dir):
        path = os.path.join(log_dir, name)
        whose = partition_of(path)
        if whose is not None and os.path.isdir(path):
            found.append((whose, path))
    return [path for _, path in sorted(found)]


def base_offset_of(path: str) -> int:
    """Return the offset in the name of a segment's file; 0 for other files."""
    match = _SEGMENT_FILE.fullmatch(os.path.basename(path))
    return int(match[1]) if match else 0


def base_offsets(directory: str, suffix: str) -> list[int]:
    """Return the base offsets of the files with a suffix (``log``, ``snapshot``), sorted."""
    matches = (_SEGMENT_FILE.fullmatch(name) for name in os.listdir(directory))
    return sorted(int(match[1]) for match in matches if match and match[2] == suffix)


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    """Return the path of one of a segment's files."""
    return os.path.join(directory, f"{base_offset:020d}.{suffix}")


def log_dir_of(path: str, kind: Kind) -> str:
    """Return the log dir of a path."""
    path = os.path.realpath(path)
    if kind is Kind.LOG_DIR:
        return path
    if kind is Kind.PARTITION or os.path.basename(path) in (*OFFSET_CHECKPOINTS, META_PROPERTIES):
        return os.path.dirname(path)
    return os.path.dirname(os.path.dirname(path))


def lock_owner(log_dir: str) -> str | None:
    """Return the process id of the broker that is using a log dir, or "unknown"; None if no broker is.

    The lock is acquired and released at once, because there is no other way to test it. A broker that starts
    within these microseconds would find the log dir locked.
    """
    try:
        fd = os.open(os.path.join(log_dir, LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        _take(fd, fcntl.LOCK_SH)
    except OSError:
        return _owner(fd)
    else:
        return None
    finally:
        os.close(fd)


@contextlib.contextmanager
def locked(log_dir: str) -> Iterator[None]:
    """Lock a log dir while the block runs. A dir without a lock file was never used by a broker.

    :raises LogDirInUse: a broker is using it.
    :raises OSError: the lock file cannot be opened for writing.
    """
    try:
        fd = os.open(os.path.join(log_dir, LOCK), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        try:
            _take(fd, fcntl.LOCK_EX)
        except OSError:
            raise LogDirInUse(
                f"{log_dir} is in use by a broker (pid {_owner(fd)}): stop it before repairing"
            ) from None
        yield
    finally:
        os.close(fd)


def _take(fd: int, how: int) -> None:
    """Lock as kafkatx does (flock) and as a Java virtual machine does (fcntl), which are independent."""
    fcntl.flock(fd, how | fcntl.LOCK_NB)
    fcntl.lockf(fd, how | fcntl.LOCK_NB)


def _owner(fd: int) -> str:
    return os.pread(fd, 20, 0).decode(errors="replace").strip() or "unknown"
