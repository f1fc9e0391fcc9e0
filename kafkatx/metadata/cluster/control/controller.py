"""The role of the controller: it writes the states of partitions, deletes topics, and trims the change log.

It touches the tree and the clock. What is to be written is decided by
:func:`~kafkatx.metadata.controller.reconcile.reconcile`, which is pure, and for requests of clients by
``controller.elections`` and ``controller.reassignments``. One transaction is made at a time; each checks the
epoch of the controller, so that none is made after another broker was elected. The role begins when the image
shows this session as the elected one, and ends when it does not, or with a failed check.

Leaders write states, too, and brokers come and go: a transaction that such a change has overtaken is decided
anew at once, by what :mod:`~kafkatx.metadata.cluster.control.corrections` has read, in smaller transactions;
after :data:`MOST_CONFLICTS` in a row there is a pause.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ITree
from kafkatx.interfaces.nodes import OperationError, Refused, TreeError
from kafkatx.metadata.cluster.commands.restorations import end_restoration
from kafkatx.metadata.cluster.control.admin_nodes import AdminNodes
from kafkatx.metadata.cluster.control.balance import Balance
from kafkatx.metadata.cluster.control.corrections import Corrections, ends_role
from kafkatx.metadata.cluster.control.options import ControllerOptions
from kafkatx.metadata.cluster.control.reports import report
from kafkatx.metadata.cluster.control.requests import Request, Requests, Wanted
from kafkatx.metadata.cluster.control.trimmer import deletion_marks, trim
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.cluster.state.image import ControllerFacts, Image
from kafkatx.metadata.cluster.state.loader import last_sequence
from kafkatx.metadata.cluster.state.requests import each
from kafkatx.metadata.cluster.state.view import View
from kafkatx.metadata.controller.elections import elect
from kafkatx.metadata.controller.pieces import MOST_STATES, Piece, pieces
from kafkatx.metadata.controller.reassignments import reassign
from kafkatx.metadata.controller.reconcile import reconcile
from kafkatx.metadata.controller.writes import Answers, TopicDeletion, Write
from kafkatx.metadata.layout import paths
from kafkatx.types import ClusterDelta, ClusterState, ElectionKind, TopicPartition

FIRST_PAUSE_S = 0.1
MOST_PAUSE_S = 10.0
"""Seconds between attempts of writes that fail again and again."""
SHOWN_S = 30.0
"""Seconds to wait until the image shows what was written."""
MOST_CONFLICTS = 10
"""Transactions that leaders and brokers overtake, one after the other, before a pause."""
FEWEST_STATES = 16
"""States in the first transaction after some that were overtaken."""


class Controller:
    """Writes what the cluster's state needs while this broker is the controller.

    :param new_uuid: returns random ids for topics that have none.
    :param options: None for the defaults.
    """

    _log = Logger()

    def __init__(
        self,
        tree: ITree,
        clock: IReactorTime,
        view: View,
        follower: Follower,
        new_uuid: Callable[[], uuid.UUID],
        options: ControllerOptions | None = None,
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
        self._failures = 0
        self._conflicts = 0
        self._overtaken = False
        self._options = options or ControllerOptions()
        self._corrections = Corrections(tree, follower, view)
        self._requests = Requests(clock)
        preferred = partial(self.elect, ElectionKind.PREFERRED)
        self._balance = Balance(clock, view, self._options, preferred)
        self._admin_nodes = AdminNodes(tree, view, self._role, preferred, self.reassign)
        view.observe(self._observe)

    def elect(self, kind: ElectionKind, partitions: Collection[TopicPartition] | None) -> Deferred[Answers]:
        """Elect leaders; None: of all partitions that need it.

        :return: fires with an outcome for each partition, when the state shows it; fails with RequestError
            NOT_CONTROLLER or REQUEST_TIMED_OUT.
        """

        def decide(
            state: ClusterState, deleting: Collection[str], left: Wanted | None
        ) -> tuple[Sequence[Write], Answers]:
            return elect(state, deleting, kind, None if left is None else list(left))

        if self._role() is None:
            return fail(_not_controller())
        result = self._requests.add(decide, None if partitions is None else dict.fromkeys(partitions))
        self._begin()
        return result

    def reassign(self, changes: Mapping[TopicPartition, Sequence[int] | None]) -> Deferred[Answers]:
        """Begin reassignments of replicas, and cancel those whose replicas are None.

        :return: as :meth:`elect`.
        """

        def decide(
            state: ClusterState, deleting: Collection[str], left: Wanted | None
        ) -> tuple[Sequence[Write], Answers]:
            return reassign(state, deleting, left or {}, self._options.rules(state))

        if self._role() is None:
            return fail(_not_controller())
        result = self._requests.add(decide, dict(changes))
        self._begin()
        return result

    def stop(self) -> None:
        """End the role."""
        self._stopped = True
        self._end_role()
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
        self._caught_up = None
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

    def _end_role(self) -> None:
        self._balance.stop()
        self._requests.fail_all(_not_controller)

    def _begin(self) -> None:
        self._changed = True
        if self._role() is None:
            self._end_role()
        elif not self._running:
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
            if self._role() is None:
                self._end_role()

    async def _work(self, role: ControllerFacts) -> None:
        """Write until the state needs nothing more, and no request waits."""
        if role != self._caught_up:
            await self._catch_up()
            self._names = None
            self._caught_up = role
            self._balance.start()
            self._admin_nodes.consider()
        while role == self._role():
            # in order, so that a run of the simulation can be repeated
            names = None if self._names is None else sorted(self._names)
            self._names = set()
            image = self._view.image
            state = image.whole_state()
            rules = self._options.rules(state)
            request: Request | None = None
            writes: Sequence[Write] = reconcile(state, image.deleting, names, self._new_uuid, rules)
            if not writes:
                if state.restored_at >= 0:
                    await end_restoration(self._tree, role)
                request = self._requests.first()
                if request is None:
                    break
                writes = self._decided(request, state, image.deleting)
            await self._write(role, image, writes, request)
            if request is not None:
                request.finish()
        await trim(self._tree, self._follower, role)

    def _decided(self, request: Request, state: ClusterState, deleting: Collection[str]) -> Sequence[Write]:
        try:
            return request.writes(state, deleting)
        except Exception:
            request.fail(RequestError(ErrorCode.UNKNOWN_SERVER_ERROR, "The controller failed: see its log."))
            raise

    async def _write(
        self, role: ControllerFacts, image: Image, writes: Sequence[Write], request: Request | None
    ) -> None:
        """Make some writes, and wait until the image shows them.

        :param image: the one by which they were found.
        :param request: the request that they are for.
        :raises OperationError: one of the transactions could not be made; the image shows those before it.
        """
        state = image.whole_state()
        deleted = [write.topic for write in writes if isinstance(write, TopicDeletion)]
        await each(partial(deletion_marks, self._tree, role), deleted)
        nodes, self._corrections.nodes = self._corrections.nodes, {}
        most = max(FEWEST_STATES, MOST_STATES >> self._conflicts)
        sequence = -1
        shown = lambda: not self._view.ready or self._view.image.applied >= sequence  # noqa: E731
        try:
            for piece in pieces(
                writes, state.topics, role.epoch, role.epoch_version, nodes, image.incarnations, most
            ):
                sequence = await self._make(piece)
                self._conflicts = 0
                report(state, piece.writes)
                if request is not None:
                    request.made(piece.writes)
        finally:
            await self._view.until(shown, SHOWN_S)

    async def _catch_up(self) -> None:
        """Wait until the image shows all that earlier controllers have written, and the brokers they knew.

        The change log is read before the brokers are: it may show leaders that have just registered.
        """
        await self._tree.sync()
        await self._follower.read_brokers()
        last = last_sequence(await self._tree.children(paths.CHANGES))
        await self._view.until(lambda: self._view.image.applied >= last, SHOWN_S)

    async def _make(self, piece: Piece) -> int:
        """Make one transaction; return the sequence number of its change record."""
        try:
            path = (await self._tree.multi(piece.operations))[-1]
        except OperationError as error:
            if not ends_role(error):
                self._overtaken = await self._corrections.read(piece, error)
            raise
        assert isinstance(path, str)
        return paths.parse_change(path) or 0

    async def _failed(self, role: ControllerFacts, error: OperationError) -> None:
        self._names = None
        overtaken, self._overtaken = self._overtaken, False
        if ends_role(error):
            self._log.warn("broker {id} is not the controller any more", id=role.broker_id)
            self._follower.read_again(paths.CONTROLLER)  # the image still says that it is
            return
        if overtaken and self._conflicts < MOST_CONFLICTS:
            self._log.debug("the controller decides anew: {error}", error=error)
            self._conflicts += 1
            self._changed = True
            return
        self._conflicts = 0
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
        or before.stale_epochs is not after.stale_epochs
        or before.restored_at != after.restored_at
        or before.log_ends is not after.log_ends
        or before.broker_configs is not after.broker_configs
    )


def _not_controller() -> RequestError:
    return RequestError(ErrorCode.NOT_CONTROLLER, "This broker is not the controller.")
