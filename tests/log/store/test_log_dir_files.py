"""Tests of kafkatx.log.store.log_dir_files: the lock, the checkpoints and the directories of one log dir."""

from __future__ import annotations

import errno
import os
import uuid

from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import PartitionUnavailable, SettingError
from kafkatx.log.checkpoint import (
    CLEAN_SHUTDOWN,
    CLEANED_OFFSETS,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    decode_meta_properties,
    decode_offsets,
    decode_partition_metadata,
    decode_stray,
)
from kafkatx.log.store.log_dir_files import LogDirFiles
from kafkatx.log.store.ownership import Found
from kafkatx.testing.contracts.partition_log import NOW_MS
from kafkatx.types import LogDirRecord
from tests.log.fakes import QuickFiles
from tests.log.store.test_ownership import IDS, T0, T1, state


class FullFiles(QuickFiles):
    """Files of a disk on which nothing can be replaced."""

    full = False

    def replace(self, path: str, data: bytes, sync: bool = True) -> None:
        """Replace a file, or fail as a full disk does."""
        if self.full:
            raise OSError(errno.ENOSPC, "full", path)
        super().replace(path, data, sync)


class LogDirCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a log dir that is locked."""
        self.path = os.path.abspath(self.mktemp())
        self.disk = FullFiles()
        self.dir = self.locked()

    def locked(self, broker_id: int = 1) -> LogDirFiles:
        """The dir as another start finds it."""
        made = LogDirFiles(self.disk, self.path, broker_id)
        made.lock()
        self.addCleanup(made.unlock)
        return made

    def restart(self) -> LogDirFiles:
        """Unlock the dir and lock it again."""
        self.dir.unlock()
        self.dir = self.locked()
        return self.dir

    def create(self, name: Found) -> None:
        """Make the directory of a partition."""
        self.dir.create(name, LogConfig(), NOW_MS, lambda topic_id: False)

    def read(self, *names: str) -> bytes:
        """The content of a file in the dir."""
        with open(os.path.join(self.path, *names), "rb") as file:
            return file.read()

    def listed(self, ending: str) -> list[str]:
        """The names in the dir with this ending."""
        return [name for name in os.listdir(self.path) if name.endswith(ending)]


class OwnerTests(LogDirCase):
    def test_locked(self) -> None:
        """A dir that is in use is refused, until it is unlocked."""
        self.assertTrue(self.dir.locked)
        self.assertRaises(SettingError, LogDirFiles(self.disk, self.path, 1).lock)
        self.assertTrue(self.restart().locked)

    def test_claim(self) -> None:
        """The owner is written once; ids that are there stay."""
        self.dir.claim("c", None)
        first = self.dir.directory_id
        self.restart().claim("c", None)
        self.assertEqual(self.dir.directory_id, first)
        meta = decode_meta_properties(self.read(META_PROPERTIES))
        self.assertEqual((meta["broker.id"], meta["cluster.id"], meta["directory.id"]), ("1", "c", first))

    def test_given_id(self) -> None:
        """A dir that has lost its own id gets the one on record."""
        self.dir.claim("c", "known")
        self.assertEqual(self.dir.directory_id, "known")

    def test_full(self) -> None:
        """A full disk does not keep a broker from its logs."""
        self.disk.full = True
        self.dir.claim("c", None)
        self.assertEqual(self.dir.directory_id, "")

    def test_other_broker(self) -> None:
        """A dir of another broker.id is refused with both."""
        self.dir.claim("c", None)
        self.dir.unlock()
        error = self.assertRaises(SettingError, self.locked, 2)
        self.assertIn("broker.id=1, not to broker.id=2", str(error))


class CheckpointTests(LogDirCase):
    def offsets(self, name: str) -> object:
        """The content of an offset checkpoint."""
        return decode_offsets(self.read(name))

    def test_saved(self) -> None:
        """Recovery points and log starts are what the next start loads by."""
        self.create(Found(T0, IDS[0]))
        self.dir.checkpoints.save({T0: 5}, {T0: 3}, {T0: 7})
        self.assertEqual((self.offsets(RECOVERY_POINTS), self.offsets(LOG_STARTS)), ({T0: 5}, {T0: 3}))

    def test_unavailable(self) -> None:
        """Checkpoints keep an unavailable partition, and no clean-shutdown marker is written."""
        self.create(Found(T0, IDS[0]))
        self.create(Found(T1, IDS[1]))
        self.dir.checkpoints.save({T0: 5, T1: 6}, {T0: 1, T1: 2}, {})
        self.restart().find()
        os.unlink(os.path.join(self.path, str(T0), f"{0:020d}.log"))
        found = [Found(T0, IDS[0]), Found(T1, IDS[1])]
        loaded = self.dir.load(found[:1], [LogConfig()], NOW_MS)
        self.assertIsInstance(loaded[0], PartitionUnavailable)
        self.dir.checkpoints.save({T1: 9}, {T1: 9}, {})
        self.assertEqual(self.offsets(RECOVERY_POINTS), {T0: 5, T1: 9})
        self.dir.mark_clean()
        self.assertEqual(self.listed(CLEAN_SHUTDOWN), [])

    def test_marker(self) -> None:
        """The marker of a clean shutdown is good for one start."""
        self.dir.mark_clean()
        self.restart().find()
        self.assertEqual(self.listed(CLEAN_SHUTDOWN), [])

    def test_damaged(self) -> None:
        """A damaged checkpoint is as good as none."""
        with open(os.path.join(self.path, RECOVERY_POINTS), "wb") as file:
            file.write(b"nonsense")
        self.assertEqual(self.restart().find(), [])

    def test_empty(self) -> None:
        """The cleaner's checkpoint is empty where Apache Kafka has not cleaned; others are damaged then."""
        for name, warnings in ((CLEANED_OFFSETS, 0), (RECOVERY_POINTS, 1)):
            with open(os.path.join(self.path, name), "wb"):
                pass
            with capturedLogs() as events:
                self.restart().find()
            self.assertEqual(len(events), warnings, name)


