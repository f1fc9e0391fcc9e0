"""The server of a local tree: nodes, sessions with their time-outs, and watches; no sockets.

A request is made when it arrives, in memory; :mod:`kafkatx.metadata.tree.local.commits` holds its reply back
until it is on the disk. Where the disk fails, all connections are ended and the state is read again: clients
are connected anew and find what was made.

Sessions and their nodes outlive the server's process: a session whose client does not come back to the next
one in time expires there.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.interfaces.nodes import Change, Delete, NoNode, Operation, OperationError, Outcome, Refused
from kafkatx.interfaces.tree import Watch
from kafkatx.interfaces.workers import Worker
from kafkatx.metadata.tree.local.commits import Commits
from kafkatx.metadata.tree.local.database import Stored, StoredSession, TreeDatabase
from kafkatx.metadata.tree.local.process_end import ProcessEnd
from kafkatx.metadata.tree.local.replies import (
    MAX_REPLY_BYTES,
    Answered,
    Event,
    Expired,
    Pong,
    Reply,
    Welcome,
    data_fields,
    encode,
    failed,
    outcome_fields,
    stat_fields,
)
from kafkatx.metadata.tree.local.requests import Hello, Kind, Request
from kafkatx.metadata.tree.nodes import Node, Transaction
from kafkatx.metadata.tree.watches import Watches

MIN_TIMEOUT_S, MAX_TIMEOUT_S = 0.1, 3600.0
LATE_S = 0.05
"""Seconds in which messages are read that have come already."""
STALL_S = 0.5
"""Seconds by which a timer is late if this process stood still."""
GRACE_S = 2.0
"""Seconds for clients to connect again after this process stood still itself: longer than their pauses."""
MAX_WATCHES = 100_000
"""Watches of one connection."""


class Peer(Protocol):
    """The connection of a client.

    :ivar watches: number of its watches; kept by the server.
    :ivar waiting: number of messages to it that wait for the disk; kept by the server.
    """

    watches: int
    waiting: int

    def send(self, body: bytes) -> None:
        """Send a frame."""

    def finish(self) -> None:
        """End the connection when everything is sent."""

    def abort(self) -> None:
        """End the connection at once, and take no more messages from it."""


@define(eq=False)
class Session:
    """A session.

    :ivar peer: its connection, if there is one.
    :ivar heard_s: when the client was last heard of.
    :ivar process: waits for the end of a client's process that is not connected.
    """

    session_id: int
    stored: StoredSession
    heard_s: float
    peer: Peer | None = None
    timer: IDelayedCall | None = field(default=None, init=False)
    process: ProcessEnd | None = field(default=None, init=False)

    def disarm(self) -> None:
        """Stop waiting for the time-out, and for the end of the client's process."""
        timer, self.timer = self.timer, None
        if timer is not None and timer.active():
            timer.cancel()
        self.stop_watching()

    def stop_watching(self) -> None:
        """Stop waiting for the end of the client's process."""
        process, self.process = self.process, None
        if process is not None:
            process.close()


