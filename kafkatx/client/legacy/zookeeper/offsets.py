"""The offsets of a group's partitions: in ZooKeeper, at the coordinator, or in both.

Touches the tree and the consumer; ``old_offsets`` reads those of Kafka 0.7.

In ZooKeeper an offset is set in one transaction with two checks, sent in the session that created the owner's
node: the partition has an owner, and the offset's node has the version that it had at a time when this member
was the owner. While that session lives no other can create the owner's node, and a session that has
expired can send nothing: so a member that has lost a partition cannot overwrite the next owner's offset, also
if a member of Kafka 0.8, which checks nothing, has deleted a node that was not its own.

At the coordinator the first check comes before the commit, not with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from twisted.internet.defer import DeferredLock

from kafkatx.client.deferreds import gather_by_key
from kafkatx.client.legacy.zookeeper.old_offsets import OldOffsets
from kafkatx.client.legacy.zookeeper.registry import GroupRegistry, chunks
from kafkatx.clientcore.errors import CommitFailed, ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.clientcore.legacy.zookeeper import nodes
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    BadVersion,
    Check,
    Create,
    NodeExists,
    NodeStat,
    NoNode,
    Operation,
    OperationError,
    SetData,
    TreeError,
)
from kafkatx.types import TopicPartition


class GroupOffsets:
    """The offsets of one member's partitions.

    :param coordinator: the consumer if offsets are kept by the group's coordinator; None if not.
    :param in_tree: True if offsets are kept in ZooKeeper.
    :param old: offsets in the form of Kafka 0.7, for partitions that have no other.
    """

    def __init__(
        self,
        tree: ITree,
        paths: nodes.GroupPaths,
        registry: GroupRegistry,
        coordinator: Any,
        in_tree: bool,
        old: OldOffsets,
    ) -> None:
        self._tree = tree
        self._paths = paths
        self._registry = registry
        self._coordinator = coordinator
        self._in_tree = in_tree
        self._old = old
        self._versions: dict[TopicPartition, int | None] = {}
        """Versions of offsets' nodes at a time when this member owned the partition; None: no node."""
        self._turn = DeferredLock()
        """Commits one after the other, so that the last one is the last that is stored."""

    async def read(
        self, places: Collection[TopicPartition], topics: Mapping[str, int]
    ) -> dict[TopicPartition, int]:
        """Return the offsets to continue from, of both stores the larger; none for a partition without one.

        :param topics: the number of partitions of each topic.
        :raises TreeError: it failed.
        :raises UnreadableNode: a node has no offset.
        :raises KafkaTXError: the coordinator could not be asked.
        """
        self._versions.clear()
        found: dict[TopicPartition, int] = {}
        if self._in_tree:
            kept = await gather_by_key(places, self._read)
            found = {at: offset for at, offset in kept.items() if offset is not None}
        if self._coordinator is not None and places:
            for at, committed in (await self._coordinator.committed(*sorted(places))).items():
                if committed is not None:
                    found[at] = max(found.get(at, 0), committed.offset)
        return {**await self._old.read([at for at in places if at not in found], topics), **found}

    async def _read(self, at: TopicPartition) -> int | None:
        path = self._paths.offset(at)
        try:
            data, _ = await self._tree.read(path)
        except NoNode:
            return None
        return nodes.decode_offset(path, data)

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Store offsets of partitions that this member owns; those of the others are left out.

        :raises CommitFailed: it does not own all of them; the offsets of the others were stored.
        :raises ConnectionFailed: ZooKeeper cannot be reached now, or the coordinator.
        :raises KafkaTXError: the coordinator refused.
        """
        await self._turn.acquire()
        try:
            stored: dict[TopicPartition, OffsetAndMetadata] = {}
            for chunk in chunks(sorted(offsets)):
                stored.update(await self._commit({at: offsets[at] for at in chunk}))
            if self._coordinator is not None and stored:
                await self._coordinator.commit(stored)
        except TreeError as error:
            raise ConnectionFailed(
                f"offsets were not committed: {error}; ZooKeeper is tried again"
            ) from error
        finally:
            self._turn.release()
        refused = sorted(offsets.keys() - stored.keys())
        if refused:
            raise CommitFailed(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"offsets of {', '.join(map(str, refused))} were not committed: they may belong to another "
                "member now, which reads again from the last commit",
            )

    async def _commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Commit in one transaction; repeat it if it was wrong about a node.

        :return: the offsets that were stored: those of partitions that this member owns.
        """
        for _ in range(2 * len(offsets) + 1):  # each partition may be wrong once, and be lost
            if self._in_tree:
                await self._learn_versions(offsets)
            owned = {at: offsets[at] for at in offsets if at in self._registry.owned}
            if not owned:
                return {}
            operations = self._operations(owned)
            try:
                outcomes = await self._tree.multi(operations)
            except (NoNode, NodeExists, BadVersion) as error:
                self._correct(error, owned)
            else:
                for at, outcome in zip(owned, outcomes[len(owned) :], strict=False):
                    self._versions[at] = outcome.version if isinstance(outcome, NodeStat) else 0
                return owned
        raise CommitFailed(
            ErrorCode.REBALANCE_IN_PROGRESS, "another program changes the nodes of offsets; commit again"
        )

    async def _learn_versions(self, places: Iterable[TopicPartition]) -> None:
        """Read the versions that are not known; then make sure that this member still owns the partitions."""
        unknown = [at for at in places if at in self._registry.owned and at not in self._versions]
        if not unknown:
            return
        versions = await gather_by_key(unknown, self._version)
        lost = set(unknown).difference(await self._registry.owns(unknown))
        self._versions.update((at, version) for at, version in versions.items() if at not in lost)
        if lost:
            self._registry.lost(lost)

    async def _version(self, at: TopicPartition) -> int | None:
        stat = await self._tree.exists(self._paths.offset(at))
        return None if stat is None else stat.version

    def _operations(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> list[Operation]:
        operations: list[Operation] = [Check(self._paths.owner(at)) for at in offsets]
        if self._in_tree:
            for at, committed in offsets.items():
                path, data = self._paths.offset(at), nodes.encode_offset(committed.offset)
                version = self._versions.get(at)
                operations.append(Create(path, data) if version is None else SetData(path, data, version))
        return operations

    def _correct(self, error: OperationError, places: Iterable[TopicPartition]) -> None:
        """Take it that a partition has lost its owner, or that an offset's node is another one.

        :raises CommitFailed: an offset's node cannot be created.
        """
        owners = {self._paths.owner(at): at for at in places}
        if error.path in owners:
            self._registry.lost([owners[error.path]])
        elif isinstance(error.operation, Create) and isinstance(error, NoNode):
            raise CommitFailed(
                ErrorCode.UNKNOWN_MEMBER_ID, f"node {error.path} cannot be created: its parent was deleted"
            )
        else:
            (at,) = (at for at in places if self._paths.offset(at) == error.path)
            self._versions.pop(at, None)
