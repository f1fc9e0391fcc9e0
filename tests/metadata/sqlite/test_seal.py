"""The seal of the store's database: all damage is detected, and no sound file is called damaged."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import uuid
from collections.abc import Mapping
from typing import NoReturn

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.schema import MIGRATIONS, SCHEMA
from kafkatx.metadata.sqlite.database import DatabaseDamaged
from kafkatx.metadata.sqlite.seal import Seal
from kafkatx.testing.contracts.security.acl_store import READ, TOPIC, WRITE, on
from kafkatx.types import Placement, Topic
from tests.metadata.embedded.test_database import topic

FLIPS = 150


def failing(old: Mapping[str, str]) -> NoReturn:
    """Fail, as a change with a bug does."""
    raise ZeroDivisionError


class SealTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a database with topics, configs, quotas, log dirs and a deleted topic."""
        self.path = os.path.join(os.path.abspath(self.mktemp()), "cluster.sqlite3")
        self.database = ClusterDatabase(self.path)
        self.database.register(3, "cluster")
        self.made = [topic(f"t{number}") for number in range(30)]
        for one in self.made:
            self.database.create_topic(one)
        self.database.delete_topic("t0")
        self.database.alter_topic_configs("t1", lambda _: {"a": "ä\n"})
        self.database.alter_broker_configs("", lambda _: {"log.roll.ms": "1"})
        self.database.alter_group_configs("g", lambda _: {"a": "1"})
        self.database.alter_client_metrics_configs("s", lambda _: {"metrics": "*"})
        self.database.alter_client_quotas({(("user", "ann"),): {"a": 0.1, "b": 3}})
        self.database.alter_scram_credentials({"ann": {"SCRAM-SHA-256": "a"}})
        self.database.alter_acls(on(TOPIC, READ, WRITE), on(TOPIC, WRITE))
        self.database.add_partitions("t2", 7, self.made[0].partitions)
        self.database.record({"x": "/x"}, [Placement(self.made[3].topic_id, 2, "x")], [])
        self.database.allocate_producer_ids(10)
        self.addCleanup(lambda: self.database.close())

    def reopened(self) -> ClusterDatabase:
        """Close the database and return it opened again."""
        self.database.close()
        self.database = ClusterDatabase(self.path)
        return self.database

    def refused(self) -> str:
        """Return the reason why the database is refused when it is opened."""
        return str(self.assertRaises(DatabaseDamaged, ClusterDatabase, self.path, 0))

    def test_sound(self) -> None:
        """A database changed in every way is sound when it is opened again, and opening changes nothing."""
        generation = self.database.generation
        first = self.reopened().register(3, "cluster")
        self.assertEqual(self.database.generation, generation)
        self.assertEqual(self.reopened().register(3, "cluster"), first)

    def test_rises(self) -> None:
        """The generation rises by one with each change, and not if nothing was changed."""
        before = self.database.generation
        self.database.delete_topic("t5")
        self.assertRaises(RequestError, self.database.delete_topic, "t5")
        self.database.alter_topic_configs("t1", lambda old: old)
        self.database.create_topic(topic("new"))
        self.assertEqual(self.database.generation, before + 2)

    def test_copy_is_complete(self) -> None:
        """A copy of the file alone, made while the database is open, has every change."""
        expected = self.database.register(3, "cluster")
        copy = os.path.join(self.mktemp(), "copy.sqlite3")
        os.mkdir(os.path.dirname(copy))
        shutil.copy(self.path, copy)
        other = ClusterDatabase(copy)
        self.addCleanup(other.close)
        self.assertEqual(other.register(3, "cluster"), expected)
        for name in os.listdir(os.path.dirname(self.path)):
            if name != os.path.basename(self.path):
                self.assertEqual(os.path.getsize(os.path.join(os.path.dirname(self.path), name)), 0, name)

    def test_any_flipped_bit(self) -> None:
        """A file with any one bit flipped is refused, or has everything that was written."""
        expected = self.database.register(3, "cluster")
        self.database.close()
        with open(self.path, "rb") as file:
            sound = file.read()
        chance = random.Random(1)
        noticed = 0
        for _ in range(FLIPS):
            data = bytearray(sound)
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            with open(self.path, "wb") as file:
                file.write(data)
            try:
                flipped = ClusterDatabase(self.path, 0)
            except SettingError:
                noticed += 1
                continue
            self.addCleanup(flipped.close)
            self.assertEqual(flipped.register(3, "cluster"), expected)
            flipped.close()
        self.assertGreater(noticed, FLIPS // 10)

    def test_lost_row(self) -> None:
        """Missing rows are detected in any table, though SQLite accepts the file."""
        for table in SCHEMA.sealed:
            self.reopened().close()
            kept = self.path + ".kept"
            shutil.copy(self.path, kept)
            with sqlite3.connect(self.path) as other:
                self.assertTrue(other.execute(f"DELETE FROM {table}").rowcount, table)
            other.close()
            self.assertIn("the checksum of its rows is wrong", self.refused(), table)
            shutil.move(kept, self.path)

    def test_cut(self) -> None:
        """A truncated file is refused."""
        self.database.close()
        for size in (512, 4096, 8192, os.path.getsize(self.path) - 4096):
            kept = self.path + ".kept"
            shutil.copy(self.path, kept)
            os.truncate(self.path, size)
            self.refused()
            shutil.move(kept, self.path)

    def test_together(self) -> None:
        """Changes made together are one change of the file; a refused one does not affect the others."""
        before = self.database.generation
        made = topic("both")
        done = self.database.together(
            [
                lambda: self.database.create_topic(made),
                lambda: self.database.create_topic(topic("t1")),
                lambda: self.database.alter_topic_configs("both", failing),
                lambda: self.database.delete_topic("t2"),
            ]
        )
        errors = [type(error) for _, error in done]
        self.assertEqual(errors, [type(None), RequestError, ZeroDivisionError, type(None)])
        self.assertEqual(self.database.generation, before + 1)
        topics = self.reopened().register(3, "cluster").topics
        self.assertEqual((topics["both"], "t2" in topics), (made, False))

    def test_together_on_a_full_disk(self) -> None:
        """A change that does not fit on the disk fails; the others of its batch are stored or refused."""
        (pages,) = self.database._db.execute("PRAGMA page_count").fetchone()
        self.database._db.execute(f"PRAGMA max_page_count={pages}")
        led = self.made[0].partitions[:1]
        big = Topic("big", uuid.uuid4(), led * 5000)
        changes = [lambda: self.database.delete_topic("t2"), lambda: self.database.create_topic(big)]
        try:
            (_, first), (_, second) = self.database.together(changes)
        except RequestError as error:
            first = second = error
        assert isinstance(second, RequestError)
        self.assertEqual(second.code, ErrorCode.KAFKA_STORAGE_ERROR)
        topics = self.reopened().register(3, "cluster").topics
        self.assertEqual(("t2" in topics, "big" in topics), (first is not None, False))

    def test_failed_change(self) -> None:
        """The seal matches the contents after a change is rolled back."""
        self.assertRaises(ZeroDivisionError, self.database.alter_topic_configs, "t1", failing)
        big = topic("big")
        (pages,) = self.database._db.execute("PRAGMA page_count").fetchone()
        self.database._db.execute(f"PRAGMA max_page_count={pages}")
        error = None
        while error is None:
            try:
                self.database.add_partitions(
                    "t2", len(self.database.topics()["t2"].partitions), big.partitions
                )
            except RequestError as full:
                error = full
        self.assertEqual(error.code, ErrorCode.KAFKA_STORAGE_ERROR)
        self.reopened()

    def test_migrated(self) -> None:
        """A file without a seal gets one, and its partitions count as created in an unknown log dir."""
        self.database.close()
        os.unlink(self.path)
        made = self.made[1]
        with sqlite3.connect(self.path) as old:
            old.execute("PRAGMA journal_mode=WAL")
            for script in MIGRATIONS[:3]:
                for statement in script:
                    old.execute(statement)
            old.execute("PRAGMA user_version=3")
            old.execute("INSERT INTO topics VALUES (?, ?, 0)", ("t1", made.topic_id.bytes))
            old.execute("INSERT INTO partitions VALUES ('t1', 0, 3, 0, '3', '3')")
        old.close()
        loaded = self.reopened().register(3, "cluster")
        self.assertEqual(loaded.recorded.placed, {made.topic_id: {0: ""}})
        self.assertEqual(self.reopened().register(3, "x"), loaded)

    def as_version_5(self) -> None:
        """Close the database and seal it as version 5 did: without the configs of groups."""
        self.database.close()
        with sqlite3.connect(self.path) as old:
            later = ("group_configs", "scram_credentials", "acls", "client_metrics_configs")
            for table in later[1:]:
                old.execute(f"DROP TABLE {table}")
            old.execute("PRAGMA user_version=5")
            seal = Seal(old, SCHEMA)
            seal.generation = 8
            seal._sum = seal._sum_of(table for table in SCHEMA.sealed if table not in later)
            old.execute("UPDATE seal SET generation = 8, checksum = ?", (seal._checksum(),))
        old.close()

    def test_group_configs_sealed_later(self) -> None:
        """A file whose seal does not cover the configs of groups gets one that does, once."""
        for expected in ({"g": {"a": "1"}}, {}):
            if not expected:
                self.database.alter_group_configs("g", lambda _: {})
            self.as_version_5()
            self.assertEqual(self.reopened().register(3, "cluster").group_configs, expected)
            self.assertEqual(self.database.generation, 9)
            self.assertEqual(self.reopened().generation, 9)

    # --- the record of log dirs

    def test_record(self) -> None:
        """Places and deletions stay recorded until they are changed; unused log dirs are removed."""
        gone, other = self.made[0].topic_id, uuid.uuid4()
        self.assertEqual(self.database.register(3, "x").recorded.deleted, {gone})
        placed = [Placement(self.made[1].topic_id, 0, "y"), Placement(self.made[3].topic_id, 2, None)]
        self.database.record({"y": "/y", "z": "/z"}, [*placed, Placement(other, 0, "y")], [gone, other])
        recorded = self.reopened().register(3, "x").recorded
        self.assertEqual(recorded.placed, {self.made[1].topic_id: {0: "y"}})
        self.assertEqual((dict(recorded.log_dirs), recorded.deleted), ({"y": "/y", "z": "/z"}, frozenset()))
        self.database.record({"z": "/elsewhere"}, [], [])
        self.assertEqual(self.reopened().register(3, "x").recorded.log_dirs, {"y": "/y", "z": "/elsewhere"})

    def test_only_its_owner(self) -> None:
        """Only the owner may read the file, whatever the umask."""
        self.addCleanup(os.umask, os.umask(0))
        path = os.path.join(self.mktemp(), "dir", "cluster.sqlite3")
        other = ClusterDatabase(path)
        self.addCleanup(other.close)
        other.register(3, "cluster")
        directory = os.path.dirname(path)
        modes = {os.stat(os.path.join(directory, name)).st_mode & 0o777 for name in os.listdir(directory)}
        self.assertEqual((os.stat(directory).st_mode & 0o777, modes), (0o700, {0o600}))
