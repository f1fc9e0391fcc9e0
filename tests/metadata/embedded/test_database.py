"""The database of the embedded store: versions, locks, full disks, and processes that are killed."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import uuid

from twisted.trial.unittest import SynchronousTestCase

import kafkatx
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.schema import MIGRATIONS
from kafkatx.metadata.sqlite.database import IN_MEMORY
from kafkatx.types import PartitionState, Topic

PARTITIONS = 7
STEPS = [(PARTITIONS, 2), (PARTITIONS, 4), (PARTITIONS + 3, 4)]
"""Partitions and configs of a topic: created, altered, grown."""

# Creates and deletes topics until it is killed; prints each change after it is made and before the next
# begins. It kills itself before the SQL statement whose number is the third argument, unless that is 0.
_CHILD = """
import os, signal, sys
from kafkatx.metadata.embedded.database import ClusterDatabase
from tests.metadata.embedded.test_database import topic

database = ClusterDatabase(sys.argv[1])
database.register(3, "cluster")
number = int(sys.argv[2])
left = int(sys.argv[3])

def count(statement):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

database._db.set_trace_callback(count)
while True:
    made = topic(f"t{number}")
    database.create_topic(made)
    print("created", made.name, made.topic_id, flush=True)
    database.alter_topic_configs(made.name, lambda old: {**old, "a": "1", "b": "2"})
    database.add_partitions(made.name, 7, made.partitions[:3])
    print("altered", made.name, made.topic_id, flush=True)
    if number % 3 == 0:
        database.delete_topic(made.name)
        print("deleted", made.name, made.topic_id, flush=True)
    print("ids", database.allocate_producer_ids(10).stop, "-", flush=True)
    number += 1
"""


def topic(name: str) -> Topic:
    """Return a topic of 7 partitions with 2 configs."""
    led = PartitionState(3, 0, (3,), (3,))
    configs = {"retention.ms": "5", "cleanup.policy": "delete"}
    return Topic(name, uuid.uuid4(), (led,) * PARTITIONS, configs)


class DatabaseTests(SynchronousTestCase):
    """One file, used by one process."""

    def setUp(self) -> None:
        """Name a file in a directory that does not exist yet."""
        self.path = os.path.join(self.mktemp(), "cluster.sqlite3")

    def open(self) -> ClusterDatabase:
        """Open the file; it is closed at the test's end."""
        database = ClusterDatabase(self.path, lock_wait_s=0)
        self.addCleanup(database.close)
        return database

    def test_round_trip(self) -> None:
        """A topic is read as it was written, with 10 or more partitions in their order."""
        many = Topic(
            "many",
            uuid.uuid4(),
            tuple(PartitionState(n % 2, n, (n % 2, 2, 3), (n % 2,)) for n in range(25)),
            {"a": "ä\n=b"},
            internal=True,
        )
        first = self.open()
        first.register(3, "cluster")
        first.create_topic(many)
        first.close()
        loaded = self.open().register(3, "another")
        self.assertEqual(loaded.cluster_id, "cluster")
        self.assertEqual(dict(loaded.topics), {"many": many})

    def test_durability_settings(self) -> None:
        """A change is in the file itself, and synced, when it is reported."""
        database = self.open()
        self.assertEqual(database._db.execute("PRAGMA journal_mode").fetchone(), ("truncate",))
        self.assertEqual(database._db.execute("PRAGMA synchronous").fetchone(), (2,))

    def test_locked(self) -> None:
        """An open file is refused, even if it needs no migration; after close() it is not."""
        first = self.open()
        self.assertIn("in use by another broker", str(self.assertRaises(SettingError, self.open)))
        first.close()
        second = self.open()
        self.assertRaises(SettingError, self.open)
        second.close()
        self.open()

    def test_newer_version(self) -> None:
        """A file of a newer kafkatx is refused and left as it is."""
        self.open().close()
        with sqlite3.connect(self.path) as other:
            other.execute("PRAGMA user_version=99")
        other.close()
        self.assertIn("written by a newer kafkatx", str(self.assertRaises(SettingError, self.open)))

    def test_first_version(self) -> None:
        """A file of the first version is migrated, with all its data."""
        made = topic("clicks")
        os.mkdir(os.path.dirname(self.path))
        with sqlite3.connect(self.path) as old:
            for statement in MIGRATIONS[0]:
                old.execute(statement)
            old.execute("PRAGMA user_version=1")
            old.execute("INSERT INTO meta VALUES ('cluster_id', 'of old')")
            old.execute("INSERT INTO topics VALUES (?, ?, 0)", ("clicks", made.topic_id.bytes))
            old.execute("INSERT INTO partitions VALUES ('clicks', 0, 3, 0, '3', '3')")
        old.close()
        database = self.open()
        database.alter_broker_configs("3", lambda _: {"log.roll.ms": "1"})
        loaded = database.register(3, "new")
        self.assertEqual((loaded.cluster_id, loaded.topics["clicks"].topic_id), ("of old", made.topic_id))
        self.assertEqual(loaded.broker_configs, {"3": {"log.roll.ms": "1"}})

    def test_not_a_database(self) -> None:
        """A file that is not a database is refused by name."""
        os.mkdir(os.path.dirname(self.path))
        with open(self.path, "wb") as file:
            file.write(b"not a database at all" * 100)
        message = str(self.assertRaises(SettingError, self.open))
        self.assertIn(self.path, message)

    def test_full_disk(self) -> None:
        """A topic that does not fit on the disk fails with KAFKA_STORAGE_ERROR and leaves no rows."""
        database = self.open()
        database.register(3, "cluster")
        (pages,) = database._db.execute("PRAGMA page_count").fetchone()
        database._db.execute(f"PRAGMA max_page_count={pages}")
        led = PartitionState(3, 0, (3,), (3,))
        big = Topic("big", uuid.uuid4(), (led,) * 5000)
        error = self.assertRaises(RequestError, database.create_topic, big)
        self.assertEqual(error.code, ErrorCode.KAFKA_STORAGE_ERROR)
        self.assertEqual(dict(database.register(3, "cluster").topics), {})
        database._db.execute(f"PRAGMA max_page_count={pages + 1000}")
        database.create_topic(big)

    def test_deleting_takes_all(self) -> None:
        """Deleting a topic deletes its partitions and configs."""
        database = ClusterDatabase(IN_MEMORY)
        self.addCleanup(database.close)
        database.create_topic(topic("clicks"))
        database.delete_topic("clicks")
        for table in ("topics", "partitions", "configs"):
            self.assertEqual(database._db.execute(f"SELECT count(*) FROM {table}").fetchone(), (0,), table)


