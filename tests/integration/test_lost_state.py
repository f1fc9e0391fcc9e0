"""The cluster's state is lost: no byte of any log goes, and ``kafkatx log adopt`` brings it back."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster, Reader, Writer
from kafkatx.blocking.admin.groups import Groups
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.embedded.location import FILE_NAME
from kafkatx.testing import BrokerDidNotStart, EmbeddedBroker
from kafkatx.types import TopicPartition

TOPICS = ("clicks", "views")
COUNT = 500
SETTINGS = {
    "log.segment.delete.delay.ms": "1",
    "log.segment.bytes": "10000",
    "offsets.topic.num.partitions": "3",
    "log.retention.ms": "3600000",
}


def flip(path: str | Path, at: int) -> None:
    """Flip one bit of a file."""
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        data[at] ^= 0x01
        file.seek(0)
        file.write(data)


class LostStateTests(SynchronousTestCase):
    """A broker with two log dirs, two topics and a group; killed, and robbed of its state."""

    def setUp(self) -> None:
        """Fill it, and kill it."""
        self.dirs = [Path(self.mktemp()).resolve() for _ in range(2)]
        self.start()
        with self.connected() as cluster:
            for topic in TOPICS:
                Admin(cluster).create_topic(topic, 2)
                with Writer(cluster, topic, batch_bytes=1000) as writer:
                    for number in range(COUNT):
                        writer.send(b"%s %d" % (topic.encode(), number), partition=number % 2)
            committed = {TopicPartition("clicks", 0): OffsetAndMetadata(42)}
            Groups(cluster).commit("readers", committed)
        self.database = self.dirs[0] / FILE_NAME
        while not self.is_on_record():
            pass
        self.broker.kill()
        self.logs = self.content()

    def is_on_record(self) -> bool:
        """Return True if the state has the place of every log, read from a copy of its file."""
        copy = shutil.copy(self.database, self.mktemp())
        with contextlib.closing(sqlite3.connect(copy)) as database:
            query = "SELECT count(*), count(directory_id) FROM partitions"
            every, placed = database.execute(query).fetchone()
        return bool(every == placed == 2 * len(TOPICS) + 3) and not any(self.side_files().values())

    def side_files(self) -> dict[str, int]:
        """Return the files that SQLite keeps beside the state, with their sizes."""
        return {path: os.path.getsize(path) for path in glob.glob(f"{self.database}-*")}

    def start(self, **settings: str) -> None:
        """Start a broker with the directories as they are."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        dirs = ",".join(map(str, self.dirs))
        self.broker = EmbeddedBroker({**SETTINGS, "log.dirs": dirs, **named}, run_in="process")
        self.addCleanup(self.broker.stop)
        self.broker.start()

    def connected(self, timeout_s: float = 30.0) -> Cluster:
        """Return a client of the broker, which retries for *timeout_s*."""
        cluster = Cluster(self.broker.bootstrap, timeout_s=timeout_s)
        self.addCleanup(cluster.close)
        return cluster

    def refused(self) -> str:
        """Start a broker that must not start; return what it says, and check that no log has changed."""
        said = str(self.assertRaises(BrokerDidNotStart, self.start))
        self.assertIn("kafkatx log adopt", said)
        self.assertIn("no log was changed", said)
        self.assertEqual(self.content(), self.logs)
        return said

    def content(self) -> dict[tuple[str, str], bytes]:
        """The bytes of every log that has any, by partition and file, wherever it is put aside."""
        found = {}
        for path in self.dirs:
            for name in glob.glob(f"{path}/*/*.log"):
                directory, file = name.split(os.sep)[-2:]
                data = Path(name).read_bytes()
                if data:
                    found[directory.split(".")[0], file] = data
        return found

    def kafkatx(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line."""
        command = [sys.executable, "-c", "import sys; from kafkatx.cli.main import main; sys.exit(main())"]
        return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)

    def adopt(self, *options: str) -> str:
        """See what adopt would do, and have it done; what it said."""
        arguments = ["log", "adopt", *map(str, self.dirs), *options]
        before = self.content()
        planned = self.kafkatx(*arguments)
        self.assertEqual(planned.returncode, 1, planned)
        self.assertIn("give --yes", planned.stderr)
        done = self.kafkatx(*arguments, "--yes")
        self.assertEqual((done.returncode, done.stdout), (0, planned.stdout), done)
        self.assertEqual(self.content(), before)
        return planned.stdout

    def check_all(self) -> None:
        """Everything is there that was: records, the group's offset, and all can be written to."""
        with self.connected() as cluster:
            for topic in TOPICS:
                self.check(cluster, topic, (0, 1))
            committed = Groups(cluster).offsets("readers")
            self.assertEqual(
                {name: one.offset for name, one in committed.items()}, {TopicPartition("clicks", 0): 42}
            )
        now = self.content()
        for name, data in self.logs.items():
            self.assertTrue(now[name].startswith(data), name)

    def check(self, cluster: Cluster, topic: str, partitions: Sequence[int]) -> None:
        """The records of some partitions are there, and more can be written."""
        for partition in partitions:
            with Reader(cluster, topic, partition, start_offset=0, end_offset=COUNT // 2) as reader:
                values = [record.value for record in reader]
            expected = [b"%s %d" % (topic.encode(), n) for n in range(partition, COUNT, 2)]
            self.assertEqual(values, expected)
            with Writer(cluster, topic) as writer:
                writer.send(b"more", partition=partition)

    # --- ways to lose it

    def test_new_directory_first(self) -> None:
        """With a new directory first in log.dirs the state is found where it is."""
        self.dirs.insert(0, Path(self.mktemp()).resolve())
        self.start()
        self.check_all()

    def test_removed(self) -> None:
        """Without the file the broker refuses; adopt rebuilds every topic, and nothing of them expires."""
        for path in glob.glob(f"{self.database}*"):
            os.unlink(path)
        self.assertIn(f"{FILE_NAME}, is in none of them", self.refused())
        self.assertIn("clicks: is made with 2 partitions", self.adopt())
        self.start()
        self.check_all()
        with self.connected() as cluster:
            self.assertEqual(Admin(cluster).describe_topic("clicks").configs["retention.ms"].value, "-1")

    def test_put_back(self) -> None:
        """A copy of the file alone, made while the broker ran, is the whole state."""
        copy = self.mktemp()
        shutil.copy(self.database, copy)
        for path in glob.glob(f"{self.database}*"):
            os.unlink(path)
        self.refused()
        shutil.copy(copy, self.database)
        self.start()
        self.check_all()

    def test_side_files(self) -> None:
        """After kill -9 nothing of the state is in files beside it that a flipped bit could take."""
        for path, size in self.side_files().items():
            self.assertEqual(size, 0, path)
            os.unlink(path)
        self.start()
        self.check_all()

    def test_flipped_bit(self) -> None:
        """A bit that flipped in the file is noticed; adopt keeps the file and makes another."""
        data = self.database.read_bytes()
        flip(self.database, data.rindex(b"clicks"))
        self.assertIn("is damaged", self.refused())
        self.assertIn("is renamed, and is made", self.adopt())
        self.assertTrue(glob.glob(f"{self.database}.*-damaged"))
        self.start()
        self.check_all()

    def test_truncated(self) -> None:
        """A file that lost its end, or everything, is noticed."""
        for size in (4096, 0):
            os.truncate(self.database, size)
            self.refused()
        self.adopt()
        self.start()
        self.check_all()

    def test_another_clusters(self) -> None:
        """The state of another cluster is refused; after it is moved away, adopt rebuilds this one's."""
        with EmbeddedBroker(data_dir=self.mktemp(), run_in="process") as other:
            cluster = Cluster(other.bootstrap)
            Admin(cluster).create_topic("clicks", 2)
            cluster.close()
            other.stop()
            shutil.copy(os.path.join(str(other.data_dir), FILE_NAME), self.database)
        self.assertIn("belongs to cluster", self.refused())
        tried = self.kafkatx("log", "adopt", *map(str, self.dirs), "--yes")
        self.assertEqual(tried.returncode, 1)
        self.assertIn("move the state's file away", tried.stderr)
        os.unlink(self.database)
        self.adopt()
        self.start()
        self.check_all()

    def test_older_copy(self) -> None:
        """An older copy that was put back is refused; adopt takes it, and adds what was made since."""
        copy = shutil.copy(self.database, self.mktemp())
        self.start()
        with self.connected() as cluster:
            Admin(cluster).create_topic("later", 2)
            with Writer(cluster, "later") as writer:
                for number in range(COUNT):
                    writer.send(b"later %d" % number, partition=number % 2)
        self.broker.stop()
        self.logs = self.content()
        shutil.copy(copy, self.database)
        self.assertIn("is an older copy", self.refused())
        self.assertIn("later: is made with 2 partitions", self.adopt())
        self.start()
        self.check_all()
        with self.connected() as cluster:
            self.check(cluster, "later", (0, 1))

    def test_partition_metadata(self) -> None:
        """A partition with another topic id is put aside and offline; adopt brings it back."""
        (path,) = (one / "clicks-0" for one in self.dirs if (one / "clicks-0").exists())
        metadata = bytearray((path / "partition.metadata").read_bytes())
        metadata[28] = ord("B" if metadata[28] == ord("A") else "A")  # a letter of the id
        (path / "partition.metadata").write_bytes(metadata)
        self.start()
        with self.connected() as cluster:
            self.check(cluster, "clicks", (1,))
        with self.connected(timeout_s=1.0) as cluster:
            error = self.assertRaises(RequestError, self.check, cluster, "clicks", (0,))
            self.assertEqual(error.code, ErrorCode.KAFKA_STORAGE_ERROR)
        self.broker.stop()
        (stray,) = glob.glob(f"{path}.*-stray")
        self.assertIn("takes", self.adopt("--stray", os.path.basename(stray)))
        self.start()
        with self.connected() as cluster:
            self.check(cluster, "clicks", (0,))

    def test_anew(self) -> None:
        """kafkatx.start.anew starts an empty cluster; every log is put aside, and can be adopted later."""
        os.unlink(self.database)
        self.start(kafkatx_start_anew="true")
        with self.connected() as cluster:
            self.assertEqual(Admin(cluster).list_topics(), [])
        self.broker.stop()
        self.assertEqual(self.content(), self.logs)
        self.assertEqual(glob.glob(f"{self.dirs[0]}/*-delete"), [])
        self.adopt("--strays")
        self.start()
        self.check_all()

    # --- ways to lose a directory

    def test_unmounted(self) -> None:
        """A disk that is away makes its partitions offline, not empty; when it is back all is there."""
        away = self.dirs[1].with_name("away")
        self.dirs[1].rename(away)
        self.dirs[1].mkdir()
        self.start()
        self.assertRegex(self.broker.output(), rf"log dir {self.dirs[1]} is offline: .* held \d partitions")
        self.broker.stop()
        self.assertFalse(glob.glob(f"{self.dirs[1]}/*-*"))
        shutil.rmtree(self.dirs[1])
        away.rename(self.dirs[1])
        self.start()
        self.check_all()

    def test_removed_directory(self) -> None:
        """A partition's directory that was removed stays offline until the operator says that it is lost."""
        (path,) = (one / "views-0" for one in self.dirs if (one / "views-0").exists())
        shutil.rmtree(path)
        for _ in range(2):
            self.start()
            self.assertIn("views-0", self.broker.output())
            self.broker.stop()
            self.assertFalse(path.exists())
        self.assertIn("views: starts 1 partition anew", self.adopt("--empty"))
        self.start()
        with self.connected() as cluster:
            self.check(cluster, "views", (1,))
            with Writer(cluster, "views") as writer:
                writer.send(b"new", partition=0)
