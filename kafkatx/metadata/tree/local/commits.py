"""The commits of a local tree: changes go to the disk in a worker, and replies wait until they are there.

The nodes in memory are ahead of the disk, but no client sees that: each message waits for all the changes
before it, in one queue for all clients, so that the order of replies and events is kept. Changes that
come while a commit is under way are made by the next one, all together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from kafkatx.interfaces.workers import Worker
from kafkatx.metadata.tree.local.database import Stored, StoredSession
from kafkatx.metadata.tree.nodes import Node


class Commits:
    """The changes that are not on the disk yet, and the calls that wait for them.

    :param write: writes changes, or raises; called in the worker.
    :param failed: called if it raises; nothing is committed after that until :meth:`reset`.
    """

    def __init__(
        self, worker: Worker, write: Callable[[Stored], None], failed: Callable[[Failure], None]
    ) -> None:
        self._worker = worker
        self._write = write
        self._failed = failed
        self._next = Stored()
        self._noted = 0
        self._durable = 0
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._under_way: Deferred[None] | None = None
        self._broken = False

    def node(self, path: str, node: Node | None) -> None:
        """Note that a node was changed, or deleted. :meth:`begin` commits it."""
        self._next.nodes[path] = (
            None
            if node is None
            else Node(node.data, node.czxid, node.mzxid, node.version, node.owner, node.sequence)
        )

    def session(self, session_id: int, session: StoredSession | None) -> None:
        """Note that a session was started, or has ended. :meth:`begin` commits it."""
        self._next.sessions[session_id] = session

    def begin(self, zxid: int, last_session: int) -> None:
        """Commit what was noted, now or after the commit that is under way.

        :param zxid: the last transaction.
        """
        self._next.zxid, self._next.last_session = zxid, last_session
        self._noted += 1
        if self._under_way is None and not self._broken:
            self._commit()

    def then(self, call: Callable[[], None]) -> None:
        """Call a function when all changes that were noted are on the disk, in the order of these calls."""
        if self._waiting or self._durable < self._noted:
            self._waiting.append((self._noted, call))
        else:
            call()

    def settled(self) -> Deferred[None]:
        """Return a Deferred that fires when no commit is under way."""
        if self._under_way is None:
            return succeed(None)
        settled: Deferred[None] = Deferred()

        def again(_: object) -> None:
            self.settled().chainDeferred(settled)

        self._under_way.addCallback(again)
        return settled

    def reset(self) -> None:
        """Forget all changes that are not on the disk, and the calls that wait for them."""
        self._next = Stored()
        self._waiting.clear()
        self._durable = self._noted
        self._broken = False

    def _commit(self) -> None:
        changes, self._next, noted = self._next, Stored(), self._noted
        self._under_way = Deferred()
        self._worker(partial(self._write, changes)).addBoth(self._committed, noted)

    def _committed(self, outcome: Failure | None, noted: int) -> None:
        under_way, self._under_way = self._under_way, None
        if isinstance(outcome, Failure):
            self._broken = True
            self._failed(outcome)
        else:
            self._durable = noted
            if self._durable < self._noted:
                self._commit()
            while self._waiting and self._waiting[0][0] <= noted:
                self._waiting.popleft()[1]()
        if under_way is not None:
            under_way.callback(None)