class KilledTests(SynchronousTestCase):
    """Processes killed with kill -9 at random moments."""

    def test_between_statements(self) -> None:
        """A process killed before any SQL statement keeps reported changes, and no topic is incomplete."""
        chance = random.Random(1)
        self.check([(10**6, chance.randrange(1, 1000)) for _ in range(8)], 15)

    def test_at_any_time(self) -> None:
        """A process killed from outside keeps the reported changes, and no topic is incomplete."""
        chance = random.Random(2)
        self.check([(chance.randrange(1, 60), 0) for _ in range(5)], 20)

    def check(self, kills: list[tuple[int, int]], at_least: int) -> None:
        """Run and kill a child repeatedly, and check the database after each run.

        :param kills: for each run the number of reports to wait for before killing it, and the number of
            the SQL statement before which it kills itself (0: it does not).
        :param at_least: minimum number of topics that the runs must have created.
        """
        path = os.path.abspath(os.path.join(self.mktemp(), "cluster.sqlite3"))
        there: dict[str, str] = {}
        whole: set[str] = set()
        next_number = next_id = 0
        for lines, statements in kills:
            for done, name, topic_id in self.run_and_kill(path, next_number, lines, statements):
                if done == "created":
                    there[name] = topic_id
                    next_number = int(name[1:]) + 1
                elif done == "altered":
                    whole.add(name)
                elif done == "deleted":
                    del there[name]
                else:
                    next_id = int(name)
            loaded, allocated = self.look(path)
            self.assertGreaterEqual(allocated.start, next_id)
            for name, found in loaded.items():
                self.assertIn((len(found.partitions), len(found.configs)), STEPS)
                if name in whole:
                    self.assertEqual((len(found.partitions), len(found.configs)), STEPS[-1])
                # a topic that was being created or deleted may be present or absent
                if name in there:
                    self.assertEqual(str(found.topic_id), there[name])
                else:
                    self.assertEqual(name, f"t{next_number}")
                    next_number += 1
            for name in [name for name in there if name not in loaded]:
                self.assertEqual(name, f"t{next_number - 1}")
                self.assertEqual(int(name[1:]) % 3, 0)
            there = {name: str(found.topic_id) for name, found in loaded.items()}
        self.assertGreater(len(there), at_least)

    def run_and_kill(self, path: str, first: int, lines: int, statements: int) -> list[tuple[str, str, str]]:
        """Return all that a child reported before it was killed."""
        root = os.path.dirname(os.path.dirname(os.path.abspath(kafkatx.__file__)))
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, path, str(first), str(statements)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])},
        )
        assert child.stdout is not None
        with child.stdout:
            reported = list(itertools.islice(child.stdout, lines))
            child.send_signal(signal.SIGKILL)
            reported += child.stdout.readlines()
        self.assertEqual(child.wait(), -signal.SIGKILL)
        whole = [line.split() for line in reported if line.endswith("\n")]
        return [(done, name, topic_id) for done, name, topic_id in whole]

    def look(self, path: str) -> tuple[dict[str, Topic], range]:
        """Return the topics of a database, and the next producer id."""
        database = ClusterDatabase(path)
        try:
            return dict(database.register(3, "cluster").topics), database.allocate_producer_ids(1)
        finally:
            database.close()
