"""The table of the broker's settings: every name that kafkatx honours.

This module has the settings of the broker itself and of new topics, and joins all parts of the table. Names
and meanings are Apache Kafka's; a default that differs from Kafka's is noted in the setting's text. Several
settings for one topic config (``log.retention.ms``, ``.minutes``, ``.hours``) are listed in the order of
their precedence.
"""

from __future__ import annotations

import re

from kafkatx.config.table import cleanup, groups, limits, log, network, replication, zookeeper
from kafkatx.config.table.mirror.rows import MIRROR
from kafkatx.config.table.row import ConfigType, Section, by_name
from kafkatx.config.table.security import acls, sasl, tls

IDENTITY = Section("The broker", "Identity and plugins of this broker.")

BROKER_ID = IDENTITY.integer(
    "broker.id",
    0,
    "Id of this broker in its cluster. The data in log.dirs belongs to it. -1 is taken as not set: a "
    "broker on ZooKeeper then generates its id (broker.id.generation.enable).",
    low=0,
    aliases=("node.id", "brokerid"),
    legacy=("-1",),
)
BROKER_RACK = IDENTITY.optional_string(
    "broker.rack", "Failure domain of this broker; replicas are spread over racks."
)
KAFKATX_STORAGE = IDENTITY.string(
    "kafkatx.storage",
    "file",
    "Plugin that stores the records: file (segment files in log.dirs), memory (nothing on disk, not "
    "even the cluster's state), or an installed one.",
)
KAFKATX_METADATA_STORE = IDENTITY.string(
    "kafkatx.metadata.store",
    "embedded",
    "Plugin that stores the cluster's state: embedded (one broker, SQLite in one of log.dirs, "
    "initially the first), zookeeper (the default where zookeeper.connect is set), local (the brokers of "
    "one machine), or an installed one.",
)
KAFKATX_START_ANEW = IDENTITY.boolean(
    "kafkatx.start.anew",
    False,
    "Start although the cluster's state is lost, damaged or not that of log.dirs: with an empty "
    "state, or with the one that is found. Partition directories that it does not know are renamed to"
    " ...-stray, a damaged state file is renamed, and nothing is removed. Meant for one start; to "
    "keep the topics, use kafkatx log adopt instead. In a cluster also: take logs that are lost, or older "
    "than the broker's last life, as they are where no other replica is in sync.",
)
KAFKATX_RETENTION = IDENTITY.string(
    "kafkatx.retention",
    "time+size",
    "Plugin that chooses old segments to delete: time, size, time+size, keep, or an installed one.",
    default_for=("kafkatx.retention",),
)

TOPICS = Section("Topics", "Defaults of new topics, and what clients may do with topics.")

NUM_PARTITIONS = TOPICS.integer(
    "num.partitions", 1, "Partitions of a topic that is created without a number of partitions.", low=1
)
DEFAULT_REPLICATION_FACTOR = TOPICS.integer(
    "default.replication.factor",
    1,
    "Replicas of a topic that is created without a replication factor.",
    low=1,
)
AUTO_CREATE_TOPICS_ENABLE = TOPICS.boolean(
    "auto.create.topics.enable",
    True,
    "Create an unknown topic when a client asks for its metadata.",
)
DELETE_TOPIC_ENABLE = TOPICS.boolean("delete.topic.enable", True, "Allow clients to delete topics.")
MIN_INSYNC_REPLICAS = TOPICS.integer(
    "min.insync.replicas",
    1,
    "Minimum number of in-sync replicas: with fewer, a produce with acks=all is refused, and the high "
    "watermark stands still. At most the number of the partition's replicas counts.",
    low=1,
    dynamic=True,
    default_for=("min.insync.replicas",),
)
UNCLEAN_LEADER_ELECTION_ENABLE = TOPICS.boolean(
    "unclean.leader.election.enable",
    False,
    "Elect a replica that is not in sync if no other is left: the partition is available again, and may have "
    "lost records.",
    dynamic=True,
    default_for=("unclean.leader.election.enable",),
)

