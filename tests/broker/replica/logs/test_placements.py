"""The handling of missing, unknown or half deleted logs when a broker starts."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from random import Random
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.broker import Broker
from kafkatx.config import BrokerConfig
from kafkatx.errors import ErrorCode, RequestError, StateLost
from kafkatx.log.files import Files
from kafkatx.log.store.file_store import FileLogStore
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.records.builder import build_values
from kafkatx.testing.contracts.partition_log import find_retention
from kafkatx.types import LogDirRecord, Placement, Topic, TopicPartition
from tests.broker import cluster
from tests.broker.cluster import FakeMetadataStore, make_node
from tests.broker.running import NODE, NOW_MS, at_once
from tests.log.disk import PowerCutFiles
from tests.log.fakes import QuickFiles, crash
from tests.log.store.test_log_dir import BadFiles


class StateTestCase(SynchronousTestCase):
    """A test case of brokers whose logs and cluster state are both on the disk."""

    settings: dict[str, str]

    def setUp(self) -> None:
        """Name two directories."""
        self.dirs = [os.path.abspath(self.mktemp()) for _ in range(2)]
        self.settings = {}
        self.clock = Clock()
        self.clock.advance(NOW_MS / 1000)
        self.brokers: list[Broker] = []
        self.addCleanup(self.kill)

    def opening(self, files: Files | None = None) -> Deferred[None]:
        """Begin to start a broker, after killing the running one."""
        self.kill()
        values = {"log.dirs": ",".join(self.dirs), **self.settings}
        config = BrokerConfig.load(None, values)
        metadata = EmbeddedMetadataStore(config, at_once)
        store = FileLogStore(config, at_once, self.clock, find_retention, files or QuickFiles())
        starting = metadata.start(NODE)
        if starting.called and not hasattr(starting.result, "value"):
            self.brokers.append(Broker(config, metadata, store, self.clock, at_once))
            starting.addCallback(lambda _: Deferred.fromCoroutine(self.broker.open()))
        return starting

    @property
    def broker(self) -> Broker:
        """The running broker."""
        return self.brokers[-1]

    def start(self, files: Files | None = None) -> Broker:
        """Start a broker, after killing the running one."""
        self.successResultOf(self.opening(files))
        return self.broker

    def refused(self) -> str:
        """Return the reason why a broker does not start."""
        return str(self.failureResultOf(self.opening(), StateLost).value)

    def kill(self) -> None:
        """Stop the brokers as kill -9 does."""
        while self.brokers:
            broker = self.brokers.pop()
            broker.flushes.stop()
            assert isinstance(broker.store, FileLogStore)
            crash(broker.store)
            self.successResultOf(broker.metadata.stop())

    def make(self, name: str = "t", partitions: int = 4, record: bool = True) -> None:
        """Create a topic with a record in each partition."""
        commands = self.broker.topic_commands
        self.successResultOf(Deferred.fromCoroutine(commands.create(name, commands.plan(partitions, 1))))
        for partition in self.broker.topics.of(name):
            partition.log.append(build_values([b"v"], NOW_MS), 0, NOW_MS, True)
            partition.log.write()
        if record:
            self.record()

    def record(self) -> None:
        """Record the placements, as the broker does every second."""
        self.successResultOf(Deferred.fromCoroutine(self.broker.topics.placements.record()))

    def delete(self, name: str = "t") -> Deferred[None]:
        """Delete a topic."""
        return Deferred.fromCoroutine(self.broker.topic_commands.delete(name))

    def ends(self, name: str = "t") -> list[int]:
        """Return the log end offset of each partition; -1 if it is offline."""
        return [partition.log.log_end_offset for partition in self.broker.topics.of(name)]

    def strays(self) -> list[str]:
        """Return the names of the directories that were put aside."""
        return [name for path in self.dirs for name in os.listdir(path) if name.endswith("-stray")]

    def path_of(self, partition: str) -> str:
        """Return the directory of a partition."""
        (path,) = (path for one in self.dirs if os.path.isdir(path := os.path.join(one, partition)))
        return path


class LostStateTests(StateTestCase):
    """A database that is missing, foreign or old."""

    def setUp(self) -> None:
        """Create a topic."""
        super().setUp()
        self.start()
        self.make()
        self.database = os.path.join(self.dirs[0], FILE_NAME)

    def test_removed(self) -> None:
        """The broker does not start without its database; with the file put back it has all its data."""
        self.kill()
        os.rename(self.database, self.database + ".away")
        message = self.refused()
        self.assertIn(f"{FILE_NAME}, is in none of them", message)
        self.assertIn(f"kafkatx log adopt {' '.join(self.dirs)};", message)
        self.assertFalse(os.path.exists(self.database))
        os.rename(self.database + ".away", self.database)
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])

    def test_order_of_dirs(self) -> None:
        """The database is found in any directory, even if a new directory is first."""
        self.dirs.insert(0, os.path.abspath(self.mktemp()))
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])
        self.assertNotIn(FILE_NAME, os.listdir(self.dirs[0]))
        self.make("u", 4)
        self.assertTrue([name for name in os.listdir(self.dirs[0]) if name.startswith("u-")])

    def test_twice(self) -> None:
        """Two databases are refused."""
        self.kill()
        shutil.copy(self.database, self.dirs[1])
        self.assertIn("one of them must be moved away", self.refused())

    def test_foreign(self) -> None:
        """The database of another cluster is refused, and no directory is touched."""
        self.kill()
        ours, self.dirs = self.dirs, [os.path.abspath(self.mktemp())]
        self.start()
        self.make("other")
        self.kill()
        shutil.copy(os.path.join(self.dirs[0], FILE_NAME), self.database)
        self.dirs = ours
        self.assertIn("belongs to cluster", self.refused())
        self.assertEqual(self.strays(), [])

    def test_older_copy(self) -> None:
        """An older copy of the database is refused once the log dirs have recorded later changes."""
        self.kill()
        shutil.copy(self.database, self.database + ".old")
        self.start()
        self.make("u")
        self.successResultOf(self.broker.store.checkpoint())
        self.kill()
        os.replace(self.database + ".old", self.database)
        self.assertIn("it is an older copy", self.refused())

    def test_anew(self) -> None:
        """An empty cluster starts with kafkatx.start.anew, and every directory is put aside."""
        self.kill()
        os.unlink(self.database)
        self.settings["kafkatx.start.anew"] = "true"
        self.start()
        self.assertEqual(dict(self.broker.metadata.state.topics), {})
        self.assertEqual(len(self.strays()), 4)
        self.make()
        del self.settings["kafkatx.start.anew"]
        self.start()
        self.assertEqual((self.ends(), len(self.strays())), ([1, 1, 1, 1], 4))

    def test_anew_with_damage(self) -> None:
        """A damaged database is renamed with kafkatx.start.anew, not removed."""
        self.kill()
        os.truncate(self.database, 4096)
        self.assertIn("is damaged", self.refused())
        self.settings["kafkatx.start.anew"] = "true"
        self.start()
        kept = [name for name in os.listdir(self.dirs[0]) if name.endswith("-damaged")]
        self.assertEqual((len(kept), len(self.strays())), (1, 4))

    def test_before_there_were_ids(self) -> None:
        """Directories of an earlier version with known topics get the cluster's id."""
        for path in self.dirs:
            with open(os.path.join(path, "meta.properties"), "w") as file:
                file.write("version=0\nbroker.id=0\n")
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])
        for path in self.dirs:
            with open(os.path.join(path, "meta.properties")) as file:
                self.assertIn(f"cluster.id={self.broker.metadata.state.cluster_id}\n", file.read())


