"""The files of one log dir: lock, checkpoints, and the directories of partitions.

All methods but :meth:`LogDirFiles.unlock` block: they run in the dir's worker.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import uuid
from collections.abc import Callable, Sequence

from twisted.logger import Logger

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import PartitionUnavailable, SettingError
from kafkatx.interfaces.log_dirs import Expected
from kafkatx.log.checkpoint import (
    CLEAN_SHUTDOWN,
    GENERATION,
    LOCK,
    META_PROPERTIES,
    NO_TOPIC_ID,
    PARTITION_METADATA,
    STRAY_METADATA,
    CheckpointDamaged,
    decode_generation,
    decode_meta_properties,
    decode_partition_metadata,
    encode_generation,
    encode_meta_properties,
    encode_partition_metadata,
    encode_stray,
)
from kafkatx.log.faults import FULL, ONE_FILES
from kafkatx.log.files import Files
from kafkatx.log.recovery.loader import LoadedLog, load
from kafkatx.log.recovery.progress import Progress
from kafkatx.log.store.checkpoints import OffsetCheckpoints
from kafkatx.log.store.lock_file import locked
from kafkatx.log.store.ownership import Found, Survey, problem
from kafkatx.names import PARTITION_DIRECTORY
from kafkatx.types import SharedFile, TopicPartition

DOOMED = re.compile(r"(.+)\.[0-9a-f]{32}-delete")
STRAY = re.compile(r"(.+)\.[0-9a-f]{32}-stray")
MAX_NAME = 255


class LogDirFiles:
    """One entry of ``log.dirs``.

    :ivar checkpoints: the offset checkpoints.
    :ivar clean: True if the dir had its clean-shutdown marker when it was opened.
    """

    log = Logger()

    def __init__(self, files: Files, path: str, broker_id: int) -> None:
        self.path = path
        self._files = files
        self._broker_id = broker_id
        self.directory_id = ""
        self._lock: SharedFile | None = None
        self._meta: dict[str, str] = {}
        self._survey: Survey | None = None
        self.clean = False
        self.checkpoints = OffsetCheckpoints(files, path)
        self.noted = 0

    def _join(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    # --- the lock

    def lock(self) -> None:
        """Make the dir if it is missing, and lock it.

        :raises OSError: it cannot be written.
        :raises SettingError: another broker has it, it belongs to another id, or its lock file is a link.
        """
        if not self._files.is_dir(self.path):
            self._files.make_dirs(self.path)
            self._files.sync_dir(os.path.dirname(self.path))
        self._lock = locked(self._files, self.path, self._join(LOCK))
        self._check_owner()

    @property
    def lock_id(self) -> str:
        """The lock file that this broker holds, as ``DEVICE:INODE``; empty if it holds none."""
        if self._lock is None:
            return ""
        found = os.fstat(self._lock.fileno())
        return f"{found.st_dev}:{found.st_ino}"

    @property
    def locked(self) -> bool:
        """True if this broker has locked the dir."""
        return self._lock is not None

    def unlock(self) -> None:
        """Unlock the dir; the lock ends with the descriptor."""
        self._lock = None

    def _check_owner(self) -> None:
        """Check that ``meta.properties`` names this broker, or none."""
        data = self._files.read(self._join(META_PROPERTIES))
        self._meta = {} if data is None else decode_meta_properties(data)
        owner = self._meta.get("broker.id", self._meta.get("node.id"))
        if owner is not None and owner != str(self._broker_id):
            raise SettingError(
                f"log.dirs={self.path}: belongs to broker.id={owner}, not to broker.id={self._broker_id}; "
                "set broker.id or name another directory"
            )

    def claim(self, cluster_id: str | None, directory_id: str | None) -> None:
        """Write the owner to ``meta.properties`` unless it is there.

        :param cluster_id: None: no cluster is known.
        :param directory_id: the dir's id where ``meta.properties`` has none; None: a new one.
        :raises OSError: it cannot be written.
        """
        pairs = {"version": "0", "broker.id": str(self._broker_id)} | self._meta
        if cluster_id is not None:
            pairs["cluster.id"] = cluster_id
            pairs.setdefault("directory.id", directory_id or _new_directory_id())
        if pairs != self._meta:
            try:
                self._files.replace(self._join(META_PROPERTIES), encode_meta_properties(pairs))
            except OSError as error:
                if error.errno not in FULL:
                    raise
                return  # the logs can be read; the next start tries again
            self._meta = pairs
        self.directory_id = pairs.get("directory.id", "")

    def note(self, generation: int) -> None:
        """Write the generation of the cluster's state that was seen last.

        :raises OSError: it cannot be written.
        """
        if generation:
            self._files.replace(self._join(GENERATION), encode_generation(generation), sync=False)

    # --- opening

    def survey(self) -> Survey:
        """Return what the dir holds; change nothing.

        :raises OSError: the dir cannot be read.
        """
        found, doomed = [], []
        for name in self._files.names(self.path):
            if not self._files.is_dir(self._join(name)):
                continue
            if DOOMED.fullmatch(name):
                doomed.append((name, self._read_topic_id(name)))
            elif match := PARTITION_DIRECTORY.fullmatch(name):
                found.append(Found(TopicPartition(match[1], int(match[2])), self._read_topic_id(name)))
        self.noted = generation = decode_generation(self._files.read(self._join(GENERATION)) or b"")
        self._survey = Survey(
            self._meta.get("cluster.id"), self._meta.get("directory.id"), generation, found, doomed
        )
        return self._survey

    def find(self, expected: Expected | None = None) -> list[Found]:
        """Return the partitions that are here; remove deleted ones and the clean-shutdown marker.

        :param expected: directories that are not of this state are put aside as stray, or removed if their
            topic was deleted; None: keep all.
        :raises OSError: the dir cannot be read.
        """
        survey = self._survey or self.survey()
        self.clean = self._files.exists(self._join(CLEAN_SHUTDOWN))
        self._files.unlink(self._join(CLEAN_SHUTDOWN))
        self.checkpoints.read()
        for name, topic_id in survey.doomed:
            if expected is None or topic_id in expected.recorded.deleted:
                self._files.remove_tree(self._join(name))
            else:
                self.set_stray(name, "no client is known to have deleted its topic")
        found = [one for one in survey.found if expected is None or self._keep(one, expected)]
        self._files.sync_dir(self.path)
        return found

    def _keep(self, found: Found, expected: Expected) -> bool:
        """Return True for a directory of the expected state; remove or put aside another."""
        why = problem(found, expected)
        if why is None:
            return True
        name = str(found.topic_partition)
        if found.topic_id in expected.recorded.deleted:
            self.log.info("{path}: its topic was deleted; it is removed", path=self._join(name))
            self._files.remove_tree(self.put_aside(found.topic_partition))
        else:
            self.set_stray(name, why)
        return False

    def _read_topic_id(self, name: str) -> uuid.UUID:
        path = self._join(name, PARTITION_METADATA)
        data = self._files.read(path)
        try:
            return decode_partition_metadata(data) if data is not None else NO_TOPIC_ID
        except CheckpointDamaged as error:
            self.log.warn("{path} is damaged and is ignored: {error}", path=path, error=error)
            return NO_TOPIC_ID

    def load(
        self, found: Sequence[Found], configs: Sequence[LogConfig], now_ms: int
    ) -> list[LoadedLog | PartitionUnavailable]:
        """Load the logs of these partitions; return an error for each one that cannot be used.

        :raises OSError: files cannot be read or written.
        """
        if found and not self.clean:
            self.log.info(
                "{path}: no clean shutdown, {count} logs are checked", path=self.path, count=len(found)
            )
        progress = Progress(self.path, len(found))
        loaded: list[LoadedLog | PartitionUnavailable] = []
        for one, config in zip(found, configs, strict=True):
            progress.opening(one.topic_partition)
            try:
                loaded.append(self._load(one.topic_partition, config, now_ms, progress))
            except PartitionUnavailable as error:
                self.checkpoints.unavailable.add(one.topic_partition)
                loaded.append(error)
            progress.opened()
        progress.finished()
        return loaded

    def _load(self, name: TopicPartition, config: LogConfig, now_ms: int, progress: Progress) -> LoadedLog:
        try:
            return load(
                self._files,
                self._join(str(name)),
                config,
                now_ms,
                self.clean,
                self.checkpoints.log_starts.get(name, 0),
                self.checkpoints.recovery_points.get(name, 0),
                self.checkpoints.cleaned.get(name, 0),
                progress.read,
            )
        except OSError as error:
            if error.errno not in ONE_FILES:
                raise
            raise PartitionUnavailable(
                f"{error.filename}: {error.strerror}; give the broker access to the file and start it again"
            ) from error

    def mark_clean(self) -> None:
        """Write the clean-shutdown marker, unless a partition is unavailable and must be checked again."""
        if self.checkpoints.unavailable:
            return
        self._files.replace(self._join(CLEAN_SHUTDOWN), b"")

    # --- partitions

    def create(
        self, found: Found, config: LogConfig, now_ms: int, is_deleted: Callable[[uuid.UUID], bool]
    ) -> LoadedLog:
        """Make a partition's directory; a directory in its place is put aside.

        Nothing is synced: if a power cut loses the directory before the cluster's state has it on record, it
        is made again.

        :param is_deleted: returns True if a client has deleted the topic of this id.
        :raises OSError: it cannot be made; nothing usable is left of it.
        """
        name = str(found.topic_partition)
        if self._files.exists(self._join(name)):
            if is_deleted(self._read_topic_id(name)):
                self._files.remove_tree(self.put_aside(found.topic_partition))
            else:
                self.set_stray(name, "a new partition of its name was made")
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
        """Write the topic id of a partition's directory."""
        path = self._join(str(topic_partition), PARTITION_METADATA)
        self._files.replace(path, encode_partition_metadata(topic_id), sync)

    def put_aside(self, topic_partition: TopicPartition, sync: bool = True) -> str:
        """Rename a deleted partition's directory to ``...-delete``; return the new path.

        :param sync: bring the new name to the disk.
        """
        return self._rename(str(topic_partition), "delete", sync=sync)

    def set_moved(self, topic_partition: TopicPartition) -> str:
        """Rename the directory of a partition that was moved to ``...-moved``; return the new path."""
        return self._rename(str(topic_partition), "moved")

    def set_stray(self, name: str, why: str) -> None:
        """Rename a directory that no client asked to delete to ``...-stray``.

        :raises OSError: it could not be renamed.
        """
        match = DOOMED.fullmatch(name)
        was = match[1] if match else name
        with contextlib.suppress(OSError):  # the new name says the same, unless it is shortened
            self._files.replace(self._join(name, STRAY_METADATA), encode_stray(was, why))
        stray = self._rename(name, "stray", was)
        self.log.warn(
            "{path}: {why}; it is put aside as {stray} and never removed: bring it back with kafkatx log"
            " adopt --stray {name}, or remove it yourself",
            path=self._join(name),
            why=why,
            stray=stray,
            name=os.path.basename(stray),
        )

    def _rename(self, name: str, kind: str, was: str | None = None, sync: bool = True) -> str:
        suffix = f".{uuid.uuid4().hex}-{kind}"
        path = self._join((was or name)[: MAX_NAME - len(suffix)] + suffix)
        self._files.rename(self._join(name), path)
        if sync:
            self._files.sync_dir(self.path)
        return path

    def remove_tree(self, path: str) -> None:
        """Remove a directory that was renamed to be removed.

        :raises OSError: something in it cannot be removed.
        """
        self._files.remove_tree(path)

    def sync(self) -> None:
        """Sync the names in this dir.

        :raises OSError: it failed.
        """
        self.sync_names(self.path)

    def sync_names(self, path: str) -> None:
        """Sync the names in the directory of a partition, or in this dir.

        :raises OSError: it failed.
        """
        self._files.sync_dir(path)


def _new_directory_id() -> str:
    """Return a random id in Kafka's notation."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode("ascii")
