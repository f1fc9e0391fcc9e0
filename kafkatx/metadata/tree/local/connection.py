"""The server's end of a connection to the tree of one machine."""

from __future__ import annotations

import socket
from typing import Protocol, cast

from twisted.internet.interfaces import IAddress, IDelayedCall, IReactorTime
from twisted.internet.protocol import Factory, connectionDone
from twisted.logger import Logger
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from kafkatx.metadata.tree.local.process_end import FDReactor, ProcessEnd, peer_process, watch_process
from kafkatx.metadata.tree.local.requests import MAX_REQUEST_BYTES, Hello, Malformed, Ping, decode
from kafkatx.metadata.tree.local.server import Session, TreeServer

MAX_CONNECTIONS = 1000
MAX_WAITING = 1000
"""Messages that may wait for the disk before requests are read no more."""
HELLO_S = 10.0
"""Seconds within which the first message must come."""
RETRY_S = 0.01
"""Seconds after which a connection that waits for the disk looks again."""


class Transport(Protocol):
    """The methods of a transport that this module calls."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def loseConnection(self) -> None:
        """End the connection when everything is sent."""

    def abortConnection(self) -> None:
        """End the connection at once."""

    def registerProducer(self, producer: object, streaming: bool) -> None:
        """Pause *producer* while the buffer is full."""

    def unregisterProducer(self) -> None:
        """Do so no more."""

    def getHandle(self) -> socket.socket:
        """Return the socket."""


class Connection(Int32StringReceiver):
    """A connection of one client (``server.Peer``). What a client sends wrongly ends its connection only."""

    _log = Logger()
    MAX_LENGTH = MAX_REQUEST_BYTES

    def __init__(self, factory: Connections) -> None:
        self.watches = 0
        self.waiting = 0
        self._factory = factory
        self._server = factory.server
        self._clock = factory.clock
        self._session: Session | None = None
        self._over = False
        self._full = False
        self._process: ProcessEnd | None = None
        self._timer: IDelayedCall | None = None

    def connectionMade(self) -> None:
        """Wait for the first message."""
        transport = self._transport()
        transport.registerProducer(self, True)
        self._process = watch_process(self._factory.files, peer_process(transport.getHandle()))
        self._timer = self._clock.callLater(HELLO_S, self._refuse, "no first message")

    def stringReceived(self, string: bytes) -> None:
        """Take a message."""
        if self._over:
            return
        try:
            message = decode(string)
            if isinstance(message, Hello) != (self._session is None):
                raise Malformed("the first message of a connection, and no other, is a hello")
        except Malformed as error:
            self._refuse(str(error))
            return
        if isinstance(message, Hello):
            self._disarm()
            self._session = self._server.hello(self, message)
            self._over = self._session is None
        elif self._session is not None:
            if isinstance(message, Ping):
                self._server.ping(self._session)
            else:
                self._server.request(self._session, message)
        if self.waiting >= MAX_WAITING and not self.paused:
            super().pauseProducing()
            self._timer = self._clock.callLater(RETRY_S, self._look)

    def lengthLimitExceeded(self, length: int) -> None:
        """Refuse a message that is too long."""
        self._refuse(f"a message of {length} bytes; at most {MAX_REQUEST_BYTES} are allowed")

    def pauseProducing(self) -> None:
        """Read nothing while the client does not read."""
        self._full = True
        super().pauseProducing()

    def resumeProducing(self) -> None:
        """Read on."""
        self._full = False
        if self._timer is None:
            super().resumeProducing()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell the server; end the session at once if the client's process has ended."""
        self._over = True
        self._disarm()
        self._factory.connections.discard(self)
        session, process, self._process = self._session, self._process, None
        if session is not None:
            self._server.disconnected(session, self)
        if process is not None:
            if session is None:
                process.close()
            else:
                self._server.wait_for_client(session, process)

    def send(self, body: bytes) -> None:
        """Send a frame."""
        self._transport().write(len(body).to_bytes(4, "big") + body)

    def finish(self) -> None:
        """End the connection when everything is sent."""
        self._over = True
        self._transport().unregisterProducer()
        self._transport().loseConnection()

    def abort(self) -> None:
        """End the connection at once."""
        self._over = True
        self._disarm()
        self._transport().unregisterProducer()
        self._transport().abortConnection()

    def _refuse(self, why: str) -> None:
        """End the connection of a client that does not speak this protocol."""
        self._log.warn(
            "{path}: the connection of process {pid} is ended: {why}",
            path=self._factory.path,
            pid=peer_process(self._transport().getHandle()),
            why=why,
        )
        self.abort()

    def _look(self) -> None:
        """Read on if few messages wait for the disk."""
        if self.waiting > MAX_WAITING // 2:
            self._timer = self._clock.callLater(RETRY_S, self._look)
        else:
            self._timer = None
            if not self._full:
                super().resumeProducing()

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def _transport(self) -> Transport:
        return cast(Transport, self.transport)


class Connections(Factory):
    """The connections of a server.

    :param path: path of the socket, for messages.
    :param files: the reactor, as far as it watches files.
    """

    _log = Logger()
    noisy = False

    def __init__(self, path: str, server: TreeServer, clock: IReactorTime, files: FDReactor) -> None:
        self.path = path
        self.server = server
        self.clock = clock
        self.files = files
        self.connections: set[Connection] = set()

    def buildProtocol(self, addr: IAddress | None) -> Connection | None:
        """Take a connection, unless there are too many."""
        if len(self.connections) >= MAX_CONNECTIONS:
            self._log.warn("{path}: more than {most} connections", path=self.path, most=MAX_CONNECTIONS)
            return None
        connection = Connection(self)
        self.connections.add(connection)
        return connection
