"""The registration of this broker: its ephemeral node, its incarnation, and the nodes that live with it.

It touches the tree and the clock. One transaction writes the broker's node, its incarnation, the node of its
lease and, if it has any, its offline replicas; its id (the czxid of the broker's node) is the broker's epoch.
The node lives as long as the session: a new session registers again.

A broker that stopped without a word is still registered until its session times out. If this process holds
all the locks that it held (``BrokerProcess.has_taken``), it has ended: its node is deleted, and with it
``/controller`` if that is of the same session. Any other node is left alone until its session ends: it may be
that of another broker, or this process may have a copy of its log dirs.

Each registration notes the life of the log dirs (:mod:`kafkatx.metadata.layout.incarnations`). If they do not
continue the life that was registered before, the broker is *stale*: no older state counts it as in sync.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.errors import SettingError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.metadata import BrokerLife
from kafkatx.interfaces.nodes import (
    BadVersion,
    Check,
    Create,
    Delete,
    NodeStat,
    Operation,
    OperationError,
    Refused,
    SessionState,
    SetData,
    TreeError,
)
from kafkatx.metadata.cluster.state.requests import read
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.layout import brokers, paths
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.incarnations import (
    Incarnation,
    PastLives,
    decode_incarnation,
    decode_lives,
    encode_offline,
)
from kafkatx.nodes import Endpoint
from kafkatx.types import BrokerNode, TopicPartition

POLL_S = 0.5
"""Seconds between looks at the node of another broker with this id."""
MARGIN_S = 2.0
"""Seconds beyond the session's time-out for which a start waits for that node to vanish."""
COMPLAINT_S = 10.0
"""Seconds between lines in the log about another broker with this id."""
STOP_S = 2.0
"""Seconds for which a stopping broker tries to say so."""
SETTLED_S = 5.0
"""A registration that is lost within these seconds is not repeated at once."""


class IdInUse(Exception):
    """Another broker has registered this id."""


@frozen
class Registered:
    """This broker's registration in one session.

    :ivar epoch: czxid of its node.
    :ivar version: version of its incarnation, before the broker begins to stop.
    :ivar content: content of that.
    :ivar lives: the lives that it has noted.
    :ivar lives_version: version of their node.
    """

    session_id: int
    epoch: int
    version: int
    content: Incarnation
    lives: PastLives
    lives_version: int


