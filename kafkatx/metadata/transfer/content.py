"""The nodes that the state of a cluster of one broker makes in a tree. Pure.

Each partition keeps its leader and leader epoch: when the broker registers, the controller gives it a higher
epoch, as after any restart. ``/cluster/id`` is not among the nodes: its creation ends an import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from kafkatx.interfaces.nodes import Create, parent_path
from kafkatx.metadata.layout import configs, entities, incarnations, paths
from kafkatx.metadata.layout.controller import encode_feature
from kafkatx.metadata.layout.entities import ConfigEntity
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.metadata.layout.producer_ids import ProducerIdBlock
from kafkatx.metadata.layout.security import acls
from kafkatx.metadata.layout.topics import TopicNode
from kafkatx.types import ClusterState, LogDirRecord, QuotaEntity, Topic

MOST_OPERATIONS = 500
MOST_BYTES = 256 * 1024
"""The bounds of one transaction; ZooKeeper's packets are bounded to 1 MiB."""


@attrs.frozen
class Content:
    """The state of a cluster of one broker.

    :ivar next_producer_id: the lowest producer id that is not in use.
    """

    broker_id: int
    state: ClusterState
    recorded: LogDirRecord
    next_producer_id: int = 0


def nodes(content: Content) -> Iterator[Create]:
    """Yield the nodes, parents first; those of ``paths.PERSISTENT`` exist.

    :raises RequestError: an entity's name cannot be part of a path.
    """
    yield Create(paths.FEATURE, encode_feature())
    if content.next_producer_id > 0:
        block = ProducerIdBlock(content.broker_id, range(content.next_producer_id))
        yield Create(paths.PRODUCER_IDS, block.encode())
    yield from _configs(content.state)
    yield from _acls(content.state)
    for topic in content.state.topics.values():
        yield from _topic(topic)
    yield from _log_dirs(content)


def batches(operations: Iterable[Create]) -> Iterator[Sequence[Create]]:
    """Yield the operations in transactions of a bounded size, in order."""
    batch: list[Create] = []
    size = 0
    for operation in operations:
        cost = len(operation.path) + len(operation.data)
        if batch and (len(batch) == MOST_OPERATIONS or size + cost > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(operation)
        size += cost
    if batch:
        yield batch


def _configs(state: ClusterState) -> Iterator[Create]:
    for broker, broker_configs in state.broker_configs.items():
        yield _config(entities.broker(broker), configs.encode_configs(broker_configs))
    for group_id, group_configs in state.group_configs.items():
        yield _config(entities.group(group_id), configs.encode_configs(group_configs))
    for subscription, metrics_configs in state.client_metrics_configs.items():
        yield _config(entities.client_metrics(subscription), configs.encode_configs(metrics_configs))
    made: set[str] = set()
    for entity, found in sorted(_clients(state).items(), key=lambda item: len(item[0])):
        created = _config(entities.quota(entity), configs.encode_configs(found))
        if len(entity) == 2:  # the node of the user is the parent of those of its client ids
            clients = parent_path(created.path)
            if parent_path(clients) not in made:
                yield Create(parent_path(clients), configs.encode_configs({}))
            if clients not in made:
                yield Create(clients)
            made |= {clients, parent_path(clients)}
        made.add(created.path)
        yield created


def _clients(state: ClusterState) -> dict[QuotaEntity, dict[str, str]]:
    """Return the configs of clients, users and addresses: quotas, and the credentials of users."""
    found = {entity: configs.with_quotas({}, quotas) for entity, quotas in state.client_quotas.items()}
    for user, credentials in state.scram_credentials.items():
        found.setdefault((("user", user),), {}).update(credentials)
    return found


def _acls(state: ClusterState) -> Iterator[Create]:
    found = {acls.acl_path(pattern): entries for pattern, entries in state.acls.items()}
    for parent in dict.fromkeys(map(parent_path, found)):
        yield Create(parent)
    for path, entries in found.items():
        yield Create(path, acls.encode_entries(entries))


def _config(entity: ConfigEntity, data: bytes) -> Create:
    return Create(paths.config(entity.path), data)


def _topic(topic: Topic) -> Iterator[Create]:
    name = topic.name
    yield _config(entities.topic(name), configs.encode_configs(topic.configs))
    yield Create(paths.topic(name), TopicNode.of(topic).encode())
    yield Create(paths.partitions(name))
    for number, state in enumerate(topic.partitions):
        node = StateNode(state.leader, max(state.leader_epoch, 0), controller_epoch=0, isr=state.isr)
        yield Create(paths.partition(name, number))
        yield Create(paths.state(name, number), node.encode())


def _log_dirs(content: Content) -> Iterator[Create]:
    recorded, broker_id = content.recorded, content.broker_id
    yield Create(paths.log_dirs(broker_id), incarnations.encode_log_dirs(recorded.log_dirs))
    for topic_id, placed in recorded.placed.items():
        node = incarnations.PlacedTopic(placed)
        yield Create(paths.placed_topic(broker_id, topic_id), node.encode())
    for topic_id in recorded.deleted - recorded.placed.keys():
        node = incarnations.PlacedTopic({}, deleted=True)
        yield Create(paths.placed_topic(broker_id, topic_id), node.encode())
