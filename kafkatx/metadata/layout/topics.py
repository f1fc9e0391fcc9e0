"""The node of a topic, ``/brokers/topics/T``: its id and the replicas of each partition. Pure.

``{"version":3,"topic_id":"<22 characters>","partitions":{"0":[1,2,3]},"adding_replicas":{},
"removing_replicas":{}}``
(``kafka.zk.TopicZNode``). Version 1 has the partitions only, 2 the replicas that a reassignment adds and
removes (KIP-455), 3 the topic id (KIP-516). A node of an old tool has no id; the controller gives it one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import attrs

from kafkatx.metadata.layout.fields import Fields, UnreadableNode, encode, id_text, natural, parse, quoted
from kafkatx.types import Topic

VERSION = 3
NO_TOPIC_ID = uuid.UUID(int=0)
"""The id of a topic whose node has none, as Kafka's ``Uuid.ZERO_UUID``."""
_NOTHING: Mapping[int, tuple[int, ...]] = MappingProxyType({})


@attrs.frozen
class TopicNode:
    """The content of a topic's node.

    :ivar topic_id: None in the node of an old tool.
    :ivar partitions: for each partition, by its number, the broker ids of its replicas.
    :ivar adding_replicas: replicas that a reassignment adds, by partition; only of partitions that have some.
    :ivar removing_replicas: those that it removes.
    """

    topic_id: uuid.UUID | None
    partitions: tuple[tuple[int, ...], ...]
    adding_replicas: Mapping[int, tuple[int, ...]] = _NOTHING
    removing_replicas: Mapping[int, tuple[int, ...]] = _NOTHING

    @classmethod
    def of(cls, topic: Topic) -> TopicNode:
        """Return the node of a topic."""
        numbered = list(enumerate(topic.partitions))
        return cls(
            None if topic.topic_id == NO_TOPIC_ID else topic.topic_id,
            tuple(each.replicas for each in topic.partitions),
            {number: each.adding for number, each in numbered if each.adding},
            {number: each.removing for number, each in numbered if each.removing},
        )

    def encode(self) -> bytes:
        """Return the content of the node, in version 3."""
        members: dict[str, object] = {"version": VERSION}
        if self.topic_id is not None:
            members["topic_id"] = id_text(self.topic_id)
        members["partitions"] = replicas_members(self.partitions)
        members["adding_replicas"] = reassigned_members(self.adding_replicas)
        members["removing_replicas"] = reassigned_members(self.removing_replicas)
        return encode(members)


def decode(path: str, data: bytes) -> TopicNode:
    """Read the content of a topic's node.

    :raises UnreadableNode: it is not one of version 1 to 3, or its partitions are not numbered from 0 on.
    """
    fields = parse(path, data)
    fields.version(1, VERSION)
    return TopicNode(
        topic_id=fields.topic_id("topic_id"),
        partitions=read_replicas(fields, "partitions"),
        adding_replicas=read_reassigned(fields, "adding_replicas"),
        removing_replicas=read_reassigned(fields, "removing_replicas"),
    )


def read_replicas(fields: Fields, key: str) -> tuple[tuple[int, ...], ...]:
    """Read the replicas of all partitions of a topic.

    :raises UnreadableNode: the partitions are not numbered from 0 on, or replicas are no broker ids.
    """
    found = fields.object(key)
    numbers = range(len(found.members))
    if any(str(number) not in found.members for number in numbers):
        raise fields.wrong(key, "partitions numbered from 0 on without gaps")
    return tuple(found.integers(str(number)) for number in numbers)


def replicas_members(partitions: Sequence[Sequence[int]]) -> dict[str, Sequence[int]]:
    """Return the replicas of all partitions as :func:`read_replicas` reads them."""
    return {str(number): replicas for number, replicas in enumerate(partitions)}


def reassigned_members(replicas: Mapping[int, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Return replicas of some partitions as :func:`read_reassigned` reads them."""
    return {str(number): ids for number, ids in replicas.items()}


def read_reassigned(fields: Fields, key: str) -> Mapping[int, tuple[int, ...]]:
    """Read the replicas that a reassignment adds or removes, by partition; none if the key is missing.

    :raises UnreadableNode: keys are no numbers of partitions, or replicas are no broker ids.
    """
    found = fields.optional_object(key)
    if found is None:
        return _NOTHING
    replicas = {}
    for name in found:
        number = natural(name)
        if number is None:
            raise UnreadableNode(fields.path, f'"{key}":{{{quoted(name)}:...}}', "numbers of partitions")
        if ids := found.integers(name):
            replicas[number] = ids
    return MappingProxyType(replicas) if replicas else _NOTHING
