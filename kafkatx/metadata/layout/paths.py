"""Paths of all nodes, and the way back from a path to the names in it. Pure.

Up to ``/kafkatx`` they are Apache Kafka 3.9's (``kafka.zk.ZkData``). A chroot is not part of them: the tree
adds it.
"""

from __future__ import annotations

import re
import uuid

from kafkatx.metadata.layout.fields import id_text, natural, parse_id
from kafkatx.metadata.layout.security import acls
from kafkatx.types import TopicPartition

BROKER_IDS = "/brokers/ids"
"""Children: the ids of the registered brokers; ephemeral."""
TOPICS = "/brokers/topics"
BROKER_SEQUENCE = "/brokers/seqid"
"""Its version after a set is the next generated broker id, less ``reserved.broker.max.id``."""
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
CLUSTER_ID = "/cluster/id"
FEATURE = "/feature"
MIGRATION = "/migration"
CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
DELETE_TOPICS = "/admin/delete_topics"
"""Children: the names of the topics to delete; their content is empty."""
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
"""The reassignments that a tool for Apache Kafka before 2.6 asks for."""
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"
"""The preferred elections that a tool for Apache Kafka before 2.4 asks for."""
PRODUCER_IDS = "/latest_producer_id_block"

INCARNATIONS = "/kafkatx/incarnations"
LIVES = "/kafkatx/lives"
"""Children: the ids of brokers, with the last life of each of their log dirs."""
LEASES = "/kafkatx/leases"
CHANGES = "/kafkatx/changes"
LOG_DIRS = "/kafkatx/log_dirs"
OFFLINE = "/kafkatx/offline"
"""Children: the ids of live brokers with replicas whose log dirs have failed; ephemeral."""
LOG_ENDS = "/kafkatx/log_ends"
"""Children: the ids of live brokers that tell where logs end, after a restored state; ephemeral."""
RESTORATIONS = "/kafkatx/restorations"
"""The number of times that an older copy of this tree was put back and noticed."""
RESTORING = "/kafkatx/restoring"
"""There from that moment on until all states of partitions are written anew; its czxid is the moment."""
DELETIONS = "/kafkatx/deletions"
"""Its version rises by one with each transaction that completes deletions of topics; its content is empty.

A transaction that checks it writes no state into a topic that was deleted and created again.
"""
IMPORT = "/kafkatx/import"
"""There while the state of an embedded metadata store is being imported: brokers must not start."""

PERSISTENT = (
    "/consumers",
    "/brokers",
    BROKER_IDS,
    TOPICS,
    BROKER_SEQUENCE,
    CONFIG,
    CONFIG_CHANGES,
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
    "/config/groups",
    "/config/client-metrics",
    "/admin",
    DELETE_TOPICS,
    "/cluster",
    "/isr_change_notification",
    "/log_dir_event_notification",
    "/kafkatx",
    INCARNATIONS,
    LIVES,
    LEASES,
    CHANGES,
    LOG_DIRS,
    OFFLINE,
    LOG_ENDS,
    RESTORATIONS,
    DELETIONS,
    *acls.PERSISTENT,
)
"""The nodes that each broker makes at its start if they are missing, empty, parents first.

``/latest_producer_id_block`` is not one of them: Apache Kafka reads a node without JSON there as damaged.
"""

CHANGE_PREFIX = f"{CHANGES}/c-"
"""Path of a sequential node of the change log; ten digits are appended."""
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES}/config_change_"
"""Path of a sequential notification of a changed config node."""

_CHANGE = re.compile(r"c-(-?\d{10,})", re.ASCII)
_STATE = re.compile(rf"{TOPICS}/([^/]+)/partitions/(\d+)/state", re.ASCII)


def broker(broker_id: int) -> str:
    """Return the path of a broker's registration."""
    return f"{BROKER_IDS}/{broker_id}"


def topic(name: str) -> str:
    """Return the path of a topic's node."""
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    """Return the path of the parent of a topic's partitions."""
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, number: int) -> str:
    """Return the path of a partition's node, whose only child is its state."""
    return f"{TOPICS}/{name}/partitions/{number}"


def state(name: str, number: int) -> str:
    """Return the path of a partition's state."""
    return f"{TOPICS}/{name}/partitions/{number}/state"


def deleted_topic(name: str) -> str:
    """Return the path of the mark of a topic that is to be deleted."""
    return f"{DELETE_TOPICS}/{name}"


def config(entity_path: str) -> str:
    """Return the path of a config node: *entity_path* is ``topics/T``, as ``ConfigEntity.path`` gives it."""
    return f"{CONFIG}/{entity_path}"


def change(sequence: int) -> str:
    """Return the path of a change record."""
    return f"{CHANGE_PREFIX}{sequence:010d}"


def incarnation(broker_id: int) -> str:
    """Return the path of a broker's incarnation."""
    return f"{INCARNATIONS}/{broker_id}"


def lives(broker_id: int) -> str:
    """Return the path of the last lives of a broker's log dirs."""
    return f"{LIVES}/{broker_id}"


def lease(broker_id: int) -> str:
    """Return the path of the node that a broker sets to renew its lease."""
    return f"{LEASES}/{broker_id}"


def offline(broker_id: int) -> str:
    """Return the path of the list of a broker's replicas whose log dirs have failed."""
    return f"{OFFLINE}/{broker_id}"


def log_ends(broker_id: int) -> str:
    """Return the path of the list of the ends of a broker's logs."""
    return f"{LOG_ENDS}/{broker_id}"


def log_dirs(broker_id: int) -> str:
    """Return the path of the record of a broker's log dirs."""
    return f"{LOG_DIRS}/{broker_id}"


def placed_topic(broker_id: int, topic_id: uuid.UUID) -> str:
    """Return the path of the record of the log dirs of a topic's partitions on one broker."""
    return f"{LOG_DIRS}/{broker_id}/{id_text(topic_id)}"


def parse_state(path: str) -> TopicPartition | None:
    """Return the partition of the path of a state; None for another path."""
    match = _STATE.fullmatch(path)
    number = natural(match[2]) if match else None
    return None if match is None or number is None else TopicPartition(match[1], number)


def parse_change(name: str) -> int | None:
    """Return the sequence number of a change record, from its name or path; None for another one."""
    match = _CHANGE.fullmatch(name.removeprefix(f"{CHANGES}/"))
    return int(match[1]) if match else None


def parse_broker(name: str) -> int | None:
    """Return the broker id of a child of ``/brokers/ids``, or of its path; None for another name."""
    return natural(name.removeprefix(f"{BROKER_IDS}/"))


def parse_placed_topic(name: str) -> uuid.UUID | None:
    """Return the topic id of a child of a broker's ``/kafkatx/log_dirs``; None for another name."""
    return parse_id(name)
