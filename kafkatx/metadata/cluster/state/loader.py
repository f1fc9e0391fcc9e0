"""Reads of the nodes of a cluster: all of them, or those of one topic, entity or broker.

It touches the tree, and does not change it. :mod:`kafkatx.metadata.cluster.state.follower` calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
from twisted.logger import Logger

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import NodeStat
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.cluster.state.acl_loader import AclLoader, FoundAcls, with_found
from kafkatx.metadata.cluster.state.broker_loader import BrokerLoader
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.image import (
    NO_CHANGE,
    ControllerFacts,
    FoundBrokers,
    FoundTopic,
    Image,
    Restorations,
)
from kafkatx.metadata.cluster.state.requests import children, each, read
from kafkatx.metadata.controller.pieces import TopicNodes
from kafkatx.metadata.layout import configs, entities, partition_states, paths, topics
from kafkatx.metadata.layout.controller import decode_cluster_id, decode_controller, decode_epoch
from kafkatx.metadata.layout.entities import ConfigEntity, EntityType
from kafkatx.metadata.layout.fields import UnreadableNode, natural
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.metadata.layout.restorations import decode_restorations

MakeWatch = Callable[[str], Watch]
"""Returns a watch for a path."""

TOPICS_AT_ONCE = 32
_ENTITIES = (
    EntityType.BROKER,
    EntityType.CLIENT,
    EntityType.USER,
    EntityType.IP,
    EntityType.GROUP,
    EntityType.CLIENT_METRICS,
)


@attrs.frozen
class FoundConfigs:
    """The configs of an entity, as its node was read; none if there is no node."""

    entity: ConfigEntity
    configs: Mapping[str, str]

    def put(self, draft: Draft) -> None:
        """Take them into an image."""
        if self.entity.quota:
            draft.set_quotas(self.entity.quota, configs.quotas(self.entity.path, self.configs))
            user = self.entity.user
            if user is not None:
                draft.set_credentials(user, configs.credentials(self.configs))
        else:
            draft.set_configs(self.entity, self.configs)


@attrs.frozen
class Loaded:
    """All nodes, as they were read.

    :ivar applied: sequence number of the last change record when the reading began.
    :ivar changes: number of change records then.
    :ivar notifications: names of the config notifications then.
    :ivar restorations: restorations of an older copy, read before everything else.
    :ivar deletions: version of ``/kafkatx/deletions`` before the topics were read; -1 without the node.
    """

    cluster_id: str
    applied: int
    changes: int
    names: Sequence[str]
    topics: Sequence[FoundTopic | None]
    brokers: FoundBrokers
    controller: ControllerFacts | None
    deleting: Sequence[str]
    entities: Sequence[ConfigEntity]
    configs: Sequence[FoundConfigs | None]
    notifications: Sequence[str]
    deletions: int
    restorations: Restorations
    acls: Sequence[FoundAcls] = ()

    def draft(self, image: Image) -> Draft:
        """Return a draft that replaces all of an image; what is equal stays the same object."""
        draft = Draft(image)
        draft.set_cluster_id(self.cluster_id)
        draft.take_brokers(self.brokers)
        draft.set_deletions(self.deletions)
        draft.set_restorations(self.restorations)
        draft.set_controller(self.controller)
        draft.set_deleting(self.deleting)
        draft.keep_topics(self.names)
        for topic in self.topics:
            if topic is not None:
                draft.put_topic(topic)
        draft.keep_configs(self.entities)
        for found in self.configs:
            if found is not None:
                found.put(draft)
        draft.set_acls(with_found(draft.acls, self.acls, everything=True))
        return draft


class Loader:
    """Reads nodes.

    :ivar brokers: reads the nodes of brokers.
    :ivar acls: reads the nodes of ACLs.
    :ivar strict: True to fail for each node that cannot be read. Otherwise one of a topic, a broker or an
        entity is logged, and left out of the result: what was known of it should stay.
    """

    _log = Logger()

    def __init__(self, tree: ITree) -> None:
        self._tree = tree
        self.strict = True
        self.brokers = BrokerLoader(tree, self._unreadable)
        self.acls = AclLoader(tree, self._unreadable)

    async def load(self, watch: MakeWatch) -> Loaded:
        """Read everything.

        :param watch: makes the watches of the lists and of the controller.
        :raises UnreadableNode: a node of the whole cluster is foreign or damaged; or any node, if strict.
        """
        tree = self._tree
        await tree.sync()
        restorations = await self.restorations(watch)
        # the change log comes first: what happens while the rest is read will be applied from it
        changes = await tree.children(paths.CHANGES, watch(paths.CHANGES))
        # and so does the number of deletions: a topic that is found later has not been deleted up to it
        deletions = await tree.exists(paths.DELETIONS)
        lists = (paths.TOPICS, paths.DELETE_TOPICS, paths.CONFIG_CHANGES)
        names, deleting, notifications = await each(lambda path: tree.children(path, watch(path)), lists)
        found_entities = await self._entities()
        return Loaded(
            decode_cluster_id((await tree.read(paths.CLUSTER_ID))[0]),
            applied=last_sequence(changes),
            changes=len(changes),
            names=names,
            topics=await each(self.topic, names, TOPICS_AT_ONCE),
            brokers=await self.brokers.load(watch(paths.BROKER_IDS)),
            controller=await self.controller(watch),
            deleting=deleting,
            entities=found_entities,
            configs=await each(self.configs, found_entities),
            notifications=notifications,
            deletions=-1 if deletions is None else deletions.version,
            restorations=restorations,
            acls=await self.acls.load(watch),
        )

    async def controller(self, watch: MakeWatch) -> ControllerFacts | None:
        """Read the nodes of the controller; None if there is no controller.

        :raises UnreadableNode: one of them is damaged.
        """
        tree = self._tree
        if await tree.exists(paths.CONTROLLER, watch(paths.CONTROLLER)) is None:
            return None
        node = await read(tree, paths.CONTROLLER)
        epoch = await read(tree, paths.CONTROLLER_EPOCH)
        if node is None or epoch is None:
            return None  # it has just gone, and the watch tells
        return ControllerFacts(
            decode_controller(node[0]).broker_id,
            node[1].ephemeral_owner,
            node[1].czxid,
            decode_epoch(epoch[0]),
            epoch[1].version,
            epoch[1].mzxid,
        )

    async def restorations(self, watch: MakeWatch) -> Restorations:
        """Read how often an older copy of the tree was put back, and whether states from before are left.

        :raises UnreadableNode: the node is damaged.
        """
        # the number is asked for first, and so is not later than the other
        found, stat = await each(
            self._node, ((paths.RESTORATIONS, None), (paths.RESTORING, watch(paths.RESTORING)))
        )
        number = decode_restorations(b"" if found is None else found[0])
        return Restorations(number, -1 if stat is None else stat[1].czxid)

    async def _node(self, asked: tuple[str, Watch | None]) -> tuple[bytes, NodeStat] | None:
        """Read a node with a watch; None if there is none, and the watch tells when there is one."""
        path, watch = asked
        if watch is not None and await self._tree.exists(path, watch) is None:
            return None
        return await read(self._tree, path)

    async def topic(self, name: str) -> FoundTopic | None:
        """Read the nodes of a topic; None if it does not exist."""
        path = paths.topic(name)
        found = await read(self._tree, path)
        if found is None:
            return None
        data, stat = found
        try:
            node = topics.decode(path, data)
            states = await each(lambda number: self.state(name, number), range(len(node.partitions)))
            topic_configs = await self._configs(entities.topic(name))
        except UnreadableNode as error:
            self._unreadable(error)
            return None
        return FoundTopic(name, node, stat, topic_configs, states)

    async def state(self, name: str, number: int) -> tuple[StateNode, NodeStat] | None:
        """Read the state of a partition.

        :raises UnreadableNode: it is damaged.
        """
        path = paths.state(name, number)
        found = await read(self._tree, path)
        return None if found is None else (partition_states.decode(path, found[0]), found[1])

    async def configs(self, entity: ConfigEntity) -> FoundConfigs | None:
        """Read the configs of an entity; None if they cannot be read."""
        try:
            found = FoundConfigs(entity, await self._configs(entity))
            if entity.quota:
                configs.quotas(entity.path, found.configs)
        except UnreadableNode as error:
            self._unreadable(error)
            return None
        return found

    async def _configs(self, entity: ConfigEntity) -> dict[str, str]:
        path = paths.config(entity.path)
        found = await read(self._tree, path)
        return {} if found is None else configs.decode_configs(path, found[0])

    async def _entities(self) -> list[ConfigEntity]:
        """Return the entities that have config nodes, without topics."""
        found = []
        for kind in _ENTITIES:
            for name in await children(self._tree, paths.config(kind.value)):
                found.append(f"{kind.value}/{name}")
                if kind is EntityType.USER:
                    parent = f"{kind.value}/{name}/clients"
                    found += [f"{parent}/{each}" for each in await children(self._tree, paths.config(parent))]
        return [entity for entity in map(entities.parse_path, found) if entity is not None]

    async def topic_nodes(self, name: str) -> TopicNodes:
        """Return which nodes of a topic exist."""
        tree = self._tree
        numbered = {}
        for child in await children(tree, paths.partitions(name)):
            number = natural(child)
            if number is not None:
                numbered[number] = await tree.exists(paths.state(name, number)) is not None
        return TopicNodes(
            config=await tree.exists(paths.config(entities.topic(name).path)) is not None,
            parent=await tree.exists(paths.partitions(name)) is not None,
            partitions=numbered,
        )

    def _unreadable(self, error: UnreadableNode) -> None:
        if self.strict:
            raise error
        self._log.error("{error}; what is known of it stays", error=error)


def last_sequence(names: Iterable[str]) -> int:
    """Return the highest sequence number of the change records of these names."""
    numbers = [number for number in map(paths.parse_change, names) if number is not None]
    return max(numbers, default=NO_CHANGE)
