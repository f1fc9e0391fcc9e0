"""Records of the change log, ``/kafkatx/changes/c-0000000001``: what one transaction changed. Pure.

``{"version":1,"by":"c5","topics":{"T":{"topic_id":"...","version":0,"partitions":{"0":[1]},"configs":{}}},
"states":[["T",0,{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":5,"isr":[1]},0]],
"deleted":[["T","<topic id>"]],"configs":["topics/T","users/u"],"deleting":["T"],
"brokers":[1],"acls":["/kafka-acl/Topic/T"]}``

All keys but ``version`` and ``by`` are optional. A topic that is being reassigned also has the keys
``adding_replicas`` and ``removing_replicas`` of its node. Each record is made in the transaction that it
reports, so its czxid is the mzxid of the nodes that the transaction changed. Every broker reads the records
in order and applies what is newer than its own state. A record that would be larger than :data:`MOST_BYTES`
has null in place of the content of its topics: readers then read the nodes.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import attrs

from kafkatx.metadata.layout import partition_states
from kafkatx.metadata.layout.fields import (
    INT32_MAX,
    Fields,
    UnreadableNode,
    encode,
    id_text,
    parse,
    parse_id,
    quoted,
)
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.metadata.layout.topics import (
    TopicNode,
    read_reassigned,
    read_replicas,
    reassigned_members,
    replicas_members,
)

VERSION = 1
MOST_BYTES = 256 * 1024
_NOTHING: Mapping[int, tuple[int, ...]] = MappingProxyType({})


@attrs.frozen
class TopicChange:
    """A topic that was created or got another node.

    :ivar version: version of the topic's node.
    :ivar partitions: the replicas of each partition, by its number.
    :ivar configs: its configs; None if they are as before.
    :ivar adding: replicas that a reassignment adds, by partition; only of partitions that have some.
    :ivar removing: those that it removes.
    """

    topic_id: uuid.UUID
    version: int
    partitions: tuple[tuple[int, ...], ...]
    configs: Mapping[str, str] | None = None
    adding: Mapping[int, tuple[int, ...]] = _NOTHING
    removing: Mapping[int, tuple[int, ...]] = _NOTHING

    @classmethod
    def of(
        cls, node: TopicNode, topic_id: uuid.UUID, version: int, configs: Mapping[str, str] | None = None
    ) -> TopicChange:
        """Return the change to the content of a topic's node."""
        return cls(topic_id, version, node.partitions, configs, node.adding_replicas, node.removing_replicas)


@attrs.frozen
class StateChange:
    """The new state of a partition.

    :ivar partition_epoch: version of the state's node.
    """

    topic: str
    partition: int
    node: StateNode
    partition_epoch: int


@attrs.frozen
class ChangeRecord:
    """The changes of one transaction.

    :ivar by: its writer, for people: ``c5`` is the controller of epoch 5, ``b1`` broker 1.
    :ivar topics: created and changed topics by name; None: read the topic's nodes.
    :ivar states: states that were written.
    :ivar deleted: names and ids of topics whose nodes are gone.
    :ivar configs: ``ConfigEntity.path`` of config nodes that were set.
    :ivar deleting: names of topics that were marked for deletion.
    :ivar brokers: ids of brokers whose incarnations or offline replicas have changed since they registered.
    :ivar acls: paths of nodes of ACLs that were set or deleted.
    """

    by: str
    topics: Mapping[str, TopicChange | None] = attrs.field(factory=dict)
    states: Sequence[StateChange] = ()
    deleted: Sequence[tuple[str, uuid.UUID]] = ()
    configs: Sequence[str] = ()
    deleting: Sequence[str] = ()
    brokers: Sequence[int] = ()
    acls: Sequence[str] = ()

    def encode(self) -> bytes:
        """Return the content of the node; topics without their content if it would be too large."""
        data = encode(self._members(self.topics))
        if len(data) > MOST_BYTES and any(self.topics.values()):
            data = encode(self._members(dict.fromkeys(self.topics)))
        return data

    def _members(self, topics: Mapping[str, TopicChange | None]) -> dict[str, object]:
        members: dict[str, object] = {"version": VERSION, "by": self.by}
        if topics:
            members["topics"] = {name: change and _topic_members(change) for name, change in topics.items()}
        if self.states:
            members["states"] = [
                (one.topic, one.partition, one.node.members(), one.partition_epoch) for one in self.states
            ]
        if self.deleted:
            members["deleted"] = [(name, id_text(topic_id)) for name, topic_id in self.deleted]
        if self.configs:
            members["configs"] = list(self.configs)
        if self.deleting:
            members["deleting"] = list(self.deleting)
        if self.brokers:
            members["brokers"] = list(self.brokers)
        if self.acls:
            members["acls"] = list(self.acls)
        return members


def decode(path: str, data: bytes) -> ChangeRecord:
    """Read a record of the change log.

    :raises UnreadableNode: it is not one of version 1. The reader must then read all nodes again.
    """
    fields = parse(path, data)
    fields.version(VERSION, VERSION)
    topics = fields.optional_object("topics")
    return ChangeRecord(
        by=fields.text("by"),
        topics={name: _topic(topics.optional_object(name)) for name in topics} if topics else {},
        states=[_state(path, item) for item in fields.items("states")],
        deleted=[_deleted(path, item) for item in fields.items("deleted")],
        configs=fields.texts("configs", default=()),
        deleting=fields.texts("deleting", default=()),
        brokers=fields.integers("brokers") if "brokers" in fields else (),
        acls=fields.texts("acls", default=()),
    )


def _topic_members(change: TopicChange) -> dict[str, object]:
    members: dict[str, object] = {
        "topic_id": id_text(change.topic_id),
        "version": change.version,
        "partitions": replicas_members(change.partitions),
    }
    if change.configs is not None:
        members["configs"] = dict(change.configs)
    if change.adding:
        members["adding_replicas"] = reassigned_members(change.adding)
    if change.removing:
        members["removing_replicas"] = reassigned_members(change.removing)
    return members


def _topic(fields: Fields | None) -> TopicChange | None:
    if fields is None:
        return None
    topic_id = fields.topic_id("topic_id")
    if topic_id is None:
        raise fields.wrong("topic_id", "a topic id")
    configs = None if fields.optional_object("configs") is None else fields.text_map("configs")
    return TopicChange(
        topic_id,
        fields.integer("version", lowest=0),
        read_replicas(fields, "partitions"),
        configs,
        read_reassigned(fields, "adding_replicas"),
        read_reassigned(fields, "removing_replicas"),
    )


def _state(path: str, item: object) -> StateChange:
    match item:
        case [str(topic), int(partition), dict(members), int(epoch)] if _natural(partition) and _natural(
            epoch
        ):
            node = partition_states.read(Fields(path, members, f"states.{topic}-{partition}"))
            return StateChange(topic, partition, node, epoch)
    raise UnreadableNode(path, f'"states":[{quoted(item)}]', "topic, partition, state and partition epoch")


def _natural(value: int) -> bool:
    return type(value) is int and 0 <= value <= INT32_MAX


def _deleted(path: str, item: object) -> tuple[str, uuid.UUID]:
    match item:
        case [str(name), str(text)]:
            topic_id = parse_id(text)
            if topic_id is not None:
                return name, topic_id
    raise UnreadableNode(path, f'"deleted":[{quoted(item)}]', "a topic's name and id")