class MissingTests(StateTestCase):
    """Partitions with missing directories."""

    def setUp(self) -> None:
        """Create a topic."""
        super().setUp()
        self.start()
        self.make()

    def test_partition(self) -> None:
        """A missing partition directory is not made anew at any start; it is offline until it is back."""
        path = self.path_of("t-0")
        os.rename(path, path + "-away")
        for _ in range(2):
            with capturedLogs() as events:
                self.start()
            (said,) = [event for event in events if "names" in event]
            self.assertEqual((said["names"], said["path"]), ("t-0", os.path.dirname(path)))
            self.assertEqual(self.ends(), [-1, 1, 1, 1])
            self.assertFalse(os.path.exists(path))
        os.rename(path + "-away", path)
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])

    def test_unmounted(self) -> None:
        """An empty directory in place of a disk is offline and not written to, and others are served."""
        os.rename(self.dirs[1], self.dirs[1] + "-away")
        os.mkdir(self.dirs[1])
        with capturedLogs():
            self.start()
        self.assertEqual(self.ends(), [1, -1, 1, -1])
        self.assertEqual([one.error is None for one in self.broker.store.dirs], [True, False])
        self.make("u", 2)
        self.assertEqual(os.listdir(self.dirs[1]), [".lock"])
        self.kill()
        shutil.rmtree(self.dirs[1])
        os.rename(self.dirs[1] + "-away", self.dirs[1])
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])

    def test_taken_from_the_settings(self) -> None:
        """The partitions of a log dir that is no longer named are offline, not made anew elsewhere."""
        away = self.dirs.pop()
        with capturedLogs():
            self.start()
        self.assertEqual(self.ends(), [1, -1, 1, -1])
        self.dirs.append(away)
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])

    def test_moved(self) -> None:
        """A log dir that is found at another path is the same log dir."""
        os.rename(self.dirs[1], self.dirs[1] + "-moved")
        self.dirs[1] += "-moved"
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])
        self.start()
        self.assertIn(self.dirs[1], self.broker.metadata.recorded.log_dirs.values())

    def test_new_dir(self) -> None:
        """A new log dir, or an empty one that held nothing, is used."""
        self.dirs.append(os.path.abspath(self.mktemp()))
        self.start()
        self.kill()
        shutil.rmtree(self.dirs[2])
        self.start()
        self.assertEqual([one.error for one in self.broker.store.dirs], [None] * 3)
        self.assertEqual(self.ends(), [1, 1, 1, 1])

    def test_not_on_record(self) -> None:
        """A directory that was lost before it was recorded is made again."""
        self.make("u", 2, record=False)
        shutil.rmtree(self.path_of("u-0"))
        self.start()
        self.assertEqual(self.ends("u"), [0, 1])

    def test_deleted(self) -> None:
        """A topic with a missing partition can be deleted and created again."""
        shutil.rmtree(self.path_of("t-0"))
        with capturedLogs():
            self.start()
        self.successResultOf(self.delete())
        self.make()
        self.assertEqual(self.ends(), [1, 1, 1, 1])

    def test_wrong_id(self) -> None:
        """A partition whose metadata has a wrong topic id is put aside and offline; others are served."""
        path = os.path.join(self.path_of("t-0"), "partition.metadata")
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            data[-10] = ord("A") if data[-10] != ord("A") else ord("B")
            file.seek(0)
            file.write(data)
        with capturedLogs():
            self.start()
        self.assertEqual(self.ends(), [-1, 1, 1, 1])
        (stray,) = self.strays()
        self.assertRegex(stray, r"^t-0\.[0-9a-f]{32}-stray$")


