"""The interface of the tree that brokers share: ZooKeeper's data model, with Deferreds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from zope.interface import Attribute, Interface

from kafkatx.interfaces.nodes import Change, NodeStat, Operation, Outcome, SessionState

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred  # Spark's workers know no Twisted

Watch: TypeAlias = Callable[[Change], None]
"""Called at most once, in the reactor thread."""
SessionListener: TypeAlias = Callable[[SessionState], None]


class ITree(Interface):
    """One client of a tree of nodes that several processes share, with one session at a time.

    Ordering, as ZooKeeper guarantees it:

    - The server makes the requests of a session in the order of the calls, and Deferreds fire in that order.
    - A watch is called before the reply to any later request that shows the change.
    - A read may be older than a write of another session that has succeeded; after :meth:`sync` it is not.

    A connection that is lost ends its operations and its watches. The order then is: operations fail, watches
    get ``Change.LOST``, listeners get SUSPENDED or LOST. A listener that gets CONNECTED must read again
    whatever it watches, since changes in between were not reported.

    Cancelling a Deferred does not stop the request.
    """

    session_id: int | None = Attribute(
        "Id of the session; the ephemeral owner of its nodes. None without one."
    )
    session_timeout_s: float = Attribute(
        "Time-out of the session, or of the last one, as the server granted it; 0 before the first."
    )
    state: SessionState = Attribute("The state of the session.")

    def connect() -> Deferred[int]:
        """Start a session. It connects again by itself after a lost connection, until it is LOST; then call
        this again.

        :return: fires with the session's id; fails with ConnectionLost if no server is reached in time, and
            with NotAuthenticated if one does not accept this client.
        :raises RuntimeError: there is a session, or one is being started.
        """

    def close() -> Deferred[None]:
        """End the session; the server deletes its ephemeral nodes, at the latest when the session times out.

        Operations under way fail with SessionExpired; no watch and no listener is called any more.

        :return: fires with None.
        """

    def subscribe(listener: SessionListener) -> None:
        """Call ``listener(state)`` for each change to CONNECTED, SUSPENDED or LOST, also of later sessions.

        A session's first CONNECTED comes before the Deferred of :meth:`connect` fires.
        """

    def read(path: str, watch: Watch | None = None) -> Deferred[tuple[bytes, NodeStat]]:
        """Read a node.

        :param watch: called when the node's data change (DATA) or it is deleted; not set if the read fails.
        :return: fires with data and stat. This and all other requests fail with ConnectionLost or
            SessionExpired, at once unless CONNECTED; this one with NoNode, too.
        :raises ValueError: *path* is no path.
        """

    def children(path: str, watch: Watch | None = None) -> Deferred[Sequence[str]]:
        """List the children of a node.

        :param watch: called when a child is created or deleted (CHILDREN) or the node is deleted; not set if
            the read fails.
        :return: fires with their names, sorted; fails with NoNode, or as :meth:`read`.
        """

    def exists(path: str, watch: Watch | None = None) -> Deferred[NodeStat | None]:
        """Look for a node.

        :param watch: called when the node is created, deleted or its data change (DATA).
        :return: fires with its stat, or None if there is no such node; fails as :meth:`read`.
        """

    def multi(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
        """Make all of some operations, in order and in one transaction, or none.

        Each operation sees the changes of those before it.

        :return: fires with the outcome of each. Fails with the OperationError of the first operation that
            cannot be made (NoNode, NodeExists, BadVersion, NotEmpty, EphemeralParent, Refused), at once with
            Refused if they are larger than a server takes (1,000,000 bytes), or as :meth:`read`.
            After ConnectionLost and SessionExpired the outcome is unknown.
        :raises ValueError: there are no operations.
        """

    def sync(path: str = "/") -> Deferred[None]:
        """Catch up: later reads see all writes that had succeeded when this was called, those of others, too.

        That is also true of reads after the connection was lost, in the same session. It costs about as much
        as a write: a server that is cut off from the others cannot answer.

        :return: fires with None; fails as :meth:`read`.
        """

    def lease_remaining_s() -> float:
        """Return for how many seconds no other client can have seen this session expire; 0 or less: it may.

        The lease lasts 0.8 of the session's time-out from the *sending* of the last multi that succeeded and
        had a write. A read renews nothing, since a server that is cut off from the others may answer it.
        There is no lease before the first write, nor after LOST.
        """