AUDIT = Section(
    "Audit",
    "Counts of committed records that this broker announces, for kafkatx audit. Apache Kafka has no such "
    "settings.",
)


def _read_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(text) from error
    return text


KAFKATX_AUDIT_INTERVAL_MS = AUDIT.long(
    "kafkatx.audit.interval.ms",
    0,
    "Interval at which the leader of a partition counts its new committed records and announces the counts "
    "in kafkatx.audit.topic; also the length of a window. 0: the broker does not count.",
    low=0,
    high=86_400_000,
    unit="ms",
)
KAFKATX_AUDIT_TOPIC = AUDIT.string(
    "kafkatx.audit.topic",
    "kafkatx-audit",
    "Topic of the announcements; created if it does not exist. Its own records are not counted.",
)
KAFKATX_AUDIT_TOPICS = AUDIT.parsed(
    "kafkatx.audit.topics",
    ConfigType.STRING,
    ".*",
    "Topics that are counted: a regular expression for whole names. Internal topics never are.",
    _read_pattern,
    "a regular expression",
)
KAFKATX_AUDIT_WORKER_PERCENT = AUDIT.integer(
    "kafkatx.audit.worker.percent",
    50,
    "Maximum part of the time in which records are counted: after each piece the worker pauses, so that "
    "catching up with old records takes no more of the process.",
    low=1,
    high=100,
    unit="percent",
)
KAFKATX_AUDIT_PLACE = AUDIT.string(
    "kafkatx.audit.place",
    "",
    "Name of this cluster in announcements and in the output of kafkatx audit. Empty: the id of the cluster.",
)

SCHEMAS = Section(
    "Schema registry",
    "The schema registry at the HTTP listener. Apache Kafka has none; the topic is that of Confluent's.",
)

SCHEMAS_TOPIC = SCHEMAS.string(
    "kafkatx.schemas.topic",
    "_schemas",
    "Topic that the registry keeps everything in (kafkastore.topic of Confluent's); created with the first "
    "write, compacted, with one partition.",
)
SCHEMAS_TOPIC_REPLICATION_FACTOR = SCHEMAS.integer(
    "kafkatx.schemas.topic.replication.factor",
    3,
    "Replicas of that topic; at most as many as there are live brokers when it is created.",
    low=1,
)
SCHEMAS_COMPATIBILITY_LEVEL = SCHEMAS.string(
    "kafkatx.schemas.compatibility.level",
    "BACKWARD",
    "Compatibility level of subjects as long as nothing else is configured.",
    choices=(
        *("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE"),
        *("FULL", "FULL_TRANSITIVE"),
    ),
)
SCHEMAS_MAX_BYTES = SCHEMAS.integer(
    "kafkatx.schemas.max.bytes",
    1_000_000,
    "Maximum size of a schema's text.",
    low=1,
    high=1_000_000,
    unit="bytes",
)
SCHEMAS_INSPECTION_TIMEOUT_MS = SCHEMAS.integer(
    "kafkatx.schemas.inspection.timeout.ms",
    10_000,
    "Maximum time to understand a schema and to compare it with earlier ones; then it is refused, and the "
    "process that was at work is killed.",
    low=1,
    unit="ms",
)
SCHEMAS_WRITE_TIMEOUT_MS = SCHEMAS.integer(
    "kafkatx.schemas.write.timeout.ms",
    10_000,
    "Maximum time to wait until a change is on all in-sync replicas, or until there is a leader to forward "
    "it to.",
    low=1,
    unit="ms",
)

SECTIONS = (
    IDENTITY,
    *network.SECTIONS,
    *tls.SECTIONS,
    *sasl.SECTIONS,
    *acls.SECTIONS,
    *limits.SECTIONS,
    TOPICS,
    *log.SECTIONS,
    *cleanup.SECTIONS,
    *groups.SECTIONS,
    *limits.QUOTA_SECTIONS,
    *zookeeper.SECTIONS,
    *replication.SECTIONS,
    AUDIT,
    SCHEMAS,
    MIRROR,
)
"""The whole table."""

SETTINGS = by_name(SECTIONS)
"""The whole table by name, in its order."""
