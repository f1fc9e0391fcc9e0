"""The embedded metadata store's database: topics, partitions and configs in one SQLite file.

Every function here blocks; all of a database's calls are made in one worker. Each change is one transaction,
synced before it returns: see :mod:`kafkatx.metadata.sqlite.database`, which also locks the file and notices
damage. The seal's generation tells a file that is older than the data beside it.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import attrs

from kafkatx.acls import AclBinding, Acls
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.interfaces import ConfigChange
from kafkatx.metadata.embedded.rows import (
    check_topic,
    ids,
    insert_partitions,
    read_acls,
    replace_log_dirs,
    unknown,
    write_acls,
)
from kafkatx.metadata.embedded.schema import SCHEMA
from kafkatx.metadata.sqlite.database import IN_MEMORY, SealedDatabase
from kafkatx.types import LogDirRecord, PartitionState, Placement, QuotaEntity, Topic, TopicPartition

V = TypeVar("V", str, float)


@attrs.frozen
class Loaded:
    """The content of a database when it was opened."""

    cluster_id: str
    topics: dict[str, Topic]
    broker_configs: dict[str, Mapping[str, str]]
    client_quotas: dict[QuotaEntity, Mapping[str, float]]
    group_configs: dict[str, Mapping[str, str]]
    client_metrics_configs: dict[str, Mapping[str, str]]
    scram_credentials: dict[str, Mapping[str, str]]
    acls: Acls
    recorded: LogDirRecord


class ClusterDatabase(SealedDatabase):
    """An open database.

    :param path: the file, created with its directory if it is missing; or :data:`IN_MEMORY`.
    :param lock_wait_s: how long to wait for another process to close the file.
    :raises DatabaseDamaged: the file is not a database, or not what was written to it.
    :raises SettingError: the file cannot be made or opened, is of a newer kafkatx, or is open in another
        broker.
    """

    def __init__(self, path: str, lock_wait_s: float = 1.0) -> None:
        super().__init__(path, SCHEMA, f"log.dirs={os.path.dirname(path)}", lock_wait_s)

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
                self._grouped("SELECT subscription, name, value FROM client_metrics_configs", str),
                self.scram_credentials(),
                read_acls(self._db),
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

    def raise_leader_epochs(self, raised: Mapping[TopicPartition, int]) -> None:
        """Raise the leader epochs of partitions; those that do not exist any more are ignored."""
        with self._transaction() as db:
            db.executemany(
                "UPDATE partitions SET leader_epoch = max(leader_epoch, ?) WHERE topic = ? AND partition = ?",
                [(leader_epoch, *one) for one, leader_epoch in raised.items()],
            )

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

    def alter_client_metrics_configs(self, subscription: str, change: ConfigChange) -> Mapping[str, str]:
        """Change the configs of a subscription to metrics of clients; return the new ones.

        :raises RequestError: as *change* does.
        """
        with self._transaction() as db:
            rows = db.execute(
                "SELECT name, value FROM client_metrics_configs WHERE subscription = ?", (subscription,)
            )
            configs = dict(change(MappingProxyType(dict(rows))))
            db.execute("DELETE FROM client_metrics_configs WHERE subscription = ?", (subscription,))
            db.executemany(
                "INSERT INTO client_metrics_configs VALUES (?, ?, ?)",
                ((subscription, *one) for one in configs.items()),
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

    def scram_credentials(self) -> dict[str, Mapping[str, str]]:
        """Return the credentials of all users."""
        return self._grouped("SELECT user, mechanism, credential FROM scram_credentials", str)

    def alter_scram_credentials(self, changes: Mapping[str, Mapping[str, str | None]]) -> None:
        """Set credentials of users, and remove those whose text is None."""
        rows = [(user, *one) for user, of_user in changes.items() for one in of_user.items()]
        with self._transaction() as db:
            db.executemany(
                "DELETE FROM scram_credentials WHERE user = ? AND mechanism = ?", [row[:2] for row in rows]
            )
            db.executemany(
                "INSERT INTO scram_credentials VALUES (?, ?, ?)", [row for row in rows if row[2] is not None]
            )

    def alter_acls(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
        """Add ACLs, and remove others."""
        with self._transaction() as db:
            write_acls(db, added, removed)

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
