"""The follower of changes: it reads everything at each connection, and then what the watches tell.

It touches the tree, which it only reads, and the clock. One coroutine per connection makes all changes of the
image, one after the other; it ends with the connection.

Brokers of kafkatx write a change record with each change. Tools for Apache Kafka do not: their changes show
in the lists of topics, of marks for deletion and of config notifications, which are read a moment later, so
that many changes of ours cause one reading.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import ConnectionLost, SessionExpired, TreeError
from kafkatx.interfaces.tree import Watch
from kafkatx.metadata.cluster.state.acl_loader import with_found
from kafkatx.metadata.cluster.state.change_log import Gap, new_sequences, read_batch
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.image import NO_CHANGE
from kafkatx.metadata.cluster.state.loader import Loaded, Loader
from kafkatx.metadata.cluster.state.requests import each, read
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.cluster.state.watches import Watches
from kafkatx.metadata.layout import configs, paths
from kafkatx.metadata.layout.entities import ConfigEntity
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.incarnations import decode_placed_topic
from kafkatx.metadata.layout.restorations import described, generation
from kafkatx.metadata.layout.security import acls

FOREIGN_DELAY_S = 1.0
"""Seconds from a change that a tool for Apache Kafka may have made until it is read."""
RETRY_S = 5.0
"""Seconds after a failure of ours until everything is read again."""
LOADS = 5
"""Attempts to read everything before the change log is trimmed."""

_ORDER: Final = (
    paths.CHANGES,
    paths.RESTORING,
    paths.BROKER_IDS,
    paths.CONTROLLER,
    paths.DELETE_TOPICS,
    paths.TOPICS,
    paths.CONFIG_CHANGES,
    acls.CHANGES,
    acls.EXTENDED_CHANGES,
)
_DELAYS_S: Final = {
    paths.DELETE_TOPICS: FOREIGN_DELAY_S,
    paths.TOPICS: FOREIGN_DELAY_S,
    paths.CONFIG_CHANGES: FOREIGN_DELAY_S,
    acls.CHANGES: FOREIGN_DELAY_S,
    acls.EXTENDED_CHANGES: FOREIGN_DELAY_S,
}


class OlderState(TreeError):
    """The tree is an older copy of what this broker has seen."""


class Follower:
    """Reads what has changed.

    :param loaded: called each time everything has been read.
    :ivar broker_id: the id of this broker.
    :ivar loader: reads nodes.
    :ivar change_records: number of change records when they were last listed.
    :ivar notifications: names of the config notifications when they were last listed.
    """

    _log = Logger()

    def __init__(self, tree: ITree, clock: IReactorTime, view: View, loaded: Callable[[], None]) -> None:
        self.broker_id = -1
        self.loader = Loader(tree)
        self.change_records = 0
        self.notifications: tuple[str, ...] = ()
        self._tree = tree
        self._clock = clock
        self._view = view
        self._loaded = loaded
        self._watches = Watches(clock, _ORDER, _DELAYS_S, self._wake)
        self._connection = 0
        self._waking: Deferred[None] | None = None
        self._retry: IDelayedCall | None = None

    async def first(self) -> None:
        """Read everything for the first time, and follow the changes from then on.

        :raises UnreadableNode: a node is foreign, newer than this version of kafkatx, or damaged.
        :raises TreeError: the connection was lost.
        """
        self.end()
        await self._load()
        self.loader.strict = False
        self._started()
        self._go_on()

    def begin(self) -> None:
        """Read everything, and follow the changes: the tree is connected again."""
        self.end()
        Deferred.fromCoroutine(self._run(self._connection))

    def end(self) -> None:
        """Stop: the connection is lost."""
        self._connection += 1
        self._view.set_ready(False)
        self._watches.clear()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._wake()

    def read_again(self, path: str) -> None:
        """Read one of the watched paths now."""
        self._watches.report(path)

    def _go_on(self) -> None:
        Deferred.fromCoroutine(self._run(self._connection, loaded=True))

    async def _run(self, connection: int, loaded: bool = False) -> None:
        try:
            if not loaded:
                await self._load()
                self._started()
            while connection == self._connection:
                changed = self._watches.take()
                if not changed:
                    self._waking = Deferred()
                    await self._waking
                for path in changed:
                    await self._read(path)
        except (ConnectionLost, SessionExpired):
            pass  # begin() is called when there is a connection again
        except (TreeError, UnreadableNode) as error:
            self._log.error("the cluster's state cannot be read; trying again: {error}", error=error)
            if isinstance(error, OlderState):
                self._view.fence(True)  # also while the session goes on
            self._read_later(connection)
        except Exception:
            self._log.failure("the cluster's state cannot be followed; it is read again")
            self._read_later(connection)

    def _read_later(self, connection: int) -> None:
        if connection == self._connection:
            self._view.set_ready(False)
            self._retry = self._clock.callLater(RETRY_S, self._again)

    def _again(self) -> None:
        self._retry = None
        self.begin()

    def _wake(self) -> None:
        waking, self._waking = self._waking, None
        if waking is not None:
            waking.callback(None)

    def _started(self) -> None:
        self._view.set_ready(True)
        self._loaded()

    async def _load(self) -> None:
        """Read everything, and what has happened meanwhile, then show it.

        :raises Gap: the change log was trimmed faster than it could be read, several times.
        """
        for attempt in range(LOADS):
            try:
                await self._load_once()
                return
            except Gap:
                if attempt == LOADS - 1:
                    raise

    async def _load_once(self) -> None:
        self._watches.clear()
        connection = self._connection
        found = await self.loader.load(self._watches.watch)
        self._check_newer(found)
        names = await self._tree.children(paths.CHANGES)
        batches = []
        applied = found.applied
        while new := new_sequences(names, applied):
            batches.append(await read_batch(self._tree, self.loader, new))
            applied = batches[-1].applied
        deleted = await self._deleted(found)
        if connection != self._connection:
            raise ConnectionLost("the connection was lost while everything was read")
        draft = found.draft(self._view.image)
        draft.note_deleted(deleted)
        for batch in batches:
            batch.put(draft)
        self.change_records = len(names)
        self.notifications = tuple(found.notifications)
        self._view.show(*draft.finish(applied))

    def _check_newer(self, found: Loaded) -> None:
        """Check that the tree is not an older copy of what the image shows.

        :raises OlderState: it is; this broker must not go on with logs and roles of another state.
        """
        seen, there = self._view.image.generation, generation(found.restorations.number, found.applied)
        if self._view.image.applied != NO_CHANGE and there < seen:
            raise OlderState(
                f"it is an older copy, at change {described(there)}, and this broker has seen change"
                f" {described(seen)}: start this broker again"
            )

    async def _deleted(self, found: Loaded) -> list[uuid.UUID]:
        """Return the ids of topics that were deleted while there was no connection.

        The controller marks them in the record of this broker's log dirs. A topic that is just gone, as
        when an older copy of the nodes was put back, is not marked.
        """
        there = {topic.node.topic_id for topic in found.topics if topic is not None}
        gone = [topic_id for topic_id in self._view.image.names if topic_id not in there]

        async def is_deleted(topic_id: uuid.UUID) -> bool:
            path = paths.placed_topic(self.broker_id, topic_id)
            node = await read(self._tree, path)
            return node is not None and decode_placed_topic(path, node[0]).deleted

        marks = await each(is_deleted, gone)
        return [topic_id for topic_id, mark in zip(gone, marks, strict=True) if mark]

    async def _read(self, path: str) -> None:
        try:
            await _READERS[path](self)
        except Gap as gap:
            self._log.info("everything is read again: {reason}", reason=gap)
            await self._load()
        except UnreadableNode as error:
            self._log.error("{error}", error=error)

    async def _read_changes(self) -> None:
        names = await self._tree.children(paths.CHANGES, self._watches.watch(paths.CHANGES))
        self.change_records = len(names)
        while new := new_sequences(names, self._view.image.applied):
            batch = await read_batch(self._tree, self.loader, new)
            draft = Draft(self._view.image)
            batch.put(draft)
            self._view.show(*draft.finish(batch.applied))

    async def _read_restorations(self) -> None:
        found = await self.loader.restorations(self._watches.watch)
        await self._read_changes()  # if none is left from before, the image shows all the new ones
        draft = Draft(self._view.image)
        draft.set_restorations(found)
        self._view.show(*draft.finish())

    async def _read_brokers(self) -> None:
        await self._show_brokers(self._watches.watch(paths.BROKER_IDS))

    async def read_brokers(self) -> None:
        """Read the live brokers, and show them."""
        await self._show_brokers(None)

    async def _show_brokers(self, watch: Watch | None) -> None:
        found = await self.loader.brokers.load(watch)
        draft = Draft(self._view.image)
        draft.take_brokers(found)
        self._view.show(*draft.finish())

    async def _read_controller(self) -> None:
        found = await self.loader.controller(self._watches.watch)
        draft = Draft(self._view.image)
        draft.set_controller(found)
        self._view.show(*draft.finish())

    async def _read_marks(self) -> None:
        names = await self._tree.children(paths.DELETE_TOPICS, self._watches.watch(paths.DELETE_TOPICS))
        draft = Draft(self._view.image)
        draft.set_deleting(names)
        self._view.show(*draft.finish())

    async def _read_topics(self) -> None:
        names = await self._tree.children(paths.TOPICS, self._watches.watch(paths.TOPICS))
        image = self._view.image
        known = {*image.topics, *image.unidentified}
        found = await each(self.loader.topic, [name for name in names if name not in known])
        draft = Draft(self._view.image)
        draft.keep_topics(names)
        for topic in found:
            if topic is not None:
                draft.put_topic(topic)
        self._view.show(*draft.finish())

    async def _read_notifications(self) -> None:
        names = await self._tree.children(paths.CONFIG_CHANGES, self._watches.watch(paths.CONFIG_CHANGES))
        known = set(self.notifications)
        new = [name for name in names if name not in known]
        entities: dict[ConfigEntity, None] = {}
        for name in new:
            path = f"{paths.CONFIG_CHANGES}/{name}"
            found = await read(self._tree, path)
            if found is not None:
                try:
                    entity = configs.decode_notification(path, found[0])
                except UnreadableNode as error:
                    self._log.error("{error}; it is ignored", error=error)
                else:
                    entities[entity] = None
        changed = await each(self.loader.configs, entities)
        draft = Draft(self._view.image)
        for one in changed:
            if one is not None:
                one.put(draft)
        self.notifications = tuple(names)
        self._view.show(*draft.finish())

    async def _read_acls(self, path: str = acls.CHANGES) -> None:
        found = await self.loader.acls.notified(path, self._watches.watch(path))
        draft = Draft(self._view.image)
        draft.set_acls(with_found(draft.acls, found))
        self._view.show(*draft.finish())

    async def _read_extended_acls(self) -> None:
        await self._read_acls(acls.EXTENDED_CHANGES)


_READERS: Final = {
    paths.CHANGES: Follower._read_changes,
    paths.RESTORING: Follower._read_restorations,
    paths.BROKER_IDS: Follower._read_brokers,
    paths.CONTROLLER: Follower._read_controller,
    paths.DELETE_TOPICS: Follower._read_marks,
    paths.TOPICS: Follower._read_topics,
    paths.CONFIG_CHANGES: Follower._read_notifications,
    acls.CHANGES: Follower._read_acls,
    acls.EXTENDED_CHANGES: Follower._read_extended_acls,
}
