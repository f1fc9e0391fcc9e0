"""A group's members and owners in ZooKeeper: registers, reads and watches, claims and releases partitions.

It touches the tree only. Owners are ephemeral nodes: while the session that created one lives, no other
can create it, so a partition never has two owners. (A member of Kafka 0.8 may delete another member's node,
if it goes on after its session has expired. Then the next commit fails, and the group is read again.)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeVar

import attrs

from kafkatx.client.deferreds import gather_by_key
from kafkatx.clientcore.legacy.topic_filter import Subscription
from kafkatx.clientcore.legacy.zookeeper import nodes
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import (
    Change,
    Create,
    Delete,
    NodeExists,
    NoNode,
    OperationError,
)
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.layout import paths as layout
from kafkatx.metadata.layout import topics as topic_nodes
from kafkatx.types import TopicPartition

T = TypeVar("T")

CHUNK = 500
"""The most partitions in one multi, so that it is far smaller than a server takes."""


@attrs.frozen
class GroupState:
    """The state of a group as one member has read it.

    :ivar members: the subscription of each member, by member id.
    :ivar topics: the number of partitions of each existing topic that this member may subscribe to.
    """

    members: Mapping[str, Subscription]
    topics: Mapping[str, int]


class GroupRegistry:
    """The nodes of one member.

    :param changed: called when something has changed since it was read, or may have.
    :ivar owned: the partitions that this member owns, in the present session, and the stream of each.
    """

    def __init__(
        self, tree: ITree, paths: nodes.GroupPaths, member: str, changed: Callable[[], None]
    ) -> None:
        self.owned: dict[TopicPartition, int] = {}
        self._tree = tree
        self._paths = paths
        self._member = member
        self._changed = changed
        self._unknown: set[TopicPartition] = set()
        """Partitions whose owner may be this member: the reply to a request was lost."""
        self._watched: set[tuple[str, str]] = set()

    def forget(self) -> None:
        """Note that the session has expired: this member owns nothing any more."""
        self.owned.clear()
        self._unknown.clear()
        self._watched.clear()

    # -- members

    async def register(self, subscription: Subscription, now_ms: int) -> None:
        """Create the member's node.

        :raises TreeError: it failed; NodeExists: a session that has not expired yet has the node.
        """
        await self.create_missing(self._paths.parents())
        path = self._paths.member(self._member)
        data = nodes.encode_subscription(subscription, now_ms)
        try:
            await self._tree.multi([Create(path, data, ephemeral=True)])
        except NodeExists:
            if not await self._is_own(path):
                raise

    async def unregister(self) -> None:
        """Delete the member's node."""
        with suppress(NoNode):
            await self._tree.multi([Delete(self._paths.member(self._member))])

    async def create_missing(self, wanted: Sequence[str]) -> None:
        """Create those persistent nodes that do not exist; parents come first."""
        found = await gather_by_key(wanted, self._exists)
        for path in wanted:
            if not found[path]:
                with suppress(NodeExists):
                    await self._tree.multi([Create(path)])

    async def _exists(self, path: str) -> bool:
        return await self._tree.exists(path) is not None

    async def _is_own(self, path: str) -> bool:
        """Return True if the node was created in this session."""
        stat = await self._tree.exists(path)
        return stat is not None and stat.ephemeral_owner == self._tree.session_id

    # -- the state of the group

    async def read(self, subscription: Subscription) -> GroupState:
        """Read members, topics and partitions, and watch them and the brokers.

        :raises TreeError: it failed.
        :raises UnreadableNode: another program has written a node.
        """
        await self._children(layout.BROKER_IDS)
        members = await gather_by_key(await self._children(self._paths.ids), self._subscription)
        wanted: Sequence[str] = list(subscription.topics)
        if subscription.filter is not None:
            wanted = [
                topic for topic in await self._children(layout.TOPICS) if subscription.filter.wants(topic)
            ]
        counts = await gather_by_key(wanted, self._partitions)
        return GroupState(
            {name: asked for name, asked in members.items() if asked is not None},
            {topic: count for topic, count in counts.items() if count},
        )

    async def _subscription(self, member: str) -> Subscription | None:
        """Return the subscription of a member; None if it has left, of which the parent's watch has told."""
        path = self._paths.member(member)
        try:
            data, _ = await self._tree.read(path)
        except NoNode:
            return None
        return nodes.decode_subscription(path, data)

    async def _partitions(self, topic: str) -> int:
        """Return the number of partitions, and watch it; 0 for a topic that does not exist."""
        path = layout.topic(topic)
        try:
            data, _ = await self._watching("data", path, self._tree.read)
        except NoNode:
            await self._watch_creation(path)
            return 0
        return len(topic_nodes.decode(path, data).partitions)

    async def _children(self, path: str) -> Sequence[str]:
        """List and watch the children of a node; none if it does not exist, then watch its creation."""
        try:
            return await self._watching("children", path, self._tree.children)
        except NoNode:
            await self._watch_creation(path)
            return ()

    async def _watch_creation(self, path: str) -> None:
        if await self._watching("creation", path, self._tree.exists) is not None:
            self._changed()  # it was created just now

    async def _watching(self, kind: str, path: str, ask: Callable[[str, Watch | None], Awaitable[T]]) -> T:
        """Ask with a watch, but without one where there is one already, so that they do not pile up."""
        key = (kind, path)

        def fired(change: Change) -> None:
            self._watched.discard(key)
            if change is not Change.LOST:  # else the session's state follows, and all is read again then
                self._changed()

        watch = None if key in self._watched else fired
        self._watched.add(key)
        try:
            return await ask(path, watch)
        except BaseException:
            self._watched.discard(key)  # it was not set, or, if this was cancelled, may be set twice
            raise

    # -- owners

    async def claim(self, streams: Mapping[TopicPartition, int]) -> None:
        """Become the owner of all of these partitions, or of none. Those before were released.

        :raises TreeError: it failed; NodeExists: another member has not released a partition yet.
        """
        topics = tuple(sorted({at.topic for at in streams}))
        await self.create_missing(self._paths.parents(topics))
        try:
            for chunk in chunks(sorted(streams)):
                self._unknown.update(chunk)
                await self._create_owners({at: streams[at] for at in chunk})
        except OperationError:
            await self.release()
            raise
        self._unknown.clear()
        self.owned.update(streams)

    async def _create_owners(self, streams: Mapping[TopicPartition, int]) -> None:
        creates = [
            Create(self._paths.owner(at), nodes.encode_owner(self._member, number), ephemeral=True)
            for at, number in streams.items()
        ]
        try:
            await self._tree.multi(creates)
        except OperationError:
            self._unknown.difference_update(streams)
            raise

    async def release(self) -> None:
        """Delete all owners that are, or may be, this member's. From the call on it owns nothing.

        :raises TreeError: it failed; a later call goes on.
        """
        self._unknown.update(self.owned)
        self.owned.clear()
        for chunk in chunks(sorted(self._unknown)):
            await self._delete_owners(chunk)
            self._unknown.difference_update(chunk)

    async def _delete_owners(self, places: Sequence[TopicPartition]) -> None:
        """Delete the owners that this session has created, and no other's.

        :raises NoNode: others delete them at the same time, again and again.
        """
        for attempts_left in range(len(places), -1, -1):
            owned = await self.owns(places)
            if not owned:
                return
            try:
                await self._tree.multi([Delete(self._paths.owner(at)) for at in owned])
                return
            except NoNode:
                if not attempts_left:
                    raise

    async def owns(self, places: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Read owners; return the partitions whose owner this session has created."""

        async def own(at: TopicPartition) -> bool:
            return await self._is_own(self._paths.owner(at))

        return [at for at, is_own in (await gather_by_key(places, own)).items() if is_own]

    def lost(self, places: Iterable[TopicPartition]) -> None:
        """Note that partitions have another owner, or none: another program has deleted a node."""
        for at in places:
            self.owned.pop(at, None)
        self._changed()


def chunks(places: Iterable[T]) -> Iterator[list[T]]:
    """Yield lists of at most :data:`CHUNK` places."""
    rest = iter(places)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
