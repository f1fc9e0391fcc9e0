"""The role of the controller: it writes the states of partitions, deletes topics, and trims the change log.

It touches the tree and the clock. What is to be written is decided by
:func:`~kafkatx.metadata.controller.reconcile.reconcile`, which is pure. One transaction is made at a time;
each checks the epoch of the controller, so that none is made after another broker was elected. The role
begins when the image shows this session as the elected one, and ends when it does not, or with a failed
check.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import BadVersion, Check, NoNode, OperationError, Refused, TreeError
from kafkatx.metadata.cluster.control.trimmer import deletion_marks, trim
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.cluster.state.image import ControllerFacts
from kafkatx.metadata.cluster.state.loader import last_sequence
from kafkatx.metadata.cluster.state.requests import each
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.controller.pieces import Piece, TopicNodes, pieces
from kafkatx.metadata.controller.reconcile import reconcile
from kafkatx.metadata.controller.writes import TopicDeletion
from kafkatx.metadata.layout import paths
from kafkatx.types import ClusterDelta

FIRST_PAUSE_S = 0.1
MOST_PAUSE_S = 10.0
"""Seconds between attempts of writes that fail again and again."""
SHOWN_S = 30.0
"""Seconds to wait until the image shows what was written."""


class Controller:
    """Writes what the cluster's state needs while this broker is the controller.

    :param new_uuid: returns random ids for topics that have none.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        clock: IReactorTime,
        view: View,
        follower: Follower,
        new_uuid: Callable[[], uuid.UUID],
    ) -> None:
        self._tree = tree
        self._clock = clock
        self._view = view
        self._follower = follower
        self._new_uuid = new_uuid
        self._names: set[str] | None = None
        self._deleting: frozenset[str] = frozenset()
        self._changed = False
        self._running = False
        self._stopped = False
        self._pausing: Deferred[None] | None = None
        self._caught_up: ControllerFacts | None = None
        self._nodes: dict[str, TopicNodes] = {}
        self._failures = 0
        view.observe(self._observe)

    def stop(self) -> None:
        """End the role."""
        self._stopped = True
        if self._pausing is not None:
            self._pausing.cancel()

    def _role(self) -> ControllerFacts | None:
        """Return the facts by which this broker is the controller now."""
        facts = self._view.image.controller
        if self._stopped or not self._view.ready or facts is None:
            return None
        return facts if facts.elects(self._tree.session_id) else None

    def consider(self) -> None:
        """Look at everything, if this broker is the controller."""
        self._names = None
        self._begin()

    def _observe(self, delta: ClusterDelta | None) -> None:
        image = self._view.image
        if delta is not None and _concerns_all(delta):
            self._names = None
        elif self._names is not None:
            self._names.update(delta.topics if delta is not None else ())
            self._names.update(image.deleting ^ self._deleting, image.unidentified)
        self._deleting = image.deleting
        self._begin()

    def _begin(self) -> None:
        self._changed = True
        if not self._running and self._role() is not None:
            self._running = True
            Deferred.fromCoroutine(self._run())

    async def _run(self) -> None:
        try:
            while self._changed and (role := self._role()) is not None:
                self._changed = False
                try:
                    await self._work(role)
                    self._failures = 0
                except OperationError as error:
                    await self._failed(role, error)
                except (TreeError, CancelledError):
                    raise
                except Exception:
                    self._log.failure(
                        "the controller failed; it tries again in {pause} s", pause=MOST_PAUSE_S
                    )
                    await self._pause(MOST_PAUSE_S)
        except (TreeError, CancelledError):
            self._names = None  # the connection is lost: consider() is called when it is back
        finally:
            self._running = False

    async def _work(self, role: ControllerFacts) -> None:
        """Write until the state needs nothing more."""
        if role != self._caught_up:
            await self._catch_up()
            self._names = None
            self._caught_up = role
        while role == self._role():
            names, self._names = self._names, set()
            image = self._view.image
            state = image.whole_state()
            writes = reconcile(state, image.deleting, names, self._new_uuid)
            if not writes:
                break
            deleted = [write.topic for write in writes if isinstance(write, TopicDeletion)]
            await each(partial(deletion_marks, self._tree, role), deleted)
            sequence = -1
            for piece in pieces(
                writes, state.topics, role.epoch, role.epoch_version, self._nodes, image.incarnations
            ):
                sequence = await self._make(role, piece)
            self._nodes.clear()
            await self._view.until(lambda: self._view.image.applied >= sequence, SHOWN_S)  # noqa: B023
        await trim(self._tree, self._follower, role)

    async def _catch_up(self) -> None:
        """Wait until the image shows all that earlier controllers have written, and the brokers they knew.

        The change log is read before the brokers are: it may show leaders that have just registered.
        """
        await self._tree.sync()
        await self._follower.read_brokers()
        last = last_sequence(await self._tree.children(paths.CHANGES))
        await self._view.until(lambda: self._view.image.applied >= last, SHOWN_S)

    async def _make(self, role: ControllerFacts, piece: Piece) -> int:
        """Make one transaction; return the sequence number of its change record."""
        try:
            path = (await self._tree.multi(piece.operations))[-1]
        except OperationError as error:
            if not _ends_role(error):
                await self._follower.read_brokers()
                await self._read_nodes(piece)
            raise
        assert isinstance(path, str)
        return paths.parse_change(path) or 0

    async def _read_nodes(self, piece: Piece) -> None:
        """Read the topics again with which a transaction has failed."""
        names = sorted(piece.topics)
        loader = self._follower.loader
        for name, nodes in zip(names, await each(loader.topic_nodes, names), strict=True):
            self._nodes[name] = nodes
        found = await each(loader.topic, names)
        there = set(await self._tree.children(paths.TOPICS))
        marks = await self._tree.children(paths.DELETE_TOPICS)
        draft = Draft(self._view.image)
        draft.set_deleting(marks)
        for name, topic in zip(names, found, strict=True):
            if topic is not None:
                draft.put_topic(topic)
            elif name not in there:
                draft.drop_topic(name)
        self._view.show(*draft.finish())

    async def _failed(self, role: ControllerFacts, error: OperationError) -> None:
        if _ends_role(error):
            self._log.warn("broker {id} is not the controller any more", id=role.broker_id)
            self._names = None
            self._follower.read_again(paths.CONTROLLER)  # the image still says that it is
            return
        pause_s = min(MOST_PAUSE_S, FIRST_PAUSE_S * 2**self._failures)
        if isinstance(error, Refused):
            pause_s = MOST_PAUSE_S
        log = self._log.warn if self._failures > 2 else self._log.debug
        log("the controller tries again in {pause} s: {error}", pause=pause_s, error=error)
        self._failures = min(self._failures + 1, 10)
        await self._pause(pause_s)

    async def _pause(self, pause_s: float) -> None:
        self._names = None
        self._changed = True
        self._pausing = deferLater(self._clock, pause_s)
        try:
            await self._pausing
        finally:
            self._pausing = None


def _concerns_all(delta: ClusterDelta) -> bool:
    """Return True if a change may concern the states of all partitions."""
    before, after = delta.before, delta.after
    return (
        before.brokers is not after.brokers
        or before.offline is not after.offline
        or before.lost_epochs is not after.lost_epochs
        or before.broker_configs is not after.broker_configs
    )


def _ends_role(error: OperationError) -> bool:
    """Return True if the check of the controller's epoch has failed: another broker was elected."""
    checked = isinstance(error.operation, Check) and error.path == paths.CONTROLLER_EPOCH
    return checked and isinstance(error, BadVersion | NoNode)
