"""The part of kazoo that the bridge uses, typed, and clients made so that they keep ZooKeeper's order."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable
from typing import Protocol

from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import Callback, WatchedEvent, ZnodeStat

from kafkatx.metadata.tree.zookeeper.settings import ZooKeeperSettings

Watcher = Callable[[WatchedEvent], None]


class Result(Protocol):
    """The result of an asynchronous call."""

    value: object
    exception: Exception | None

    def rawlink(self, callback: Callable[[Result], None]) -> None:
        """Call *callback* in the connection thread, or at once if there is a result."""


class Transaction(Protocol):
    """A multi."""

    def create(
        self, path: str, value: bytes, acl: object = None, ephemeral: bool = False, sequence: bool = False
    ) -> None:
        """Add the creation of a node."""

    def delete(self, path: str, version: int) -> None:
        """Add a deletion."""

    def set_data(self, path: str, value: bytes, version: int) -> None:
        """Add a change of data."""

    def check(self, path: str, version: int) -> None:
        """Add a check."""

    def commit_async(self) -> Result:
        """Send it."""


class Client(Protocol):
    """A client of ZooKeeper: its calls ``*_async`` do not block, the others do."""

    connected: bool
    client_state: str
    client_id: tuple[int, bytes] | None

    def add_listener(self, listener: Callable[[str], None]) -> None:
        """Call *listener* with each KazooState, in the connection thread."""

    def start_async(self) -> object:
        """Start threads that connect. Waits for those of an earlier start."""

    def stop(self) -> None:
        """End the session; wait for the connection thread."""

    def close(self) -> None:
        """Release sockets after :meth:`stop`."""

    def exists(self, path: str) -> object:
        """Return the stat of a node, or None."""

    def ensure_path(self, path: str, acl: object = None) -> object:
        """Create a node and its parents if they are missing."""

    def set(self, path: str, value: bytes) -> ZnodeStat:
        """Replace the data of a node; return its stat."""

    def exists_async(self, path: str, watch: Watcher | None) -> Result:
        """Return a stat or None."""

    def get_async(self, path: str, watch: Watcher | None) -> Result:
        """Return data and stat."""

    def get_children_async(self, path: str, watch: Watcher | None) -> Result:
        """Return names."""

    def transaction(self) -> Transaction:
        """Return an empty multi."""


class InlineHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """A handler without threads: results and watch events are called in the connection thread.

    kazoo's own has one thread for results and one for watch events, so that a watch may come after the reply
    that shows its change. Callbacks must not block: ours only hand over to the reactor. A handler that is not
    ``running`` makes kazoo call the callbacks of results at once.

    :param tls: the context of connections; None: no TLS.
    :param servers: number of servers. Each gets a part of the session's time-out to answer, so that one that
        does not leaves time for the others.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, servers: int = 1) -> None:
        super().__init__()
        self._tls = tls
        self._servers = servers

    def start(self) -> None:
        """Start no threads."""

    def stop(self) -> None:
        """Stop no threads."""

    def dispatch_callback(self, callback: Callback) -> None:
        """Call a watch."""
        callback.func(*callback.args)

    def create_connection(
        self, address: tuple[str, int], hostname: str, timeout: float, **options: object
    ) -> socket.socket:
        """Connect to a server.

        :raises OSError: it cannot be reached, or the certificates do not fit; the message names it.
        """
        try:
            connection = socket.create_connection(address, timeout / self._servers)
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls is None:
                    return connection
                return self._tls.wrap_socket(connection, server_hostname=hostname)
            except BaseException:
                connection.close()
                raise
        except OSError as error:
            raise OSError(error.errno, f"{hostname}:{address[1]}: {error.strerror or error}") from error


def make_client(
    settings: ZooKeeperSettings, connect: str, negotiated: Callable[[float], None], log: logging.Logger
) -> Client:
    """Return a client that is not started.

    :param connect: servers and chroot.
    :param negotiated: called in the connection thread with the session's time-out in seconds as the server
        has it, after each connection and before its first request.
    :param log: kazoo's log.
    """
    sasl = None
    if settings.credentials is not None:
        name, password = settings.credentials
        sasl = {"mechanism": "DIGEST-MD5", "username": name, "password": password}
    client = KazooClient(
        connect,
        timeout=settings.session_timeout_s,
        handler=InlineHandler(settings.tls, settings.hosts.count(",") + 1),
        sasl_options=sasl,
        logger=log,
        connection_retry={"max_tries": -1, "delay": 0.1, "max_delay": 2.0},
    )
    connection = client._connection
    plain = connection._connect

    def noted(*arguments: object) -> tuple[float, float]:
        """Connect, and note the time-out, which kazoo only logs; its read time-out is two thirds of it."""
        read_timeout_ms, connect_timeout_ms = plain(*arguments)
        negotiated(read_timeout_ms * 1.5 / 1000)
        return read_timeout_ms, connect_timeout_ms

    connection._connect = noted
    made: Client = client
    return made
