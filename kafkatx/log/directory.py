"""One log dir: its lock, its checkpoints, and the directories of its partitions.

All methods but :meth:`LogDir.unlock` block: they run in the dir's worker.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import uuid
from collections.abc import Mapping, Sequence

import attrs
from twisted.logger import Logger

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import PartitionUnavailable, SettingError
from kafkatx.log.checkpoint import (
    CLEAN_SHUTDOWN,
    CLEANED_OFFSETS,
    HIGH_WATERMARKS,
    LOCK,
    LOG_STARTS,
    META_PROPERTIES,
    NO_TOPIC_ID,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    CheckpointDamaged,
    decode_meta_properties,
    decode_offsets,
    decode_partition_metadata,
    encode_meta_properties,
    encode_offsets,
    encode_partition_metadata,
)
from kafkatx.log.faults import ONE_FILES
from kafkatx.log.files import Files
from kafkatx.log.progress import Progress
from kafkatx.log.recovery import Loaded, load
from kafkatx.types import SharedFile, TopicPartition

_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})-(0|[1-9]\d{0,9})")
_DOOMED = re.compile(r".+\.[0-9a-f]{32}-delete")
_MAX_NAME = 255


@attrs.frozen
class Found:
    """A partition's directory and whose it is."""

    topic_partition: TopicPartition
    topic_id: uuid.UUID


