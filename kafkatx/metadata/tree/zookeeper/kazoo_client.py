"""The part of kazoo that the bridge uses, typed, and clients made so that they keep ZooKeeper's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import Callback, WatchedEvent

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

    def ensure_path(self, path: str) -> object:
        """Create a node and its parents if they are missing."""

    def exists_async(self, path: str, watch: Watcher | None) -> Result:
        """Return a stat or None."""

    def get_async(self, path: str, watch: Watcher | None) -> Result:
        """Return data and stat."""

    def get_children_async(self, path: str, watch: Watcher | None) -> Result:
        """Return names."""

    def sync_async(self, path: str) -> Result:
        """Return when the server has caught up with the leader."""

    def transaction(self) -> Transaction:
        """Return an empty multi."""


class InlineHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """A handler without threads: results and watch events are called in the connection thread.

    kazoo's own has one thread for results and one for watch events, so that a watch may come after the reply
    that shows its change. Callbacks must not block: ours only hand over to the reactor. A handler that is not
    ``running`` makes kazoo call the callbacks of results at once.
    """

    def start(self) -> None:
        """Start no threads."""

    def stop(self) -> None:
        """Stop no threads."""

    def dispatch_callback(self, callback: Callback) -> None:
        """Call a watch."""
        callback.func(*callback.args)


def make_client(settings: ZooKeeperSettings, connect: str, negotiated: Callable[[float], None]) -> Client:
    """Return a client that is not started.

    :param connect: servers and chroot.
    :param negotiated: called in the connection thread with the session's time-out in seconds as the server
        has it, after each connection and before its first request.
    """
    client = KazooClient(
        connect,
        timeout=settings.session_timeout_s,
        handler=InlineHandler(),
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