class Registration:
    """Registers this broker, and again after each loss of its session.

    :param now_ms: the time of day, for the timestamp in the node.
    :param version: version of the broker's node (``kafkatx.zookeeper.broker.version``).
    :param changed: called when the broker has been registered.
    :ivar stopping: the broker is about to stop; a registration says so.
    :ivar offline: its replicas whose log dirs have failed; a registration tells them.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        clock: IReactorTime,
        view: View,
        now_ms: Callable[[], int],
        version: int,
        changed: Callable[[], None],
    ) -> None:
        self._tree = tree
        self._clock = clock
        self._view = view
        self._now_ms = now_ms
        self._version = version
        self._changed = changed
        self.stopping = False
        self.offline: frozenset[TopicPartition] = frozenset()
        self._clean = True
        self._node: BrokerNode | None = None
        self._life: BrokerLife | None = None
        self._directories: tuple[str, ...] = ()
        self._registered: Registered | None = None
        self._first: Deferred[None] | None = None
        self._deadline_s = 0.0
        self._complained_s: float | None = None
        self._registered_s: float | None = None
        self._running = False
        self._waiting: Deferred[None] | None = None

    @property
    def epoch(self) -> int | None:
        """The epoch of this broker in the tree's session; None if it is not registered in that."""
        current = self.current
        return None if current is None else current.epoch

    @property
    def current(self) -> Registered | None:
        """The registration in the tree's session; None if there is none."""
        registered = self._registered
        if registered is None or registered.session_id != self._tree.session_id:
            return None
        return registered

    def register(
        self,
        node: BrokerNode,
        directories: tuple[str, ...],
        clean: bool = True,
        life: BrokerLife | None = None,
    ) -> Deferred[None]:
        """Register the broker, and do so again whenever that is necessary.

        :param clean: False if its logs may lack acknowledged records. The first registration says so; the
            epoch of that is kept in the incarnations of all later ones.
        :param life: this process; None: nothing is told of it, and it takes over from no other.
        :return: fires when it is registered; fails with SettingError if another broker keeps its id.
        """
        self._node = node
        self._directories = directories
        self._clean = clean
        self._life = life
        self._deadline_s = self._clock.seconds() + self._tree.session_timeout_s + MARGIN_S
        first = self._first = Deferred()
        self.ensure()
        return first

    def ensure(self) -> None:
        """Register the broker if it should be and is not, and the tree is connected."""
        if self._node is not None and self.epoch is None and self._view.ready and not self._running:
            self._running = True
            Deferred.fromCoroutine(self._run(self._node))

    def lost(self) -> None:
        """Take it that the broker's nodes are gone, and register it again."""
        self._registered = None
        self.ensure()

    async def stop(self) -> None:
        """Give up the registration; say in the incarnation that this broker is stopping."""
        node, self._node = self._node, None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.cancel()
        registered = self.current
        if node is not None and registered is not None and self._tree.state is SessionState.CONNECTED:
            stopping = registered.content.stops(registered.epoch).encode()
            setting = SetData(paths.incarnation(node.id), stopping, registered.version)
            try:
                told = self._tree.multi([setting])
                await told.addTimeout(STOP_S, self._clock)
            except BadVersion:
                pass  # it was told before, or another life has registered
            except (TreeError, TimeoutError) as error:
                self._log.info("the cluster was not told that this broker stops: {error}", error=error)
            await self._note_end(node, registered)

    async def _note_end(self, node: BrokerNode, registered: Registered) -> None:
        """Note that the logs are closed: then a copy of them is as good as they are."""
        if self._life is None or not self._life.ended:
            return
        content = registered.lives.following(self._life.ended, closed=True).encode()
        setting = SetData(paths.lives(node.id), content, registered.lives_version)
        try:
            await self._tree.multi([setting]).addTimeout(STOP_S, self._clock)
        except (TreeError, TimeoutError) as error:
            self._log.info("the cluster was not told that the logs are closed: {error}", error=error)

    async def _run(self, node: BrokerNode) -> None:
        try:
            if self._registered_s is not None and self._clock.seconds() < self._registered_s + SETTLED_S:
                await self._pause()  # another program may delete the nodes again and again
            while self._node is not None and self.epoch is None and self._view.ready:
                try:
                    self._registered = await self._attempt(node)
                except (IdInUse, Refused) as error:
                    if not self._wait_longer(node, error):
                        return
                    await self._pause()
                except OperationError as error:
                    self._log.debug("registration is tried again: {error}", error=error)
                    await self._pause()
        except (TreeError, CancelledError):
            return  # the connection is lost: ensure() is called when it is back; or the store stops
        except Exception:
            self._log.failure("broker {id} cannot be registered", id=node.id)
            self._fail(SettingError(f"broker {node.id} cannot be registered: see the log"))
            return
        finally:
            self._running = False
        if self.epoch is not None:
            self._complained_s = None
            self._clean = True  # nothing is lost while this process lives
            self._registered_s = self._clock.seconds()
            self._log.info("broker {id} is registered, epoch {epoch}", id=node.id, epoch=self.epoch)
            self._changed()
            first, self._first = self._first, None
            if first is not None:
                first.callback(None)
        elif self._view.ready:
            self.ensure()

    def _wait_longer(self, node: BrokerNode, error: IdInUse | Refused) -> bool:
        """Return False if the broker cannot start; a running one tries for ever."""
        reason = (
            str(error) if isinstance(error, IdInUse) else f"broker {node.id} cannot be registered: {error}"
        )
        now_s = self._clock.seconds()
        if self._first is not None and now_s >= self._deadline_s:
            self._node = None
            self._fail(SettingError(reason))
            return False
        if self._complained_s is None or now_s - self._complained_s >= COMPLAINT_S:
            self._complained_s = now_s
            self._log.warn("{reason}; trying again", reason=reason)
        return True

    def _fail(self, error: SettingError) -> None:
        first, self._first = self._first, None
        if first is not None:
            first.errback(error)

    async def _pause(self) -> None:
        self._waiting = deferLater(self._clock, POLL_S)
        try:
            await self._waiting
        finally:
            self._waiting = None

    async def _attempt(self, node: BrokerNode) -> Registered:
        """Register once.

        :raises IdInUse: another broker has the id.
        :raises OperationError: a node has changed meanwhile.
        """
        tree, path = self._tree, paths.broker(node.id)
        session_id = tree.session_id or 0
        operations: list[Operation] = []
        # the version of the incarnation tells whether another broker has registered meanwhile
        own = paths.incarnation(node.id)
        incarnation = await read(tree, own)
        lives, lives_version = await self._past_lives(node.id)
        found = await read(tree, path)
        lease = await tree.exists(paths.lease(node.id))
        offline = await tree.exists(paths.offline(node.id))
        if found is not None:
            if found[1].ephemeral_owner == session_id and lease is not None and incarnation is not None:
                # the reply to this multi was lost
                past = _decoded(own, incarnation[0])
                known, content = incarnation[1].version - past.stopping, evolve(past, stopping=False)
                return Registered(session_id, found[1].czxid, known, content, lives, lives_version)
            if found[1].ephemeral_owner != session_id:
                self._check_past_life(node.id, found[0])
                operations += await self._end_past_controller(found[1].ephemeral_owner)
            operations.append(Delete(path))
        if self._life is not None:
            stale = not await self._life.begin(lives.lives, lives.closed)
            lives, lives_version = lives.following(self._life.lives, closed=False), lives_version + 1
            operations.append(_written(paths.lives(node.id), lives.encode(), lives_version))
        else:
            stale = False
        clean = self._clean and not stale
        if incarnation is None:
            content, version = Incarnation(node.host, clean, stale=stale), 0
        else:
            past, version = _decoded(own, incarnation[0]), incarnation[1].version + 1
            content = past.following(node.host, clean, incarnation[1].mzxid, stale)
        operations.append(_written(own, content.encode(), version))
        if self.stopping and clean:  # as a broker that begins to stop later does
            operations.append(SetData(own, evolve(content, stopping=True).encode(), version))
        if lease is not None:
            operations.append(Delete(paths.lease(node.id)))
        if offline is not None:
            operations.append(Delete(paths.offline(node.id)))
        if self.offline:
            failed = encode_offline(self.offline)
            operations.append(Create(paths.offline(node.id), failed, ephemeral=True))
        operations += [
            Create(path, ephemeral=True),
            Create(paths.lease(node.id), ephemeral=True),
            SetData(path, self._content(node), 0),
        ]
        stat = (await tree.multi(operations))[-1]
        assert isinstance(stat, NodeStat)
        return Registered(session_id, stat.czxid, version, content, lives, lives_version)

    async def _past_lives(self, broker_id: int) -> tuple[PastLives, int]:
        """Return the lives that were registered last, and the version of their node; -1: there is none."""
        path = paths.lives(broker_id)
        found = await read(self._tree, path)
        if found is None:
            return PastLives(), -1
        try:
            return decode_lives(path, found[0]), found[1].version
        except UnreadableNode:
            return PastLives(dict.fromkeys(self._directories, "")), found[1].version  # nothing continues it

    def _check_past_life(self, broker_id: int, data: bytes) -> None:
        """Check that the process of a registration has ended.

        :raises IdInUse: it may be running.
        """
        try:
            other = brokers.decode(broker_id, paths.broker(broker_id), data)
        except UnreadableNode as error:
            raise IdInUse(f"broker.id={broker_id}: another broker is registered with it: {error}") from None
        at = f"at {other.endpoints[0].host}:{other.endpoints[0].port}"
        if other.process is not None:
            at += f", {other.process}"
        if not set(other.directories) & set(self._directories):
            raise IdInUse(
                f"broker.id={broker_id}: another broker is registered with it, {at}; give each broker an id"
                " of its own"
            )
        own = None if self._life is None else self._life.process()
        if own is None or other.process is None or not own.has_taken(other.process):
            raise IdInUse(
                f"broker.id={broker_id}: this broker is registered {at}; it runs, or its session has not"
                f" ended. This is {own or 'another process'}: if that one runs, this one has a copy of its"
                " data and must not be started"
            )
        self._log.info("broker {id} takes over from its past life, which was killed", id=broker_id)

    async def _end_past_controller(self, session_id: int) -> list[Operation]:
        """Return the operations that end the controller's role of a past life."""
        epoch = await read(self._tree, paths.CONTROLLER_EPOCH)
        stat = await self._tree.exists(paths.CONTROLLER)
        if epoch is None or stat is None or stat.ephemeral_owner != session_id:
            return []
        return [Check(paths.CONTROLLER_EPOCH, epoch[1].version), Delete(paths.CONTROLLER)]

    def _content(self, node: BrokerNode) -> bytes:
        registration = brokers.Registration(
            node.id,
            node.endpoints or (Endpoint("PLAINTEXT", node.host, node.port),),
            rack=node.rack,
            timestamp_ms=self._now_ms(),
            directories=self._directories,
            internal=None if node.internal is None else Endpoint("INTERNAL", *node.internal),
            http=node.http,
            process=None if self._life is None else self._life.process(),
        )
        return registration.encode(self._version)


def _written(path: str, data: bytes, version: int) -> Operation:
    """Return the operation that makes a node of this version of it."""
    return Create(path, data) if version == 0 else SetData(path, data, version - 1)


def _decoded(path: str, data: bytes) -> Incarnation:
    """Return the content of an incarnation; that of a broker that may have lost records if it is damaged."""
    try:
        return decode_incarnation(path, data)
    except UnreadableNode:
        return Incarnation("", clean=False)