class LogDir:
    """One entry of ``log.dirs``.

    :ivar unavailable: the partitions that could not be loaded: what the checkpoints say of them is kept.
    """

    log = Logger()

    def __init__(self, files: Files, path: str, broker_id: int) -> None:
        self.path = path
        self._files = files
        self._broker_id = broker_id
        self._lock: SharedFile | None = None
        self._clean = False
        self._recovery_points: Mapping[TopicPartition, int] = {}
        self._log_starts: Mapping[TopicPartition, int] = {}
        self._cleaned: Mapping[TopicPartition, int] = {}
        self.unavailable: set[TopicPartition] = set()

    def _join(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    # --- the lock

    def lock(self) -> None:
        """Make the dir if it is missing, and take it.

        :raises OSError: it cannot be written.
        :raises SettingError: another broker has it, or it belongs to another id.
        """
        if not self._files.is_dir(self.path):
            self._files.make_dirs(self.path)
            self._files.sync_dir(os.path.dirname(self.path))
        file = self._files.open(self._join(LOCK), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = self._files.pread(file, 20, 0).decode(errors="replace").strip() or "unknown"
            raise SettingError(f"log.dirs={self.path}: locked by another broker (pid {pid})") from error
        self._lock = file
        pid_line = f"{os.getpid()}\n".encode()
        with contextlib.suppress(OSError):  # a full disk can be read: the number is for people only
            self._files.truncate(file, 0)
            self._files.writev(file, [pid_line], 0, len(pid_line))
        self._check_owner()

    @property
    def locked(self) -> bool:
        """Whether this broker has the dir."""
        return self._lock is not None

    def unlock(self) -> None:
        """Let go of the dir; the lock ends with the descriptor."""
        self._lock = None

    def _check_owner(self) -> None:
        """See whose ``meta.properties`` it is; a new dir becomes this broker's."""
        data = self._files.read(self._join(META_PROPERTIES))
        if data is None:
            content = encode_meta_properties(self._broker_id, None)
            self._files.replace(self._join(META_PROPERTIES), content)
            return
        owner = decode_meta_properties(data).get("broker.id")
        if owner is not None and owner != str(self._broker_id):
            raise SettingError(
                f"log.dirs={self.path}: belongs to broker.id={owner}, not to broker.id={self._broker_id}; "
                "set broker.id or name another directory"
            )

    # --- opening

    def find(self) -> list[Found]:
        """The partitions that are here. Removes what deletion left; from now on a crash is a crash.

        :raises OSError: the dir cannot be read.
        """
        self._clean = self._files.exists(self._join(CLEAN_SHUTDOWN))
        self._files.unlink(self._join(CLEAN_SHUTDOWN))
        self._recovery_points = self._read_offsets(RECOVERY_POINTS)
        self._log_starts = self._read_offsets(LOG_STARTS)
        self._cleaned = self._read_offsets(CLEANED_OFFSETS)
        found = []
        for name in self._files.names(self.path):
            if not self._files.is_dir(self._join(name)):
                continue
            if _DOOMED.fullmatch(name):
                self._files.remove_tree(self._join(name))
            elif match := _PARTITION.fullmatch(name):
                found.append(Found(TopicPartition(match[1], int(match[2])), self._read_topic_id(name)))
        self._files.sync_dir(self.path)
        return found

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        data = self._files.read(self._join(name))
        try:
            return decode_offsets(data) if data is not None else {}
        except CheckpointDamaged as error:
            self.log.warn("{path} is damaged and passed over: {error}", path=self._join(name), error=error)
            return {}

    def _read_topic_id(self, name: str) -> uuid.UUID:
        path = self._join(name, PARTITION_METADATA)
        data = self._files.read(path)
        try:
            return decode_partition_metadata(data) if data is not None else NO_TOPIC_ID
        except CheckpointDamaged as error:
            self.log.warn("{path} is damaged and passed over: {error}", path=path, error=error)
            return NO_TOPIC_ID

    def load(
        self, found: Sequence[Found], configs: Sequence[LogConfig], now_ms: int
    ) -> list[Loaded | PartitionUnavailable]:
        """Open the logs of these partitions; an error stands for one that cannot be used.

        :raises OSError: files cannot be read or written.
        """
        if found and not self._clean:
            self.log.info(
                "{path}: no clean shutdown, {count} logs are checked", path=self.path, count=len(found)
            )
        progress = Progress(self.path, len(found))
        loaded: list[Loaded | PartitionUnavailable] = []
        for one, config in zip(found, configs, strict=True):
            try:
                loaded.append(self._load(one.topic_partition, config, now_ms, progress))
            except PartitionUnavailable as error:
                self.unavailable.add(one.topic_partition)
                loaded.append(error)
            progress.opened()
        return loaded

    def _load(self, name: TopicPartition, config: LogConfig, now_ms: int, progress: Progress) -> Loaded:
        try:
            return load(
                self._files,
                self._join(str(name)),
                config,
                now_ms,
                self._clean,
                self._log_starts.get(name, 0),
                self._recovery_points.get(name, 0),
                self._cleaned.get(name, 0),
                progress.read,
            )
        except OSError as error:
            if error.errno not in ONE_FILES:
                raise
            raise PartitionUnavailable(
                f"{error.filename}: {error.strerror}; give the broker access to the file and start it again"
            ) from error

    def _with_unavailable(
        self, new: Mapping[TopicPartition, int], old: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """Keep what a checkpoint said of the partitions that could not be loaded."""
        return {**{name: old[name] for name in self.unavailable if name in old}, **new}

    # --- checkpoints

    def save(
        self,
        recovery_points: Mapping[TopicPartition, int],
        log_starts: Mapping[TopicPartition, int],
        high_watermarks: Mapping[TopicPartition, int],
    ) -> None:
        """Write the offset checkpoints.

        :raises OSError: one could not be written; it is as it was.
        """
        points = self._with_unavailable(recovery_points, self._recovery_points)
        self._files.replace(self._join(RECOVERY_POINTS), encode_offsets(points))
        self.save_log_starts(log_starts)
        self._files.replace(self._join(HIGH_WATERMARKS), encode_offsets(high_watermarks))

    def save_log_starts(self, log_starts: Mapping[TopicPartition, int]) -> None:
        """Write down where the logs start.

        :raises OSError: it could not be written; it is as it was.
        """
        starts = self._with_unavailable(log_starts, self._log_starts)
        self._files.replace(self._join(LOG_STARTS), encode_offsets(starts))

    def save_cleaned(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Write down up to where each log was compacted.

        :raises OSError: it could not be written; it is as it was, and too much will be compacted again.
        """
        cleaned = self._with_unavailable(offsets, self._cleaned)
        self._files.replace(self._join(CLEANED_OFFSETS), encode_offsets(cleaned))

    def mark_clean(self) -> None:
        """Say that all is on the disk, for the next start; not where a partition is still to be checked."""
        if self.unavailable:
            return
        self._files.replace(self._join(CLEAN_SHUTDOWN), b"")

    # --- partitions

    def create(self, found: Found, config: LogConfig, now_ms: int) -> Loaded:
        """Make a partition's directory; what stands in its place goes aside.

        Nothing is brought to the disk before the first records are: a directory that a power cut takes is
        made again, for the coordinator knows the topic.

        :raises OSError: it cannot be made; nothing usable is left of it.
        """
        name = str(found.topic_partition)
        if self._files.exists(self._join(name)):
            self._files.remove_tree(self.put_aside(found.topic_partition))
        try:
            self._files.make_dirs(self._join(name))
            self.adopt(found.topic_partition, found.topic_id, sync=False)
            loaded = load(self._files, self._join(name), config, now_ms, clean=True)
        except OSError:
            with contextlib.suppress(OSError):
                self._files.remove_tree(self._join(name))
            raise
        return loaded

    def adopt(self, topic_partition: TopicPartition, topic_id: uuid.UUID, sync: bool = True) -> None:
        """Write down which topic a partition's directory belongs to."""
        path = self._join(str(topic_partition), PARTITION_METADATA)
        self._files.replace(path, encode_partition_metadata(topic_id), sync)

    def put_aside(self, topic_partition: TopicPartition) -> str:
        """Rename a partition's directory so that no start takes it for one; return the new path."""
        suffix = f".{uuid.uuid4().hex}-delete"
        doomed = self._join(str(topic_partition)[: _MAX_NAME - len(suffix)] + suffix)
        self._files.rename(self._join(str(topic_partition)), doomed)
        self._files.sync_dir(self.path)
        return doomed
