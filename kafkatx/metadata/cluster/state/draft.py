"""The rules by which the image of the cluster takes changes. Pure.

Changes come from two sources: nodes that were read, and records of the change log. Both have the id of the
transaction that made them (zxid: a node's mzxid, a record's czxid). A change is taken only if its zxid is
above that of what is known, so the sources may overlap, and a record may be applied twice.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

from kafkatx.acls import Acls
from kafkatx.metadata.cluster.state.image import (
    ControllerFacts,
    FoundBrokers,
    FoundTopic,
    Image,
    Restorations,
    assigned,
    no_state,
)
from kafkatx.metadata.controller.reconcile import NO_TOPIC_ID
from kafkatx.metadata.layout.changes import StateChange, TopicChange
from kafkatx.metadata.layout.entities import ConfigEntity, EntityType
from kafkatx.names import INTERNAL_TOPICS
from kafkatx.types import BrokerNode, ClusterDelta, PartitionState, QuotaEntity, Topic

K = TypeVar("K")
V = TypeVar("V")


class Draft:
    """Changes of an image. :meth:`finish` makes them; nothing else may change the image meanwhile.

    The dicts of topics are copied once per draft.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._state = image.state
        self._topics: dict[str, Topic] | None = None
        self._names: dict[uuid.UUID, str] = image.names
        self._zxids: dict[str, int] = image.zxids
        self._unidentified = image.unidentified
        self._partitions: dict[str, list[PartitionState]] = {}
        self._changed: set[str] = set()
        self._deleted: set[uuid.UUID] = set()
        self._deleting = image.deleting
        self._controller = image.controller
        self._incarnations = image.incarnations
        self._brokers_read = image.brokers_read
        self._deletions = image.deletions
        self._restorations = image.restorations

    def finish(self, applied: int | None = None) -> tuple[Image, ClusterDelta | None]:
        """Return the image with the changes.

        :param applied: sequence number of the last change record that is included now; None: as before.
        :return: the delta is None if the state has not changed.
        """
        for name in list(self._partitions):
            self._put_partitions(name)
        image, state = self._image, self._state
        if self._topics is not None and self._changed:
            state = attrs.evolve(
                state, topics=MappingProxyType(self._topics), topic_names=MappingProxyType(self._names)
            )
        changed = attrs.evolve(
            image,
            state=state,
            topics=image.topics if self._topics is None else self._topics,
            names=self._names,
            zxids=self._zxids,
            applied=image.applied if applied is None else applied,
            deleting=self._deleting,
            unidentified=self._unidentified,
            controller=self._controller,
            incarnations=self._incarnations,
            brokers_read=self._brokers_read,
            deletions=self._deletions,
            restorations=self._restorations,
        )
        if state is image.state:
            return changed, None
        deleted = self._deleted.intersection(image.names).difference(self._names)
        return changed, ClusterDelta(image.state, state, frozenset(self._changed), frozenset(deleted))

    # --- topics

    def put_topic(self, found: FoundTopic) -> None:
        """Take the nodes of a topic."""
        if found.stat.mzxid < self._zxids.get(found.name, 0):
            return  # a record of a later change has been applied
        old = self._topic(found.name)
        topic_id = found.node.topic_id or NO_TOPIC_ID
        partitions = []
        node = found.node
        for number, replicas in enumerate(node.partitions):
            read = found.states[number] if number < len(found.states) else None
            state = (
                no_state(replicas)
                if read is None
                else read[0].state(replicas, read[1].version, read[1].mzxid)
            )
            if old is not None and old.topic_id == topic_id and number < len(old.partitions):
                known = old.partitions[number]
                if known.revision > state.revision:
                    state = known
            partitions.append(assigned(state, replicas, number, node.adding_replicas, node.removing_replicas))
        topic = Topic(
            name=found.name,
            topic_id=topic_id,
            partitions=tuple(partitions),
            configs=MappingProxyType(dict(found.configs)),
            internal=found.name in INTERNAL_TOPICS,
            version=found.stat.version,
        )
        self._replace(topic, old, found.stat.mzxid)

    def change_topic(self, name: str, change: TopicChange, zxid: int) -> None:
        """Take a topic from a change record."""
        if zxid <= self._zxids.get(name, 0):
            return
        old = self._topic(name)
        same = old is not None and old.topic_id in (change.topic_id, NO_TOPIC_ID)
        states: tuple[PartitionState, ...] = old.partitions if old is not None and same else ()
        partitions = [
            assigned(
                states[number] if number < len(states) else no_state(replicas),
                replicas,
                number,
                change.adding,
                change.removing,
            )
            for number, replicas in enumerate(change.partitions)
        ]
        configs: Mapping[str, str] = old.configs if old is not None and same else MappingProxyType({})
        if change.configs is not None:
            configs = MappingProxyType(dict(change.configs))
        topic = Topic(
            name, change.topic_id, tuple(partitions), configs, name in INTERNAL_TOPICS, change.version
        )
        self._replace(topic, old, zxid)

    def change_state(self, change: StateChange, zxid: int) -> None:
        """Take the state of a partition, from its node or a change record."""
        topic = self._topic(change.topic)
        if topic is None or zxid < self._zxids.get(change.topic, 0):
            return  # the state of a topic of this name that was deleted since
        if change.partition >= len(topic.partitions):
            return
        states = self._partitions.setdefault(change.topic, list(topic.partitions))
        known = states[change.partition]
        if zxid > known.revision:
            states[change.partition] = change.node.state(
                known.replicas, change.partition_epoch, zxid, known.adding, known.removing
            )

    def drop_topic(self, name: str, topic_id: uuid.UUID | None = None, zxid: int | None = None) -> None:
        """Take it that a topic is gone: deleted, if a change record tells so or its mark was seen.

        :param topic_id: only the topic with this id; None: whatever its id.
        :param zxid: transaction of the change record; None: its node is gone, later than all that is known.
        """
        old = self._topic(name)
        if old is None or (topic_id is not None and old.topic_id != topic_id):
            return
        if zxid is not None and zxid < self._zxids.get(name, 0):
            return
        self._partitions.pop(name, None)
        self._own_zxids().pop(name, None)
        if name in self._unidentified:
            self._unidentified = _without(self._unidentified, name)
            return
        topics = self._own_topics()
        del topics[name]
        if self._names.get(old.topic_id) == name:
            del self._names[old.topic_id]
        self._changed.add(name)
        if zxid is not None or name in self._image.deleting or name in self._deleting:
            self._deleted.add(old.topic_id)

    def note_deleted(self, topic_ids: Iterable[uuid.UUID]) -> None:
        """Take it that topics were deleted, if they are gone when the draft is finished."""
        self._deleted.update(topic_ids)

    def keep_topics(self, names: Iterable[str]) -> None:
        """Drop all topics but these: the children of ``/brokers/topics``, later than all that is known."""
        kept = set(names)
        for name in [each for each in (*self._current(), *self._unidentified) if each not in kept]:
            self.drop_topic(name)

    def _replace(self, topic: Topic, old: Topic | None, zxid: int) -> None:
        name = topic.name
        self._partitions.pop(name, None)
        if topic.topic_id == NO_TOPIC_ID:
            if name in self._current():
                self.drop_topic(name)
            self._unidentified = MappingProxyType({**self._unidentified, name: topic})
            self._own_zxids()[name] = zxid
            return
        if self._zxids.get(name) != zxid:
            self._own_zxids()[name] = zxid
        if name in self._unidentified:
            self._unidentified = _without(self._unidentified, name)
            old = None
        if topic == old:
            return
        topics = self._own_topics()
        if old is not None and old.topic_id != topic.topic_id and self._names.get(old.topic_id) == name:
            del self._names[old.topic_id]
        topics[name] = topic
        self._names[topic.topic_id] = name
        self._changed.add(name)

    def _put_partitions(self, name: str) -> None:
        """Put the changed states of a topic into it."""
        states = self._partitions.pop(name, None)
        topic = self._topic_itself(name)
        if states is None or topic is None or topic.partitions == tuple(states):
            return
        changed = attrs.evolve(topic, partitions=tuple(states))
        if name in self._unidentified:
            self._unidentified = MappingProxyType({**self._unidentified, name: changed})
        else:
            self._own_topics()[name] = changed
            self._changed.add(name)

    def _current(self) -> dict[str, Topic]:
        return self._image.topics if self._topics is None else self._topics

    def _topic_itself(self, name: str) -> Topic | None:
        return self._current().get(name) or self._unidentified.get(name)

    def _topic(self, name: str) -> Topic | None:
        """Return a topic with all changes so far."""
        if name in self._partitions:
            topic = self._topic_itself(name)
            return None if topic is None else attrs.evolve(topic, partitions=tuple(self._partitions[name]))
        return self._topic_itself(name)

    def _own_topics(self) -> dict[str, Topic]:
        if self._topics is None:
            self._topics = self._image.topics.copy()
            self._names = self._names.copy()
        return self._topics

    def _own_zxids(self) -> dict[str, int]:
        if self._zxids is self._image.zxids:
            self._zxids = self._zxids.copy()
        return self._zxids

    # --- the rest

    def set_cluster_id(self, cluster_id: str) -> None:
        """Set the cluster's id."""
        if cluster_id != self._state.cluster_id:
            self._state = attrs.evolve(self._state, cluster_id=cluster_id)

    def set_brokers(self, brokers: Mapping[int, BrokerNode]) -> None:
        """Replace the live brokers."""
        if brokers != self._state.brokers:
            known = self._state.brokers
            kept = {id: known[id] if known.get(id) == brokers[id] else brokers[id] for id in sorted(brokers)}
            self._state = attrs.evolve(self._state, brokers=MappingProxyType(kept))

    def take_brokers(self, found: FoundBrokers) -> None:
        """Take the nodes of all brokers, unless those of a reading that began later are taken already.

        A broker whose nodes could not be read stays as it is known.
        """
        if found.number < self._brokers_read:
            return
        self._brokers_read = found.number
        known, brokers = self._state.brokers, {}
        incarnations = {**self._incarnations, **found.incarnations}
        for broker_id, read in found.nodes.items():
            if (node := read or known.get(broker_id)) is not None:
                brokers[broker_id] = node
        self.set_brokers(brokers)
        if incarnations != self._incarnations:
            self._incarnations = MappingProxyType(incarnations)
        offline = {
            one: replicas
            for one in brokers
            if (replicas := (found if found.nodes[one] else self._state).offline.get(one))
        }
        if offline != self._state.offline:
            self._state = attrs.evolve(self._state, offline=MappingProxyType(offline))
        for name in ("lost_epochs", "stale_epochs"):
            epochs = {**getattr(self._state, name), **getattr(found, name)}
            if epochs != getattr(self._state, name):
                self._state = attrs.evolve(self._state, **dict[str, Any]({name: MappingProxyType(epochs)}))
        log_ends = {
            one: ends
            for one in brokers
            if (ends := (found if found.nodes[one] else self._state).log_ends.get(one))
        }
        if log_ends != self._state.log_ends:
            self._state = attrs.evolve(self._state, log_ends=MappingProxyType(log_ends))

    def set_deletions(self, version: int) -> None:
        """Take the version of ``/kafkatx/deletions``: all deletions up to it have been taken."""
        self._deletions = version

    def set_restorations(self, found: Restorations) -> None:
        """Take how often an older copy of the tree was put back, and whether states from before are left."""
        self._restorations = found.number
        if found.at != self._state.restored_at:
            self._state = attrs.evolve(self._state, restored_at=found.at)

    def set_controller(self, controller: ControllerFacts | None) -> None:
        """Replace what is known of the controller."""
        self._controller = controller
        controller_id = -1 if controller is None else controller.broker_id
        if controller_id != self._state.controller_id:
            self._state = attrs.evolve(self._state, controller_id=controller_id)

    def set_deleting(self, names: Iterable[str]) -> None:
        """Replace the names of topics that are marked for deletion."""
        self._deleting = frozenset(names)

    def mark(self, names: Iterable[str]) -> None:
        """Add names of topics that are marked for deletion."""
        self._deleting = self._deleting.union(names)

    def unmark(self, name: str) -> None:
        """Take it that the mark of a topic is gone."""
        self._deleting = self._deleting.difference([name])

    def set_configs(self, entity: ConfigEntity, configs: Mapping[str, str]) -> None:
        """Take the configs of an entity; those of an unknown topic are ignored."""
        if entity.type is EntityType.TOPIC:
            self._put_partitions(entity.name)
            topic = self._topic_itself(entity.name)
            if topic is None or topic.configs == configs:
                return
            changed = attrs.evolve(topic, configs=MappingProxyType(dict(configs)))
            if entity.name in self._unidentified:
                self._unidentified = MappingProxyType({**self._unidentified, entity.name: changed})
            else:
                self._own_topics()[entity.name] = changed
                self._changed.add(entity.name)
        else:
            which = _CONFIGS[entity.type]
            before: Mapping[str, Mapping[str, str]] = getattr(self._state, which)
            every = _with(before, entity.name, configs)
            if every is not before:
                self._state = attrs.evolve(self._state, **dict[str, Any]({which: every}))

    def set_quotas(self, entity: QuotaEntity, quotas: Mapping[str, float]) -> None:
        """Take the quotas of an entity."""
        every = _with(self._state.client_quotas, entity, quotas)
        if every is not self._state.client_quotas:
            self._state = attrs.evolve(self._state, client_quotas=every)

    def set_credentials(self, user: str, credentials: Mapping[str, str]) -> None:
        """Take the SCRAM credentials of a user."""
        every = _with(self._state.scram_credentials, user, credentials)
        if every is not self._state.scram_credentials:
            self._state = attrs.evolve(self._state, scram_credentials=every)

    @property
    def acls(self) -> Acls:
        """The ACLs with all changes so far."""
        return self._state.acls

    def set_acls(self, acls: Acls) -> None:
        """Replace all ACLs, unless they are the same object."""
        if acls is not self._state.acls:
            self._state = attrs.evolve(self._state, acls=MappingProxyType(dict(acls)))

    def keep_configs(self, entities: Iterable[ConfigEntity]) -> None:
        """Drop configs, quotas and credentials of all entities but these; those of topics stay."""
        kept = set(entities)
        for kind, which in _CONFIGS.items():
            for name in [*getattr(self._state, which)]:
                if ConfigEntity(kind, name) not in kept:
                    self.set_configs(ConfigEntity(kind, name), {})
        with_quotas = {entity.quota for entity in kept}
        for quota in [*self._state.client_quotas]:
            if quota not in with_quotas:
                self.set_quotas(quota, {})
        for user in [*self._state.scram_credentials]:
            if (("user", user),) not in with_quotas:
                self.set_credentials(user, {})


_CONFIGS = {
    EntityType.BROKER: "broker_configs",
    EntityType.GROUP: "group_configs",
    EntityType.CLIENT_METRICS: "client_metrics_configs",
}
"""The attributes of the state with the configs of entities, by their type."""


def _without(topics: Mapping[str, Topic], name: str) -> Mapping[str, Topic]:
    return MappingProxyType({each: topic for each, topic in topics.items() if each != name})


def _with(every: Mapping[K, Mapping[str, V]], key: K, values: Mapping[str, V]) -> Mapping[K, Mapping[str, V]]:
    """Return a mapping with the values of one key; the same object if they are as they were.

    A key without values is not in it.
    """
    if every.get(key, {}) == values:
        return every
    changed = {**every, key: MappingProxyType(dict(values))}
    if not values:
        del changed[key]
    return MappingProxyType(changed)
