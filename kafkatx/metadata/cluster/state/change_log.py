"""The application of change records to the image: in order, and each only as far as it is new.

It touches the tree, to read records and the nodes that they name without content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import NodeStat, NoNode
from kafkatx.metadata.cluster.state.acl_loader import FoundAcls, with_found
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.image import NO_CHANGE, FoundBrokers, FoundTopic
from kafkatx.metadata.cluster.state.loader import FoundConfigs, Loader
from kafkatx.metadata.cluster.state.requests import each
from kafkatx.metadata.layout import changes, paths
from kafkatx.metadata.layout.changes import ChangeRecord
from kafkatx.metadata.layout.entities import parse_path
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.security import acls

MOST_RECORDS = 64
"""Records that are read and applied together."""


class Gap(Exception):
    """Change records are missing: they were removed before they were read. Everything must be read again."""


@attrs.frozen
class Batch:
    """Consecutive change records, and the nodes that they name without content, as they were read.

    :ivar records: pairs of zxid and record, in order.
    :ivar applied: sequence number of the last of them.
    :ivar brokers: the brokers, if one of the records says that they have changed.
    :ivar deletions: stat of ``/kafkatx/deletions``, if one of the records has deletions.
    """

    records: Sequence[tuple[int, ChangeRecord]]
    topics: Mapping[str, FoundTopic]
    configs: Mapping[str, FoundConfigs]
    applied: int
    brokers: FoundBrokers | None = None
    deletions: NodeStat | None = None
    acls: Sequence[FoundAcls] = ()

    def put(self, draft: Draft) -> None:
        """Apply the records."""
        for zxid, record in self.records:
            for name, topic_id in record.deleted:
                draft.drop_topic(name, topic_id, zxid)
                draft.unmark(name)
            for name, change in record.topics.items():
                if change is not None:
                    draft.change_topic(name, change, zxid)
                elif name in self.topics:
                    draft.put_topic(self.topics[name])
            for state in record.states:
                draft.change_state(state, zxid)
            draft.mark(record.deleting)
        for found in self.configs.values():
            found.put(draft)
        if self.acls:
            draft.set_acls(with_found(draft.acls, self.acls))
        if self.brokers is not None:
            draft.take_brokers(self.brokers)
        if self.deletions is not None and self.deletions.mzxid <= self.records[-1][0]:
            draft.set_deletions(self.deletions.version)  # else it counts deletions of later records, too


def new_sequences(names: Sequence[str], applied: int) -> list[int]:
    """Return the sequence numbers of the records that are not applied, in order.

    :param names: children of ``/kafkatx/changes``.
    :param applied: sequence number of the last record that was applied.
    :raises Gap: that is not among them any more.
    """
    numbers = sorted(number for number in map(paths.parse_change, names) if number is not None)
    if applied != NO_CHANGE and applied not in numbers:
        raise Gap(f"change record {applied} is gone")
    return [number for number in numbers if number > applied]


async def read_batch(tree: ITree, loader: Loader, sequences: Sequence[int]) -> Batch:
    """Read some change records, at most :data:`MOST_RECORDS`.

    :raises Gap: one is gone, or cannot be read.
    """
    taken = sequences[:MOST_RECORDS]

    async def record(sequence: int) -> tuple[int, ChangeRecord]:
        path = paths.change(sequence)
        try:
            data, stat = await tree.read(path)
            return stat.czxid, changes.decode(path, data)
        except NoNode:
            raise Gap(f"change record {sequence} is gone") from None
        except UnreadableNode as error:
            raise Gap(str(error)) from error

    records = await each(record, taken)
    names = dict.fromkeys(
        name for _, record in records for name, change in record.topics.items() if change is None
    )
    entities = dict.fromkeys(path for _, record in records for path in record.configs)
    topics = await each(loader.topic, names)
    configs = await each(
        loader.configs, [entity for entity in map(parse_path, entities) if entity is not None]
    )
    patterns = dict.fromkeys(map(acls.parse_path, (path for _, record in records for path in record.acls)))
    told = any(record.brokers for _, record in records)
    deleted = any(record.deleted for _, record in records)
    return Batch(
        records,
        {topic.name: topic for topic in topics if topic is not None},
        {found.entity.path: found for found in configs if found is not None},
        taken[-1],
        brokers=await loader.brokers.load() if told else None,
        deletions=await tree.exists(paths.DELETIONS) if deleted else None,
        acls=await loader.acls.read(pattern for pattern in patterns if pattern is not None),
    )
