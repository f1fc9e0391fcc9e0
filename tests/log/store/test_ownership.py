"""Log dirs and the state of a cluster: what belongs together, and what becomes of the rest."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Mapping
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config.log_config import LogConfig
from kafkatx.errors import SettingError, StateLost
from kafkatx.interfaces.log_dirs import DirectoryChanges, Expected
from kafkatx.log.checkpoint import decode_generation, decode_stray, encode_generation
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.log.store.ownership import Found, Survey, check, is_emptied, known_directory_id, lost
from kafkatx.testing.contracts.partition_log import StoreCase, batch
from kafkatx.types import LogDirRecord, Placement, TopicPartition
from tests.log.fakes import QuickFiles, crash, file_store

IDS = [uuid.UUID(int=number) for number in range(1, 9)]
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def state(topics: Mapping[TopicPartition, uuid.UUID], **others: Any) -> Expected:
    """A state of cluster "c", at change 5, with these partitions."""
    return attrs.evolve(Expected("c", not topics, lambda: 5, topics.get, LogDirRecord()), **others)


def survey(*found: Found, cluster: str | None = "c", directory: str | None = "d", noted: int = 0) -> Survey:
    """A log dir with these partitions."""
    return Survey(cluster, directory, noted, list(found), [])


class CheckTests(SynchronousTestCase):
    def refused(self, expected: Expected, **surveys: Survey) -> str:
        """Return why log dirs are refused."""
        return str(self.assertRaises(StateLost, check, surveys, expected))

    def test_fits(self) -> None:
        """New dirs, dirs of the cluster, and dirs without ids whose topics are known are good."""
        known = state({T0: IDS[0]})
        check({"a": survey(Found(T0, IDS[0])), "b": survey(cluster=None, directory=None)}, known)
        check({"a": survey(Found(T0, IDS[0]), Found(T1, IDS[1]), cluster=None)}, known)
        check({"a": survey(cluster=None, directory=None)}, state({}))

    def test_other_cluster(self) -> None:
        """A dir of another cluster is refused with both names, unless it is to be put aside."""
        message = self.refused(state({T0: IDS[0]}), a=survey(Found(T0, IDS[0]), cluster="x"))
        self.assertIn("log.dirs=a: belongs to cluster x", message)
        self.assertIn("kafkatx log adopt a;", message)
        check({"a": survey(cluster="x")}, state({T0: IDS[0]}, anew=True))

    def test_older_copy(self) -> None:
        """A state that is older than what a dir has noted is refused."""
        self.assertIn("older copy", self.refused(state({T0: IDS[0]}), a=survey(noted=6)))
        check({"a": survey(noted=6)}, state({T0: IDS[0]}, heals=True))
        check({"a": survey(noted=5)}, state({T0: IDS[0]}))

    def test_no_older_copies(self) -> None:
        """A state without generations, as a tree has, fits dirs that had one with them."""
        check({"a": survey(Found(T0, IDS[0]), noted=6)}, state({T0: IDS[0]}, generation=lambda: 0))

    def test_empty_state(self) -> None:
        """An empty state beside partitions is refused; beside those of deleted topics it is right."""
        one = survey(Found(T0, IDS[0]))
        self.assertIn("knows none of the 1 partitions", self.refused(state({}), a=one))
        check({"a": one}, state({}, recorded=LogDirRecord(deleted=frozenset([IDS[0]]))))

    def test_nothing_fits(self) -> None:
        """Dirs without a cluster id, and without any known partition, are refused."""
        self.refused(state({T0: IDS[0]}), a=survey(Found(T0, IDS[1]), cluster=None))

    def test_copied_dir(self) -> None:
        """Two dirs with one id are refused: one is a copy of the other."""
        self.assertIn("a and b have the same", self.refused(state({}), a=survey(), b=survey()))

    def test_unmounted(self) -> None:
        """An empty dir that held partitions is lost; one that held none, or has moved, is not."""
        recorded = LogDirRecord({"x": "/a", "y": "/b", "z": "/c"}, {IDS[0]: {0: "x", 1: "z"}})
        expected = state({T0: IDS[0]}, recorded=recorded)
        empty = survey(cluster=None, directory=None)
        surveys = {"/a": empty, "/b": empty, "/c": empty, "/d": survey(directory="z")}
        ((path, why),) = lost(surveys, expected)
        self.assertEqual(path, "/a")
        self.assertIn("held 1 partitions", why)
        self.assertEqual(known_directory_id("/b", surveys, expected), "y")
        self.assertIsNone(known_directory_id("/c", surveys, expected))

    def test_emptied(self) -> None:
        """A dir on record that is empty now was emptied; a new one, and one that is elsewhere, was not."""
        recorded = LogDirRecord({"x": "/a", "z": "/c"}, {})
        expected = state({}, recorded=recorded)
        empty = survey(cluster=None, directory=None)
        surveys = {"/a": empty, "/b": empty, "/c": empty, "/d": survey(directory="z")}
        self.assertEqual([path for path in surveys if is_emptied(path, surveys, expected)], ["/a"])
        named = {"/a": survey(directory="x")}
        self.assertFalse(is_emptied("/a", named, expected))
        self.assertFalse(is_emptied("/e", surveys, expected))

    def test_generation(self) -> None:
        """A note of the generation that is damaged counts for nothing."""
        note = encode_generation(1234)
        self.assertEqual(decode_generation(note), 1234)
        for number in range(len(note) * 8):
            flipped = bytearray(note)
            flipped[number // 8] ^= 1 << number % 8
            self.assertIn(decode_generation(bytes(flipped)), (0, 1234))
        self.assertEqual(decode_generation(b""), 0)


class StrayTests(StoreCase, SynchronousTestCase):
    """Directories that the state does not know."""

    def setUp(self) -> None:
        """A closed store with a record in each of two partitions of one topic."""
        super().setUp()
        self.path = os.path.abspath(self.mktemp())
        self.known = {T0: IDS[0], T1: IDS[0]}
        store = self.opened_with(state(self.known))
        for name, topic_id in self.known.items():
            log = self.result(store.create(name, topic_id, LogConfig()))
            self.put(log, batch([b"%d" % name.partition]))
        self.result(store.close())

    def opened_with(self, expected: Expected) -> FileLogStore:
        """A store that expects something."""
        store = file_store(self.clock, self.path)
        self.result(store.open(lambda topic: LogConfig(), expected))
        self.addCleanup(crash, store)
        return store

    def directories(self, end: str = "") -> list[str]:
        """The names of directories that end so, without random digits."""
        names = [name for name in os.listdir(self.path) if os.path.isdir(os.path.join(self.path, name))]
        parts = [name.split(".") for name in sorted(names) if name.endswith(end)]
        return [part[0] + (part[-1][32:] if len(part) > 1 else "") for part in parts]

    def test_identity(self) -> None:
        """A dir names its cluster, keeps the id it got, and notes the state's last change."""
        with open(os.path.join(self.path, "meta.properties")) as file:
            text = file.read()
        self.assertRegex(text, r"^version=0\nbroker.id=1\ncluster.id=c\ndirectory.id=[\w-]{22}\n$")
        store = self.opened_with(state(self.known))
        self.assertIn(f"directory.id={store.dirs[0].directory_id}\n", text)
        with open(os.path.join(self.path, "kafkatx-generation"), "rb") as file:
            self.assertEqual(decode_generation(file.read()), 5)

    def test_other_properties_stay(self) -> None:
        """Other lines of meta.properties are kept when ids are written to it."""
        path = os.path.join(self.path, "meta.properties")
        with open(path, "w") as file:
            file.write("#x\nversion=1\nnode.id=1\nsomething=else\n")
        self.opened_with(state(self.known))
        with open(path) as file:
            lines = file.read().splitlines()
        self.assertLessEqual({"version=1", "node.id=1", "something=else", "cluster.id=c"}, set(lines))

    def test_refused_and_left_alone(self) -> None:
        """A dir that is refused is not changed in any way."""
        marker = os.path.join(self.path, ".kafka_cleanshutdown")
        store = file_store(self.clock, self.path)
        opening = store.open(lambda topic: LogConfig(), state(self.known, cluster_id="x"))
        self.failureResultOf(opening, StateLost)
        self.assertTrue(os.path.exists(marker))
        self.assertEqual(self.directories(), ["t-0", "t-1"])

    def test_unknown(self) -> None:
        """A partition that the state does not know, or knows by another id, is put aside and kept."""
        store = self.opened_with(state({T0: IDS[1], TopicPartition("u", 0): IDS[2]}))
        self.assertEqual(dict(store.logs), {})
        self.clock.advance(1e6)
        self.assertEqual(self.directories(), ["t-0-stray", "t-1-stray"])
        self.result(store.close())
        store = self.opened_with(state({}))
        self.assertEqual(self.directories(), ["t-0-stray", "t-1-stray"])
        for name in os.listdir(self.path):
            if name.endswith("-stray"):
                with open(os.path.join(self.path, name, "00000000000000000000.log"), "rb") as log:
                    self.assertTrue(log.read())

    def test_made_in_its_place(self) -> None:
        """A new log puts another topic's directory aside, which no client has deleted."""
        store = self.opened_with(state(self.known))
        self.result(store.create(T0, IDS[3], LogConfig()))
        self.clock.advance(1e6)
        self.assertEqual(self.directories(), ["t-0", "t-0-stray", "t-1"])
        os.mkdir(os.path.join(self.path, "v-0"))  # by hand, while the store runs
        self.result(store.create(TopicPartition("v", 0), IDS[3], LogConfig()))
        self.clock.advance(1e6)
        self.assertEqual(self.directories("-stray"), ["t-0-stray", "v-0-stray"])

    def test_interrupted_deletion(self) -> None:
        """The next start removes directories that a client has deleted, and no other."""
        os.rename(os.path.join(self.path, "t-1"), os.path.join(self.path, f"t-1.{'0' * 32}-delete"))
        expected = state({}, recorded=LogDirRecord(deleted=frozenset([IDS[0]])))
        store = self.opened_with(expected)
        self.assertEqual(self.directories(), [])
        self.assertEqual(self.result(store.sync_directories()), DirectoryChanges((), (IDS[0],)))

    def test_doomed_by_nobody(self) -> None:
        """A directory with the name of a deleted one, whose topic was not deleted, is kept."""
        os.rename(os.path.join(self.path, "t-1"), os.path.join(self.path, f"t-1.{'0' * 32}-delete"))
        self.opened_with(state({T0: IDS[0]}))
        self.assertEqual(self.directories(), ["t-0", "t-1-stray"])

    def test_long_name(self) -> None:
        """The name of a stray directory fits into 255 bytes, and the whole one is written into it."""
        long = TopicPartition("x" * 249, 12345)
        self.result(self.opened_with(state({long: IDS[1], **self.known})).create(long, IDS[1], LogConfig()))
        self.opened_again()
        (name,) = [name for name in os.listdir(self.path) if name.startswith("xx")]
        self.assertEqual(len(name), 255)
        with open(os.path.join(self.path, name, "stray.metadata"), "rb") as file:
            self.assertEqual(decode_stray(file.read()), str(long))

    def opened_again(self) -> FileLogStore:
        """The store after kill -9, expecting what it expected at first."""
        self.doCleanups()
        return self.opened_with(state(self.known))

    # --- what is told to the coordinator

    def test_settle(self) -> None:
        """Logs that were made are told once, after the names are on the disk; so are deleted topics."""
        synced: list[str] = []
        self.patch(QuickFiles, "sync_dir", lambda files, path: synced.append(path))
        store = self.opened_with(state(self.known))
        where = store.dirs[0].directory_id
        first = self.result(store.sync_directories())
        self.assertEqual(sorted(first.placed), [Placement(IDS[0], 0, where), Placement(IDS[0], 1, where)])
        self.assertFalse(self.result(store.sync_directories()))
        self.result(store.create(TopicPartition("u", 0), IDS[1], LogConfig()))
        del synced[:]
        self.assertEqual(
            self.result(store.sync_directories()), DirectoryChanges((Placement(IDS[1], 0, where),))
        )
        self.assertIn(self.path, synced)
        self.result(store.delete(TopicPartition("u", 0)))
        self.assertFalse(self.result(store.sync_directories()))
        self.clock.advance(1e6)
        self.assertEqual(self.result(store.sync_directories()), DirectoryChanges((), (IDS[1],)))

    def test_settled_already(self) -> None:
        """Placements on record are not reported again."""
        first = self.opened_with(state(self.known))
        where = first.dirs[0].directory_id
        self.doCleanups()
        recorded = LogDirRecord({where: self.path}, {IDS[0]: {0: where, 1: where}})
        self.assertFalse(
            self.result(self.opened_with(state(self.known, recorded=recorded)).sync_directories())
        )

    # --- files of others

    def test_lock_is_a_link(self) -> None:
        """A lock file that is a link is refused, and what it points to stays as it is."""
        target = self.mktemp()
        with open(target, "w") as file:
            file.write("precious")
        lock = os.path.join(self.path, ".lock")
        for link in (os.symlink, os.link):
            os.unlink(lock)
            link(os.path.abspath(target), lock)
            store = file_store(self.clock, self.path)
            opening = store.open(lambda topic: LogConfig(), state(self.known))
            message = str(self.failureResultOf(opening, SettingError).value)
            self.assertIn(".lock is a", message)
            with open(target) as file:
                self.assertEqual(file.read(), "precious")

    def test_lock_with_other_content(self) -> None:
        """A lock file that has more than a process's number is locked and not written to."""
        lock = os.path.join(self.path, ".lock")
        with open(lock, "w") as file:
            file.write("notes of mine")
        self.opened_with(state(self.known))
        with open(lock) as file:
            self.assertEqual(file.read(), "notes of mine")

    def test_temporary_is_a_link(self) -> None:
        """A link where a checkpoint is about to be written is not followed."""
        target = self.mktemp()
        with open(target, "w") as file:
            file.write("precious")
        store = self.opened_with(state(self.known))
        os.symlink(os.path.abspath(target), os.path.join(self.path, "log-start-offset-checkpoint.tmp"))
        self.failureResultOf(store.checkpoint(), OSError)
        with open(target) as file:
            self.assertEqual(file.read(), "precious")

    def test_only_its_owner(self) -> None:
        """New files and directories are their owner's alone, whatever the umask; old ones stay."""
        self.addCleanup(os.umask, os.umask(0))
        os.chmod(self.path, 0o755)
        path = os.path.join(self.mktemp(), "new")
        store = file_store(self.clock, self.path, path)
        self.result(
            store.open(lambda topic: LogConfig(), state({**self.known, TopicPartition("u", 0): IDS[1]}))
        )
        self.addCleanup(crash, store)
        self.put(self.result(store.create(TopicPartition("u", 0), IDS[1], LogConfig())), batch([b"a"]))
        modes = set()
        for directory, _, names in os.walk(path):
            modes.add(stat.S_IMODE(os.stat(directory).st_mode))
            modes |= {stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode) for name in names}
        self.assertEqual(modes, {0o700, 0o600})
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o755)
