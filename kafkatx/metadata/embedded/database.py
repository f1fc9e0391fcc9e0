"""The embedded metadata store's database: topics, partitions and configs in one SQLite file.

Every function here blocks; all of a database's calls are made in one worker. Each change is one transaction,
synced before it returns (``journal_mode=TRUNCATE``, ``synchronous=FULL``): after a ``kill -9`` or a power
cut, a change that has returned is there, and no change is there in part. Between changes the journal is
empty: the file alone is the whole state, and a copy of it is complete. :mod:`kafkatx.metadata.embedded.seal`
detects a damaged file, and one that is older than the data beside it.

While it is open, the file is locked (``locking_mode=EXCLUSIVE``): a second broker fails to open it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import attrs

from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import ConfigChange
from kafkatx.metadata.embedded.location import make_file, sync_directory
from kafkatx.metadata.embedded.rows import check_topic, ids, insert_partitions, replace_log_dirs, unknown
from kafkatx.metadata.embedded.schema import MIGRATIONS
from kafkatx.metadata.embedded.seal import Damaged, Seal
from kafkatx.types import LogDirRecord, PartitionState, Placement, QuotaEntity, Topic

T = TypeVar("T")
V = TypeVar("V", str, float)

IN_MEMORY = ":memory:"
"""The path of a database that is not on the disk."""


class DatabaseDamaged(SettingError):
    """The content of the file is not what was written to it."""


@attrs.frozen
class Loaded:
    """The content of a database when it was opened."""

    cluster_id: str
    topics: dict[str, Topic]
    broker_configs: dict[str, Mapping[str, str]]
    client_quotas: dict[QuotaEntity, Mapping[str, float]]
    group_configs: dict[str, Mapping[str, str]]
    recorded: LogDirRecord


class ClusterDatabase:
    """An open database.

    :param path: the file, created with its directory if it is missing; or :data:`IN_MEMORY`.
    :param lock_wait_s: how long to wait for another process to close the file.
    :raises DatabaseDamaged: the file is not a database, or not what was written to it.
    :raises SettingError: the file cannot be made or opened, is of a newer kafkatx, or is open in another
        broker.
    """

    def __init__(self, path: str, lock_wait_s: float = 1.0) -> None:
        self._path = path
        directory = os.path.dirname(path)
        try:
            new = path != IN_MEMORY and make_file(path)
            # check_same_thread: a worker may use one thread after another, never two at once
            self._db = sqlite3.connect(path, lock_wait_s, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise SettingError(
                f"log.dirs={directory}: cannot keep the cluster's state there: {error}"
            ) from None
        self._seal = Seal(self._db)
        try:
            self._prepare()
            if new:
                sync_directory(directory)
        except Damaged as error:
            self._db.close()
            raise self._damaged(error) from None
        except (OSError, sqlite3.Error) as error:
            self._db.close()
            if "locked" in str(error):
                raise SettingError(
                    f"log.dirs={directory}: in use by another broker; stop it or choose another directory"
                ) from None
            if not isinstance(error, (OSError, sqlite3.OperationalError)):
                raise self._damaged(error) from None
            raise SettingError(f"log.dirs={directory}: {path} cannot be used: {error}") from None
        except SettingError:
            self._db.close()
            raise

    def _damaged(self, error: Exception) -> DatabaseDamaged:
        return DatabaseDamaged(
            f"log.dirs={os.path.dirname(self._path)}: the cluster's state, {self._path}, is damaged ({error})"
        )

    @property
    def generation(self) -> int:
        """A number that rises with each committed change; any thread may read it."""
        return self._seal.on_disk

    def _prepare(self) -> None:
        db = self._db
        # before the first access, so that the lock is taken with it
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("PRAGMA journal_mode=TRUNCATE")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA foreign_keys=ON")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            raise SettingError(
                f"log.dirs={os.path.dirname(self._path)}: {self._path} was written by a newer kafkatx "
                f"(version {version}, this one knows {len(MIGRATIONS)}); use that one"
            )
        self._seal.check(version)
        # takes the lock of a file that needs no migration; a migration is whole, and sealed, or not done
        db.execute("BEGIN IMMEDIATE")
        for script in MIGRATIONS[version:]:
            for statement in script:
                db.execute(statement)
        if version < len(MIGRATIONS):
            db.execute(f"PRAGMA user_version={len(MIGRATIONS):d}")
            self._seal.migrated()
        self._seal.watch()
        self._seal.write()
        db.execute("COMMIT")
        self._seal.committed()

    def together(self, changes: Sequence[Callable[[], T]]) -> list[tuple[T | None, Exception | None]]:
        """Make several changes in one transaction, synced once; return what each returned or raised.

        :param changes: call methods of this database; one that raises is undone alone.
        :raises RequestError: KAFKA_STORAGE_ERROR: none of the changes is made.
        """
        outcomes: list[tuple[T | None, Exception | None]] = []
        with self._transaction():
            for change in changes:
                try:
                    outcomes.append((change(), None))
                except Exception as error:
                    if not self._db.in_transaction:
                        raise
                    outcomes.append((None, error))
        return outcomes

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Make the changes of a block, and sync them, or none of them; :meth:`together` syncs later.

        :raises RequestError: KAFKA_STORAGE_ERROR: the disk is full or fails.
        """
        db, before = self._db, self._seal.mark()
        nested = db.in_transaction
        try:
            db.execute("SAVEPOINT one" if nested else "BEGIN IMMEDIATE")
            yield db
            if not nested:
                self._seal.write()
            db.execute("RELEASE one" if nested else "COMMIT")
            if not nested:
                self._seal.committed()
        except BaseException as error:
            if db.in_transaction and nested:
                db.execute("ROLLBACK TO one")
                db.execute("RELEASE one")
            elif db.in_transaction:
                db.execute("ROLLBACK")
            self._seal.return_to(before)
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.ProgrammingError):
                raise RequestError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._path}: {error}") from error
            raise

    def register(self, broker_id: int, new_cluster_id: str) -> Loaded:
        """Read everything; register this broker in a new database.

        :param new_cluster_id: the cluster's id if it has none yet.
        :raises SettingError: the database is another broker's.
        """
        with self._transaction() as db:
            for name, value in (("cluster_id", new_cluster_id), ("broker_id", str(broker_id))):
                db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))
            meta = dict(db.execute("SELECT name, value FROM meta"))
        if meta["broker_id"] != str(broker_id):
            raise SettingError(
                f"broker.id={broker_id}: the data in {os.path.dirname(self._path)} is that of broker "
                f"{meta['broker_id']}; set broker.id={meta['broker_id']} or choose other log.dirs"
            )
        try:
            return Loaded(
                meta["cluster_id"],
                self.topics(),
                self._broker_configs(),
                self._client_quotas(),
                self._grouped("SELECT group_id, name, value FROM group_configs", str),
                self._recorded(),
            )
        except ValueError as error:  # from before there was a seal
            raise self._damaged(error) from error

    def topics(self) -> dict[str, Topic]:
        """Return all topics, by name."""
        partitions: dict[str, list[PartitionState]] = {}
        for topic, leader, leader_epoch, replicas, isr in self._db.execute(
            "SELECT topic, leader, leader_epoch, replicas, isr FROM partitions ORDER BY topic, partition"
        ):
            state = PartitionState(leader, leader_epoch, ids(replicas), ids(isr))
            partitions.setdefault(topic, []).append(state)
        configs = self._grouped("SELECT topic, name, value FROM configs", str)
        return {
            name: Topic(
                name,
                uuid.UUID(bytes=topic_id),
                tuple(partitions.get(name, ())),
                configs.get(name, MappingProxyType({})),
                bool(internal),
            )
            for name, topic_id, internal in self._db.execute("SELECT name, topic_id, internal FROM topics")
        }

    def _recorded(self) -> LogDirRecord:
        placed: dict[uuid.UUID, dict[int, str]] = {}
        for topic_id, partition, directory_id in self._db.execute(
            "SELECT topic_id, partition, directory_id FROM partitions JOIN topics ON name = topic "
            "WHERE directory_id IS NOT NULL"
        ):
            placed.setdefault(uuid.UUID(bytes=topic_id), {})[partition] = directory_id
        return LogDirRecord(
            dict(self._db.execute("SELECT directory_id, path FROM log_dirs")),
            placed,
            frozenset(uuid.UUID(bytes=row[0]) for row in self._db.execute("SELECT * FROM deleted_topics")),
        )

    def _broker_configs(self) -> dict[str, Mapping[str, str]]:
        return self._grouped("SELECT broker, name, value FROM broker_configs", str)

    def _client_quotas(self) -> dict[QuotaEntity, Mapping[str, float]]:
        found = self._grouped("SELECT entity, name, value FROM client_quotas", float)
        return {
            tuple((kind, name) for kind, name in json.loads(text)): quotas for text, quotas in found.items()
        }

    def _grouped(self, query: str, read: Callable[[str | float], V]) -> dict[str, Mapping[str, V]]:
        """Return the names and values that a query gives, by their owner."""
        found: dict[str, dict[str, V]] = {}
        for owner, name, value in self._db.execute(query):
            found.setdefault(owner, {})[name] = read(value)
        return {owner: MappingProxyType(configs) for owner, configs in found.items()}

    def create_topic(self, topic: Topic) -> None:
        """Insert a new topic.

        :raises RequestError: TOPIC_ALREADY_EXISTS.
        """
        with self._transaction() as db:
            if db.execute("SELECT 1 FROM topics WHERE name = ?", (topic.name,)).fetchone():
                raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
            db.execute(
                "INSERT INTO topics VALUES (?, ?, ?)", (topic.name, topic.topic_id.bytes, topic.internal)
            )
            insert_partitions(db, topic.name, topic.partitions, 0)
            db.executemany(
                "INSERT INTO configs VALUES (?, ?, ?)",
                ((topic.name, name, value) for name, value in topic.configs.items()),
            )

    def delete_topic(self, name: str) -> None:
        """Forget a topic; its id is remembered until :meth:`record` is told that its directories are gone.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION.
        """
        with self._transaction() as db:
            if self._path != IN_MEMORY:
                db.execute("INSERT INTO deleted_topics SELECT topic_id FROM topics WHERE name = ?", (name,))
            if not db.execute("DELETE FROM topics WHERE name = ?", (name,)).rowcount:
                raise unknown(name)

    def add_partitions(self, name: str, count: int, added: Sequence[PartitionState]) -> None:
        """Insert more partitions of a topic.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, or INVALID_PARTITIONS: it has another number.
        """
        with self._transaction() as db:
            check_topic(db, name)
            (there,) = db.execute("SELECT count(*) FROM partitions WHERE topic = ?", (name,)).fetchone()
            if there != count:
                raise RequestError(
                    ErrorCode.INVALID_PARTITIONS,
                    f"Topic '{name}' has {there} partitions by now, not {count}.",
                )
            insert_partitions(db, name, added, count)

    def alter_topic_configs(self, name: str, change: ConfigChange) -> Mapping[str, str]:
        """Change the configs of a topic; return the new ones.

        :raises RequestError: UNKNOWN_TOPIC_OR_PARTITION, or as *change* does.
        """
        with self._transaction() as db:
            check_topic(db, name)
            rows = db.execute("SELECT name, value FROM configs WHERE topic = ?", (name,))
            configs = dict(change(MappingProxyType(dict(rows))))
            db.execute("DELETE FROM configs WHERE topic = ?", (name,))
            db.executemany("INSERT INTO configs VALUES (?, ?, ?)", ((name, *one) for one in configs.items()))
        return MappingProxyType(configs)

    def alter_broker_configs(self, broker: str, change: ConfigChange) -> Mapping[str, str]:
        """Change the dynamic settings of a broker, or of all (""); return the new ones.

        :raises RequestError: as *change* does.
        """
        with self._transaction() as db:
            rows = db.execute("SELECT name, value FROM broker_configs WHERE broker = ?", (broker,))
            configs = dict(change(MappingProxyType(dict(rows))))
            db.execute("DELETE FROM broker_configs WHERE broker = ?", (broker,))
            db.executemany(
                "INSERT INTO broker_configs VALUES (?, ?, ?)", ((broker, *one) for one in configs.items())
            )
        return MappingProxyType(configs)

    def alter_group_configs(self, group_id: str, change: ConfigChange) -> Mapping[str, str]:
        """Change the configs of a group; return the new ones.

        :raises RequestError: as *change* does.
        """
        with self._transaction() as db:
            rows = db.execute("SELECT name, value FROM group_configs WHERE group_id = ?", (group_id,))
            configs = dict(change(MappingProxyType(dict(rows))))
            db.execute("DELETE FROM group_configs WHERE group_id = ?", (group_id,))
            db.executemany(
                "INSERT INTO group_configs VALUES (?, ?, ?)", ((group_id, *one) for one in configs.items())
            )
        return MappingProxyType(configs)

    def alter_client_quotas(self, changes: Mapping[QuotaEntity, Mapping[str, float | None]]) -> None:
        """Set quotas, and remove those whose value is None."""
        rows = [
            (json.dumps(entity), name, value)
            for entity, quotas in changes.items()
            for name, value in quotas.items()
        ]
        with self._transaction() as db:
            db.executemany(
                "DELETE FROM client_quotas WHERE entity = ? AND name = ?", [row[:2] for row in rows]
            )
            db.executemany(
                "INSERT INTO client_quotas VALUES (?, ?, ?)", [row for row in rows if row[2] is not None]
            )

    def allocate_producer_ids(self, count: int) -> range:
        """Allocate *count* producer ids, from 0 on, each of them once."""
        with self._transaction() as db:
            db.execute("INSERT OR IGNORE INTO meta VALUES ('next_producer_id', '0')")
            ((value,),) = db.execute("SELECT value FROM meta WHERE name = 'next_producer_id'")
            first = int(value)
            db.execute("UPDATE meta SET value = ? WHERE name = 'next_producer_id'", (str(first + count),))
        return range(first, first + count)

    def record(
        self,
        log_dirs: Mapping[str, str] | None,
        placed: Iterable[Placement],
        gone: Iterable[uuid.UUID],
    ) -> None:
        """Record the log dirs of partitions, as ``IMetadataStore.record`` says."""
        with self._transaction() as db:
            db.executemany(
                "UPDATE partitions SET directory_id = ?"
                " WHERE topic = (SELECT name FROM topics WHERE topic_id = ?) AND partition = ?",
                [(one.directory_id, one.topic_id.bytes, one.partition) for one in placed],
            )
            db.executemany(
                "DELETE FROM deleted_topics WHERE topic_id = ?", [(topic_id.bytes,) for topic_id in gone]
            )
            if log_dirs is not None:
                replace_log_dirs(db, log_dirs)

    def skip_ahead(self, generation: int, producer_id: int) -> None:
        """Raise the next generation and the next producer id above these."""
        with self._transaction() as db:
            self._seal.raise_to(generation)
            db.execute(
                "INSERT INTO meta VALUES ('next_producer_id', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1"
                " WHERE CAST(value AS INTEGER) < CAST(?1 AS INTEGER)",
                (str(producer_id + 1),),
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()