class TreeServer:
    """One tree, for any number of clients.

    :param path: the file of its nodes.
    :param worker: runs the calls that block.
    :ivar broken: fails with the reason when the disk has failed and cannot be read either.
    """

    _log = Logger()

    def __init__(self, path: str, clock: IReactorTime, worker: Worker) -> None:
        self.broken: Deferred[None] = Deferred()
        self._path = path
        self._clock = clock
        self._worker = worker
        self._database: TreeDatabase | None = None  # used in the worker
        self._commits = Commits(worker, self._write, self._lost)
        self._serving = False
        self._nodes: dict[str, Node] = {}
        self._zxid = 0
        self._last_session = 0
        self._sessions: dict[int, Session] = {}
        self._watches: Watches[Peer] = Watches()

    def start(self) -> Deferred[None]:
        """Open the file.

        :return: fires with None; fails with SettingError, as :class:`TreeDatabase`.
        """
        return self._worker(self._open).addCallback(self._loaded)

    def stop(self) -> Deferred[None]:
        """End all connections, and close the file after the commit that is under way."""
        self._end_connections()
        for session in self._sessions.values():
            session.disarm()
        self._sessions.clear()

        def close() -> None:
            database, self._database = self._database, None
            if database is not None:
                database.close()

        return self._commits.settled().addCallback(lambda _: self._worker(close))

    def hello(self, peer: Peer, hello: Hello) -> Session | None:
        """Start a session, or go on with one; None if there is none, or the server cannot serve."""
        if not self._serving:
            peer.abort()
            return None
        if hello.session_id is None:
            session = self._new_session(hello)
        else:
            found = self._sessions.get(hello.session_id)
            if found is None or not secrets.compare_digest(found.stored.token.encode(), hello.token.encode()):
                self._tell(peer, Expired(), finish=True)
                return None
            session = found
            if session.peer is not None:
                self._drop(session.peer)
                session.peer.abort()
        session.stop_watching()
        session.peer, session.heard_s = peer, self._clock.seconds()
        self._tell(peer, Welcome(session.session_id, session.stored.token, session.stored.timeout_s))
        return session

    def ping(self, session: Session) -> None:
        """Answer a sign of life."""
        if session.peer is not None:
            session.heard_s = self._clock.seconds()
            self._tell(session.peer, Pong())

    def request(self, session: Session, request: Request) -> None:
        """Make a request of a session that has a connection, and answer it when the disk has it."""
        peer = session.peer
        if peer is None:
            return
        session.heard_s = self._clock.seconds()
        if request.kind is Kind.CLOSE:
            session.peer = None
            self._drop(peer)
            self._end(session)
            self._tell(peer, Answered(request.number, None), finish=True)
            return
        reply: Reply
        try:
            reply = Answered(request.number, self._make(session, peer, request))
        except OperationError as error:
            reply = failed(request.number, error)
        if session.peer is peer:  # the disk has not failed meanwhile
            self._tell(peer, reply)

    def disconnected(self, session: Session, peer: Peer) -> None:
        """Take it that a connection has ended; the session goes on until its time-out."""
        self._drop(peer)
        if session.peer is peer:
            session.peer = None

    def has(self, session: Session) -> bool:
        """Return True if the session is not over."""
        return self._sessions.get(session.session_id) is session

    def wait_for_client(self, session: Session, process: ProcessEnd) -> None:
        """End a session that is not connected as soon as its client's process has ended.

        :param process: closed by this server.
        """
        session.stop_watching()
        if session.peer is None and self.has(session):
            session.process = process
            process.then(partial(self._client_died, session))
        else:
            process.close()

    def expire(self, session_id: int) -> None:
        """End a session now, as its time-out does. Do nothing if there is no such session."""
        session = self._sessions.get(session_id)
        if session is not None:
            peer, session.peer = session.peer, None
            self._log.info(
                "Session {id} has expired: nothing was heard of its client for {timeout_s:g} s.",
                id=session_id,
                timeout_s=session.stored.timeout_s,
            )
            if peer is not None:
                self._drop(peer)
            self._end(session)
            if peer is not None:
                self._tell(peer, Expired(), finish=True)

    def owner(self, path: str) -> int:
        """Return the session that an ephemeral node belongs to; 0 if there is no such node."""
        node = self._nodes.get(path)
        return 0 if node is None else node.owner

    def _client_died(self, session: Session) -> None:
        if session.peer is None and self.has(session):
            self._log.info("Session {id}: the process of its client has ended.", id=session.session_id)
            self._end(session)

    def _open(self) -> Stored:
        """Open the file, if it is not, and read it. In the worker."""
        if self._database is None:
            self._database = TreeDatabase(self._path)
        return self._database.load()

    def _write(self, changes: Stored) -> None:
        """Write changes. In the worker."""
        if self._database is None:
            raise RuntimeError("the tree is closed")
        self._database.write(changes)

    def _loaded(self, stored: Stored) -> None:
        self._nodes = {path: node for path, node in stored.nodes.items() if node is not None}
        self._zxid, self._last_session = stored.zxid, stored.last_session
        now_s = self._clock.seconds()
        for session in self._sessions.values():
            session.disarm()
        self._sessions = {
            session_id: Session(session_id, kept, now_s)
            for session_id, kept in stored.sessions.items()
            if kept is not None
        }
        for session in self._sessions.values():
            self._arm(session)
        self._serving = True

    def _lost(self, failure: Failure) -> None:
        """Give up the state in memory after a commit that failed, and read that of the disk."""
        self._log.error(
            "{path}: a change could not be written, and is not made: {error}",
            path=self._path,
            error=failure.getErrorMessage(),
        )
        self._end_connections()
        self._commits.reset()
        self._worker(self._open).addCallbacks(self._loaded, self.broken.errback)

    def _end_connections(self) -> None:
        self._serving = False
        for session in self._sessions.values():
            peer, session.peer = session.peer, None
            if peer is not None:
                peer.abort()
        self._watches = Watches()

    def _new_session(self, hello: Hello) -> Session:
        self._last_session += 1
        stored = StoredSession(secrets.token_hex(16), min(max(hello.timeout_s, MIN_TIMEOUT_S), MAX_TIMEOUT_S))
        session = Session(self._last_session, stored, self._clock.seconds())
        self._sessions[session.session_id] = session
        self._arm(session)
        self._commits.session(session.session_id, stored)
        self._commits.begin(self._zxid, self._last_session)
        return session

    def _arm(self, session: Session) -> None:
        due_s = session.heard_s + session.stored.timeout_s
        wait_s = max(0.0, due_s - self._clock.seconds())
        session.timer = self._clock.callLater(wait_s, self._due, session, False)

    def _due(self, session: Session, again: bool) -> None:
        """Expire a session that is silent.

        :param again: False to look once more: the messages that are here already have not been read, and if
            this process itself stood still, clients could not connect.
        """
        session.timer = None
        late_s = self._clock.seconds() - (session.heard_s + session.stored.timeout_s)
        if late_s < 0:
            self._arm(session)
        elif not again:
            wait_s = LATE_S if late_s < STALL_S else min(GRACE_S, session.stored.timeout_s)
            session.timer = self._clock.callLater(wait_s, self._due, session, True)
        else:
            self.expire(session.session_id)

    def _end(self, session: Session) -> None:
        """Remove a session and its nodes."""
        session.disarm()
        del self._sessions[session.session_id]
        owned = sorted(path for path, node in self._nodes.items() if node.owner == session.session_id)
        self._commits.session(session.session_id, None)
        if owned:
            self._commit(0, [Delete(path) for path in owned])
        else:
            self._commits.begin(self._zxid, self._last_session)

    def _make(self, session: Session, peer: Peer, request: Request) -> object:
        """Make a request that is no close; return its result."""
        if request.kind is Kind.SYNC:
            return None
        if request.kind is Kind.MULTI:
            return outcome_fields(self._commit(session.session_id, request.operations))
        path = request.path
        node = self._nodes.get(path)
        if node is None and request.kind is not Kind.EXISTS:
            raise NoNode(path)
        watch = self._watch(peer, request) if request.watch else None
        if request.kind is Kind.CHILDREN:
            self._watches.on_children(path, peer, watch)
            return sorted(node.children) if node is not None else []
        self._watches.on_data(path, peer, watch)
        if node is None:
            return None
        return stat_fields(node.stat) if request.kind is Kind.EXISTS else data_fields(node.data, node.stat)

    def _watch(self, peer: Peer, request: Request) -> Watch:
        if peer.watches >= MAX_WATCHES:
            raise Refused(request.path, reason=f"the connection has {MAX_WATCHES} watches")
        peer.watches += 1

        def report(change: Change) -> None:
            peer.watches -= 1
            self._tell(peer, Event(request.number, change))

        return report

    def _commit(self, session_id: int, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
        transaction = Transaction(self._nodes, self._zxid + 1, session_id)
        outcomes = transaction.make(operations)
        if transaction.changes:
            self._zxid += 1
            for path in {path for path, _ in transaction.changes}:
                self._commits.node(path, self._nodes.get(path))
            self._commits.begin(self._zxid, self._last_session)
            self._watches.report(transaction.changes)
        return outcomes

    def _drop(self, peer: Peer) -> None:
        self._watches.drop(peer)
        peer.watches = 0

    def _tell(self, peer: Peer, reply: Reply, finish: bool = False) -> None:
        """Send a message when all changes before it are on the disk."""
        body = encode(reply)
        if len(body) > MAX_REPLY_BYTES and isinstance(reply, Answered):
            reason = f"the reply has {len(body)} bytes, more than {MAX_REPLY_BYTES}"
            body = encode(failed(reply.number, Refused("/", reason=reason)))
        peer.waiting += 1

        def send() -> None:
            peer.waiting -= 1
            peer.send(body)
            if finish:
                peer.finish()

        self._commits.then(send)