class DirectoryTests(LogDirCase):
    def test_found(self) -> None:
        """A partition's directory is found with its topic's id; other names are not."""
        self.create(Found(T0, IDS[0]))
        os.mkdir(os.path.join(self.path, "lost+found"))
        survey = self.restart().survey()
        self.assertEqual((survey.found, survey.doomed), ([Found(T0, IDS[0])], []))
        self.assertEqual(decode_partition_metadata(self.read(str(T0), PARTITION_METADATA)), IDS[0])

    def test_unknown(self) -> None:
        """A directory that the state does not know is put aside with its name; nothing is removed."""
        self.create(Found(T0, IDS[0]))
        self.assertEqual(self.restart().find(state({})), [])
        (stray,) = self.listed("-stray")
        self.assertEqual(decode_stray(self.read(stray, "stray.metadata")), str(T0))
        self.assertIn(f"{0:020d}.log", os.listdir(os.path.join(self.path, stray)))

    def test_deleted(self) -> None:
        """A directory of a topic that a client has deleted is removed."""
        self.create(Found(T0, IDS[0]))
        self.restart().find(state({}, recorded=LogDirRecord(deleted=frozenset([IDS[0]]))))
        self.assertEqual(self.listed("-stray") + self.listed("-delete") + self.listed(str(T0)), [])

    def test_half_deleted(self) -> None:
        """The rest of a deletion is removed if the topic was deleted; otherwise it is put aside."""
        self.create(Found(T0, IDS[0]))
        self.create(Found(T1, IDS[1]))
        self.dir.put_aside(T0)
        self.dir.put_aside(T1)
        self.restart().find(state({}, recorded=LogDirRecord(deleted=frozenset([IDS[0]]))))
        self.assertEqual((len(self.listed("-delete")), len(self.listed("-stray"))), (0, 1))

    def test_in_the_way(self) -> None:
        """A new partition's directory replaces none: the old one is put aside, or removed if deleted."""
        self.create(Found(T0, IDS[0]))
        self.create(Found(T0, IDS[1]))
        self.assertEqual(len(self.listed("-stray")), 1)
        self.dir.create(Found(T0, IDS[2]), LogConfig(), NOW_MS, lambda topic_id: topic_id == IDS[1])
        self.assertEqual(len(self.listed("-stray")), 1)

    def test_not_made(self) -> None:
        """Nothing is left of a directory that cannot be made."""
        self.disk.full = True
        self.assertRaises(OSError, self.create, Found(T0, uuid.uuid4()))
        self.assertEqual(self.listed(str(T0)), [])

    def test_long_name(self) -> None:
        """A name that is as long as a file system allows is cut off for its suffix."""
        name = T0._replace(topic="x" * 249)
        self.create(Found(name, IDS[0]))
        self.assertEqual(len(os.path.basename(self.dir.put_aside(name))), 255)