class DeletionTests(StateTestCase):
    """Deletions that a crash interrupts."""

    def setUp(self) -> None:
        """Create a topic."""
        super().setUp()
        self.start()
        self.make()

    def left(self) -> list[str]:
        """Return the directories whose names begin with the topic's name."""
        return [name for path in self.dirs for name in os.listdir(path) if name.startswith("t-")]

    def test_after_the_state(self) -> None:
        """A crash after the state change and before the renaming is repaired by the next start."""
        self.patch(self.broker.store, "delete", lambda name: Deferred())
        self.assertNoResult(self.delete())
        self.assertEqual(len(self.left()), 4)
        self.start()
        self.assertEqual(self.left(), [])
        self.start()
        self.assertEqual(self.broker.metadata.recorded.deleted, frozenset())

    def test_after_renaming(self) -> None:
        """Renamed directories that a crash left are removed by the next start."""
        self.successResultOf(self.delete())
        self.record()
        self.assertEqual(len(self.left()), 4)
        self.start()
        self.assertEqual(self.left(), [])

    def test_forgotten(self) -> None:
        """A deleted topic is remembered until its files are gone, and not longer."""
        self.successResultOf(self.delete())
        self.clock.advance(1e6)
        self.record()
        self.start()
        self.assertEqual(self.broker.metadata.recorded.deleted, frozenset())

    def test_dir_away(self) -> None:
        """A deleted topic is remembered while a log dir is missing, and removed when the dir is back."""
        os.rename(self.dirs[1], self.dirs[1] + "-away")
        away = self.dirs.pop()
        with capturedLogs():
            self.start()
        self.successResultOf(self.delete())
        self.clock.advance(1e6)
        self.record()
        self.start()
        os.rename(away + "-away", away)
        self.dirs.append(away)
        self.start()
        self.assertEqual((self.left(), self.strays()), ([], []))

    def test_made_again(self) -> None:
        """A topic created again while its predecessor's directories exist loses no records."""
        self.patch(self.broker.store, "delete", lambda name: Deferred())
        self.assertNoResult(self.delete())
        self.make("u")
        self.start()
        self.make()
        self.start()
        self.assertEqual((self.ends(), self.ends("u"), self.strays()), ([1] * 4, [1] * 4, []))


