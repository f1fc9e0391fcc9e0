"""The server: it accepts connections, and keeps the limits that hold for all of them together.

It touches sockets and the clock. :mod:`kafkatx.net.connection` is one connection.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet import protocol
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.logger import Logger

from kafkatx.net.admission.admission import Admission
from kafkatx.net.admission.held_off import HeldOff
from kafkatx.net.admission.limits import UNLIMITED, AdmissionLimits
from kafkatx.net.admission.unauthenticated import Unauthenticated
from kafkatx.net.connection import KafkaConnection
from kafkatx.net.limited_log import MOST_LINES, LimitedLog
from kafkatx.net.pool import MemoryPool, MemoryPoolLimits
from kafkatx.net.requests import Requests
from kafkatx.net.sender import Load, in_memory

LOGIN_BYTES = 8 << 20
"""Bytes of requests that all connections before their login may hold, of queued.max.request.bytes or less."""

KEPT_DESCRIPTORS = 256
"""Open files (``ulimit -n``) that are not for connections."""


def max_descriptors() -> int:
    """Return the highest file descriptor that a connection may have: logs need files, too."""
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError, ValueError):  # no such limit here
        return sys.maxsize
    if not 0 < soft < sys.maxsize:
        return sys.maxsize
    return int(soft - min(KEPT_DESCRIPTORS, soft // 4))


@attrs.frozen
class Limits:
    """Limits of connections (the settings' names in brackets)."""

    max_request_bytes: int  #: socket.request.max.bytes
    max_queued_bytes: int  #: queued.max.request.bytes; -1 for no limit
    max_idle_ms: int  #: connections.max.idle.ms; -1 for no limit
    admission: AdmissionLimits = UNLIMITED
    send_buffer_bytes: int = -1  #: socket.send.buffer.bytes; -1 for the system's choice
    receive_buffer_bytes: int = -1  #: socket.receive.buffer.bytes; -1 for the system's choice
    min_request_bytes_s: int = 65536  #: kafkatx.request.min.bytes.per.second
    max_turn_ms: int = 60_000  #: kafkatx.request.turn.max.ms
    max_unauthenticated_per_ip: int = 500  #: kafkatx.unauthenticated.connections.max.per.ip
    log_lines: int = MOST_LINES  #: kafkatx.log.lines.per.minute


class KafkaServerFactory(protocol.ServerFactory):
    """Accepts connections and keeps the limits that hold for all of them together.

    :param requests: answers the requests of connections that come without a :class:`ListenerFactory`.
    :param load: see :data:`kafkatx.net.sender.Load`.
    :ivar accepted: the number of accepted connections, by listener.
    """

    _log = Logger()
    noisy = False

    def __init__(
        self, requests: Requests, limits: Limits, clock: IReactorTime, load: Load = in_memory
    ) -> None:
        self.load = load
        self.requests = requests
        self.limits = limits
        self.clock = clock
        self.log = LimitedLog(self._log, clock, limits.log_lines)
        self.max_descriptors = max_descriptors()
        self.connections: set[KafkaConnection] = set()
        self.admission = Admission(limits.admission, clock)
        self.admission.make_room = self._close_idlest
        self.unauthenticated = Unauthenticated(limits.max_unauthenticated_per_ip)
        self._admitted: dict[protocol.Protocol, tuple[str, str]] = {}  # host and listener
        self.accepted: dict[str, int] = {}
        pool_limits = MemoryPoolLimits(
            limits.max_queued_bytes, limits.min_request_bytes_s, limits.max_turn_ms / 1000
        )
        self.pool = MemoryPool(pool_limits, clock, self._reconsider)
        most_bytes = LOGIN_BYTES if limits.max_queued_bytes < 0 else min(LOGIN_BYTES, limits.max_queued_bytes)
        login_limits = attrs.evolve(pool_limits, max_bytes=most_bytes)
        self.login_pool = MemoryPool(login_limits, clock, self._reconsider)

    def use(self, limits: Limits) -> None:
        """Use other limits from now on."""
        self.limits = limits
        self.admission.limits = limits.admission
        self.unauthenticated.most = limits.max_unauthenticated_per_ip

    @property
    def max_request_bytes(self) -> int:
        """The largest request of a new connection."""
        return self.limits.max_request_bytes

    def buildProtocol(self, addr: IAddress | None) -> protocol.Protocol | None:
        """Return a connection, or None if there are too many."""
        return self.connection(addr, self.requests, "")

    def connection(
        self, addr: IAddress | None, requests: Requests, listener: str
    ) -> KafkaConnection | HeldOff | None:
        """Return a connection to a listener, one that is held off, or None if there are too many.

        :param requests: answers its requests.
        """
        host: str = getattr(addr, "host", "")
        refusal = self.admission.refusal(host, listener)
        if refusal:
            self.log.warn("refused {host}: {limit} reached", host=host, limit=refusal)
            return None
        made: KafkaConnection | HeldOff
        held_off_ms = self.admission.held_off_ms(host)
        if held_off_ms:
            self.log.warn("held off {host}: its quota connection_creation_rate is exceeded", host=host)
            made = HeldOff(self.clock, held_off_ms / 1000, self._forget)
        else:
            made = KafkaConnection(self, requests, listener)
        self.admission.enter(host, listener)
        self._admitted[made] = host, listener
        self.accepted[listener] = self.accepted.get(listener, 0) + 1
        return made

    def _forget(self, connection: protocol.Protocol) -> None:
        self.admission.leave(*self._admitted.pop(connection))

    def _close_idlest(self) -> bool:
        """Close the connection that is idle longest, of all listeners but that of other brokers."""
        protected = self.limits.admission.protected
        others = [one for one in self.connections if self._admitted[one][1] != protected]
        if not others:
            return False
        max(others, key=KafkaConnection.idle_s).abort("another broker needs it (max.connections reached)")
        return True

    def set_up(self, transport: Any) -> bool:
        """Set the options of a connection's socket.

        :return: False, after a warning, if the connection would leave no files for the logs.
        """
        may_stay = not hasattr(transport, "fileno") or transport.fileno() < self.max_descriptors
        if not may_stay:
            self.log.warn(
                "refused {host}: the process has nearly as many files open as it may; raise its limit"
                " (ulimit -n) or lower max.connections",
                host=transport.getPeer().host,
            )
        if hasattr(transport, "setTcpNoDelay"):
            transport.setTcpNoDelay(True)
            transport.setTcpKeepAlive(True)
        for option, size in (
            (socket.SO_SNDBUF, self.limits.send_buffer_bytes),
            (socket.SO_RCVBUF, self.limits.receive_buffer_bytes),
        ):
            if size >= 0:
                tcp = getattr(transport, "transport", transport)  # below TLS
                tcp.getHandle().setsockopt(socket.SOL_SOCKET, option, size)
        return may_stay

    def lost(self, connection: KafkaConnection) -> None:
        """Forget a connection that has ended."""
        self.connections.discard(connection)
        self._forget(connection)

    def _reconsider(self) -> None:
        for connection in list(self.connections):
            connection.reconsider()

    def close_idle(self) -> None:
        """Close connections without traffic for connections.max.idle.ms."""
        most_s = self.limits.max_idle_ms / 1000
        for connection in [c for c in self.connections if c.idle_s() > most_s >= 0 and not c.serving]:
            connection.close_idle()

    def close_all(self) -> None:
        """Close every connection."""
        for connection in list(self.connections):
            connection.close(None)
        for held in [one for one in self._admitted if isinstance(one, HeldOff)]:
            held.abort()


class ListenerFactory(protocol.ServerFactory):
    """Accepts the connections of one listener of a server.

    :param requests: answers their requests, with the addresses of this listener.
    :ivar pauses: what makes its ports pause, for some seconds.
    """

    noisy = False
    tls_advice = "set security.protocol=SSL in the client, or use a PLAINTEXT listener"

    def __init__(self, server: KafkaServerFactory, requests: Requests, listener: str) -> None:
        self.server = server
        self.listener = listener
        self.pauses: list[Callable[[float], None]] = []
        self._requests = requests

    @property
    def clock(self) -> IReactorTime:
        """The server's clock."""
        return self.server.clock

    @property
    def log(self) -> LimitedLog:
        """The server's log."""
        return self.server.log

    @property
    def unauthenticated(self) -> Unauthenticated:
        """The server's connections that are not authenticated yet."""
        return self.server.unauthenticated

    def buildProtocol(self, addr: IAddress | None) -> KafkaConnection | HeldOff | None:
        """Return a connection, one that is held off, or None if there are too many."""
        pause_ms = self.server.admission.pause_ms(self.listener)
        if pause_ms:
            for pause in self.pauses:
                pause(pause_ms / 1000)
        return self.server.connection(addr, self._requests, self.listener)
