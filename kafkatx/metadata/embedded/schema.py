"""The tables of the embedded metadata store's database, as a list of migrations."""

from __future__ import annotations

from kafkatx.metadata.sqlite.schema import SEAL_TABLE, Schema

MIGRATIONS = (
    (
        """CREATE TABLE meta (
            name TEXT NOT NULL PRIMARY KEY,  -- cluster_id, broker_id, next_producer_id
            value TEXT NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE topics (
            name TEXT NOT NULL PRIMARY KEY,
            topic_id BLOB NOT NULL UNIQUE,  -- 16 bytes
            internal INTEGER NOT NULL
        ) WITHOUT ROWID""",
        """CREATE TABLE partitions (
            topic TEXT NOT NULL REFERENCES topics (name) ON DELETE CASCADE,
            partition INTEGER NOT NULL,
            leader INTEGER NOT NULL,
            leader_epoch INTEGER NOT NULL,
            replicas TEXT NOT NULL,  -- broker ids with commas between
            isr TEXT NOT NULL,
            PRIMARY KEY (topic, partition)
        ) WITHOUT ROWID""",
        """CREATE TABLE configs (
            topic TEXT NOT NULL REFERENCES topics (name) ON DELETE CASCADE,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (topic, name)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE broker_configs (
            broker TEXT NOT NULL,  -- an id; empty for the defaults of all brokers
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (broker, name)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE client_quotas (
            entity TEXT NOT NULL,  -- JSON: [[type, name or null], ...] in the order of the types
            name TEXT NOT NULL,
            value REAL NOT NULL,
            PRIMARY KEY (entity, name)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE group_configs (
            group_id TEXT NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (group_id, name)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE log_dirs (
            directory_id TEXT NOT NULL PRIMARY KEY,  -- of meta.properties
            path TEXT NOT NULL  -- where it was last
        ) WITHOUT ROWID""",
        """CREATE TABLE deleted_topics (
            topic_id BLOB NOT NULL PRIMARY KEY  -- some of its directories may still be there
        ) WITHOUT ROWID""",
        # the log dir that has the partition's directory; NULL: it is not known to have been made
        "ALTER TABLE partitions ADD COLUMN directory_id TEXT",
        # earlier versions made every directory at once, and did not write down where
        "UPDATE partitions SET directory_id = ''",
        SEAL_TABLE,
    ),
    (),  # the seal covers group_configs, too
    (
        """CREATE TABLE scram_credentials (
            user TEXT NOT NULL,
            mechanism TEXT NOT NULL,
            credential TEXT NOT NULL,  -- salt, iterations and keys, as Apache Kafka writes them in ZooKeeper
            PRIMARY KEY (user, mechanism)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE acls (
            resource_type INTEGER NOT NULL,  -- the numbers of kafkatx.acls
            pattern_type INTEGER NOT NULL,
            name TEXT NOT NULL,
            principal TEXT NOT NULL,
            host TEXT NOT NULL,
            operation INTEGER NOT NULL,
            permission INTEGER NOT NULL,
            PRIMARY KEY (resource_type, pattern_type, name, principal, host, operation, permission)
        ) WITHOUT ROWID""",
    ),
    (
        """CREATE TABLE client_metrics_configs (
            subscription TEXT NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (subscription, name)
        ) WITHOUT ROWID""",
    ),
)
"""Each script leads from the version that is its index to the next; ``PRAGMA user_version`` tells a file's.

Scripts that were ever released are never changed, only followed by others.
"""

SCHEMA = Schema(
    MIGRATIONS,
    {
        "meta": 5,
        "topics": 5,
        "partitions": 5,
        "configs": 5,
        "broker_configs": 5,
        "client_quotas": 5,
        "log_dirs": 5,
        "deleted_topics": 5,
        "group_configs": 6,
        "scram_credentials": 7,
        "acls": 8,
        "client_metrics_configs": 9,
    },
)