class PowerCutTests(StateTestCase):
    """Power cuts around the moment at which a new log is recorded."""

    def test_nothing_is_offline(self) -> None:
        """No partition is offline after a power cut, since every recorded one is on the disk."""
        for seed in range(40):
            self.one_round(Random(seed), seed)

    def one_round(self, random: Random, seed: int) -> None:
        """Cut the power somewhere while topics are made; start from the remaining files."""
        path = os.path.abspath(self.mktemp())
        os.makedirs(path)
        self.dirs, root = [os.path.join(path, "a"), os.path.join(path, "b")], path
        for one in self.dirs:
            os.makedirs(one)
        files: Any = PowerCutFiles(root, random, random.randint(1, 120))
        kept = os.path.join(path, FILE_NAME)
        self.start(files)
        for number in range(8):
            self.make(f"t{number}", 2, record=random.random() < 0.5)
            if not files.dead:  # changes that the metadata store has synced survive the cut
                shutil.copy(os.path.join(self.dirs[0], FILE_NAME), kept)
        files.cut()
        self.kill()
        after = path + "-after"
        files.restore(after)
        self.dirs = [os.path.join(after, "a"), os.path.join(after, "b")]
        if not os.path.exists(kept):
            return
        shutil.copy(kept, os.path.join(self.dirs[0], FILE_NAME))
        with capturedLogs():
            self.start()
        for name in self.broker.metadata.state.topics:
            self.assertNotIn(-1, self.ends(name), seed)


class FailureTests(StateTestCase):
    def test_full_disk(self) -> None:
        """A broker starts on a full disk, even with log dirs of an earlier version."""
        self.start()
        self.make()
        self.kill()
        for path in self.dirs:
            with open(os.path.join(path, "meta.properties"), "w") as file:
                file.write("version=0\nbroker.id=0\n")
        full = BadFiles()
        full.bad_dir, full.error, full.failing = "/", errno.ENOSPC, {"create", "write"}
        real = ClusterDatabase.record

        def record(*args: Any) -> Any:
            raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, "full")

        self.patch(ClusterDatabase, "record", record)
        with capturedLogs():
            self.start(full)
        self.assertEqual(self.ends(), [1, 1, 1, 1])
        self.patch(ClusterDatabase, "record", real)
        self.start()
        self.assertEqual(self.ends(), [1, 1, 1, 1])

    def test_log_dir_is_left_out(self) -> None:
        """An unused log dir that holds nothing is forgotten, and deleted topics with it."""
        self.start()
        self.make(partitions=1)
        self.dirs.pop()
        self.start()
        self.successResultOf(self.delete())
        self.clock.advance(1e6)
        self.record()
        for _ in range(2):
            self.start()
        recorded = self.broker.metadata.recorded
        self.assertEqual((list(recorded.log_dirs.values()), recorded.deleted), (self.dirs, frozenset()))

    def test_not_written_down(self) -> None:
        """A failed recording is repeated the next time."""
        self.start()
        self.make(record=False)
        real = self.broker.metadata.record

        def refuse(*args: Any) -> Any:
            raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, "full")

        self.patch(self.broker.metadata, "record", refuse)
        recording = Deferred.fromCoroutine(self.broker.topics.placements.record())
        self.failureResultOf(recording, RequestError)
        self.patch(self.broker.metadata, "record", real)
        self.record()
        shutil.rmtree(self.path_of("t-0"))
        with capturedLogs():
            self.start()
        self.assertEqual(self.ends(), [-1, 1, 1, 1])


class ClusterTests(SynchronousTestCase):
    """A broker with logs in files that is number 1 of three."""

    def setUp(self) -> None:
        """Name a directory."""
        self.path = os.path.abspath(self.mktemp())
        self.clock = Clock()
        self.metadata = FakeMetadataStore()
        self.store: FileLogStore | None = None
        self.settings: dict[str, str] = {}
        self.lost_epochs: dict[int, int] = {}
        self.addCleanup(self.kill)

    def kill(self) -> None:
        """Stop the broker as kill -9 does."""
        if self.store is not None:
            crash(self.store)
            self.store = None

    def opening(self, *topics: Topic, **recorded: Any) -> Deferred[None]:
        """Begin to start the broker anew in a cluster with these topics."""
        self.kill()
        config = BrokerConfig.load(None, {"log.dirs": self.path, "broker.id": "1", **self.settings})
        self.metadata = FakeMetadataStore()
        self.metadata.prepare(*topics, lost_epochs=self.lost_epochs)
        self.metadata.recorded = LogDirRecord(**recorded)
        self.store = FileLogStore(config, at_once, self.clock, find_retention, QuickFiles())
        self.broker = Broker(config, self.metadata, self.store, self.clock, at_once)
        self.successResultOf(self.metadata.start(make_node(1)))
        return Deferred.fromCoroutine(self.broker.open())

    def start(self, *topics: Topic, **recorded: Any) -> None:
        """Start the broker and register it."""
        self.successResultOf(self.opening(*topics, **recorded))
        self.successResultOf(self.metadata.register([]))

    def directories(self) -> list[str]:
        """Return the names of partitions' directories, without random digits."""
        names = [name for name in os.listdir(self.path) if os.path.isdir(os.path.join(self.path, name))]
        return sorted(name.split(".")[0] + name[-6:] if "." in name else name for name in names)

    def fill(self, topic: str) -> None:
        """Write a record to each partition of a topic."""
        for partition in self.broker.topics.of(topic):
            partition.log.append(build_values([b"v"], NOW_MS), partition.leader_epoch, NOW_MS, True)
            partition.log.write()

    def kept(self, topic: str) -> list[int]:
        """Return the log end offset of each partition of a topic that is here."""
        return [partition.log.log_end_offset for partition in self.broker.topics.of(topic)]

    def test_restart(self) -> None:
        """A broker that is killed has the records of its partitions again, in a later epoch."""
        topic = self.metadata.make_topic("t", [[1], [2], [1]])
        self.start(topic)
        self.fill("t")
        first = self.broker.topics.of("t")[0].leader_epoch
        self.start(*self.metadata.state.topics.values())
        self.assertEqual((self.kept("t"), self.directories()), ([1, 1], ["t-0", "t-2"]))
        self.assertGreater(self.broker.topics.of("t")[0].leader_epoch, first)

    def test_deleted_while_it_was_away(self) -> None:
        """Logs of topics that were deleted meanwhile are removed; those of unknown ones are put aside."""
        kept, deleted, unknown = (self.metadata.make_topic(name, [[1]]) for name in ("k", "d", "u"))
        self.start(kept, deleted, unknown)
        self.start(kept, deleted=frozenset([deleted.topic_id]))
        self.assertEqual(self.directories(), ["k-0", "u-0-stray"])

    def test_created_again_while_it_was_away(self) -> None:
        """The log of another topic with the same name is put aside, and the partition begins empty."""
        self.start(self.metadata.make_topic("t", [[1]]))
        self.fill("t")
        again = attrs.evolve(self.metadata.make_topic("t", [[1]]), topic_id=uuid.UUID(int=7))
        self.start(again)
        self.assertEqual((self.kept("t"), self.directories()), ([0], ["t-0", "t-0-stray"]))

    def test_moved_while_it_was_away(self) -> None:
        """The log of a partition that other brokers have now is put aside, and is not missed afterwards."""
        topic = self.metadata.make_topic("t", [[1], [1]])
        self.start(topic)
        where = self.broker.store.dirs[0].directory_id
        moved = attrs.evolve(topic.partitions[1], replicas=(2,), leader=2)
        placed = {topic.topic_id: {0: where, 1: where}}
        self.start(
            attrs.evolve(topic, partitions=(topic.partitions[0], moved)),
            log_dirs={where: self.path},
            placed=placed,
        )
        self.assertEqual(self.directories(), ["t-0", "t-1-stray"])
        (command,) = [one for one in self.metadata.commands if one.name == "record"]
        self.assertEqual(command.args[1], (Placement(topic.topic_id, 1, None),))
        self.assertFalse(self.is_moved_away("t", 0, topic.topic_id))
        self.assertTrue(self.is_moved_away("t", 1, topic.topic_id))
        self.assertFalse(self.is_moved_away("t", 1, uuid.UUID(int=7)))
        self.assertFalse(self.is_moved_away("t", 2, topic.topic_id))
        self.assertFalse(self.is_moved_away("u", 1, topic.topic_id))

    def is_moved_away(self, topic: str, number: int, topic_id: uuid.UUID) -> bool:
        """Return True if the store is told that a partition is on other brokers alone."""
        expected = self.broker.topics.placements.expected()
        return expected.moved_away(TopicPartition(topic, number), topic_id)

    def test_no_state(self) -> None:
        """A cluster whose state has lost its topics is refused, and nothing is put aside."""
        self.start(self.metadata.make_topic("t", [[1]]))
        refused = self.failureResultOf(self.opening(), StateLost).value
        self.assertIn("knows none of the 1 partitions", str(refused))
        self.assertEqual(self.directories(), ["t-0"])

    def test_was_alone(self) -> None:
        """The log dirs of a broker that was alone fit a cluster with its id and its topics."""
        config = BrokerConfig.load(None, {"log.dirs": self.path, "broker.id": "1"})
        alone = EmbeddedMetadataStore(config, at_once)
        self.store = FileLogStore(config, at_once, self.clock, find_retention, QuickFiles())
        self.broker = Broker(config, alone, self.store, self.clock, at_once)
        self.successResultOf(alone.start(make_node(1)))
        self.successResultOf(Deferred.fromCoroutine(self.broker.open()))
        commands = self.broker.topic_commands
        self.successResultOf(Deferred.fromCoroutine(commands.create("t", commands.plan(2, 1))))
        self.fill("t")
        topic, cluster_id = alone.state.topics["t"], alone.state.cluster_id
        self.assertGreater(alone.generation, 0)
        self.successResultOf(alone.stop())
        self.assertIn("belongs to cluster", str(self.failureResultOf(self.opening(topic), StateLost).value))
        self.patch(cluster, "CLUSTER_ID", cluster_id)
        self.start(topic)
        self.assertEqual((self.kept("t"), self.directories()), ([1, 1], ["t-0", "t-1"]))

    def lost(self, all_files: bool = False) -> list[bool]:
        """Start a broker, lose its logs and start it again; return for each partition whether it is offline.

        Partition 0 has another replica in sync, 1 has none, of 2 this broker's replica is not in sync.

        :param all_files: the whole log dir is empty, and nothing was recorded of its logs yet.
        """
        topic = self.metadata.make_topic("t", [[1], [1], [1]])
        members = ((2, 1), (1,), (2,))
        states = [
            attrs.evolve(one, replicas=(1, 2), isr=isr, leader=isr[0])
            for one, isr in zip(topic.partitions, members, strict=True)
        ]
        topic = attrs.evolve(topic, partitions=tuple(states))
        self.start(topic)
        self.fill("t")
        where = self.broker.store.dirs[0].directory_id
        self.kill()
        for name in os.listdir(self.path):
            if all_files or name.startswith("t-"):
                path = os.path.join(self.path, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        placed = {} if all_files else {topic.topic_id: dict.fromkeys(range(3), where)}
        with capturedLogs() as events:
            self.start(topic, log_dirs={where: self.path}, placed=placed)
        self.lines = [formatEvent(event) or "" for event in events]
        return [partition.offline for partition in self.broker.topics.of("t")]

    def test_lost(self) -> None:
        """Lost logs start empty where another replica is in sync, and say so; the others are offline."""
        self.assertEqual(self.lost(), [False, True, False])
        self.assertTrue(self.broker.topics.placements.started_empty)
        self.assertFalse(self.broker.store.dirs[0].emptied)
        (line,) = [line for line in self.lines if "start empty, and are copied" in line]
        self.assertIn("2 partitions", line)
        self.assertIn("t-0, t-2", line)
        (line,) = [line for line in self.lines if "1 partitions are offline" in line]
        self.assertIn("kafkatx cluster elect --unclean", line)
        self.assertIn("kafkatx.start.anew=true", line)
        self.assertNotIn("adopt", line)

    def test_emptied(self) -> None:
        """An empty log dir is used; also what was not on record yet is lost with it."""
        self.assertEqual(self.lost(all_files=True), [False, True, False])
        self.assertTrue(self.broker.store.dirs[0].emptied)

    def test_others_have_lost_records(self) -> None:
        """Nothing starts empty for replicas that may have lost records themselves."""
        self.lost_epochs = {2: 1 << 40}
        self.assertEqual(self.lost(), [True, True, False])

    def test_anew(self) -> None:
        """Everything starts empty if a person says so."""
        self.settings = {"kafkatx.start.anew": "true"}
        self.assertEqual(self.lost(), [False] * 3)

    def test_nothing_lost(self) -> None:
        """A broker that has its logs has started none of them empty."""
        self.start(self.metadata.make_topic("t", [[1]]))
        self.assertFalse(self.broker.topics.placements.started_empty)
