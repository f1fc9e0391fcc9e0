"""A broker without a reactor, whose instructions can be counted; not imported, but run by its path.

    python in_process.py FOLDER NAME=MANYxSENDS...

asks the request of the file FOLDER/NAME once, and then so many of it at once so many times. All happens in
one thread and in one order: what must be done later is done at once, and a connection's socket is read when
it has something. Only names that a tree has had for long are imported from it: it may be an older one.

Prints a line of JSON: ``files``, the code that ran, and ``replies``, the first reply to each in hexadecimal
digits.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import sys
import termios
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import attrs
from twisted.internet.defer import Deferred, execute
from twisted.internet.tcp import Server
from twisted.internet.testing import MemoryReactorClock

import kafkatx.tap
from kafkatx.broker.dispatch import Dispatch
from kafkatx.broker.handlers import SERVED
from kafkatx.config import BrokerConfig
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.types import BrokerNode

if TYPE_CHECKING:
    from kafkatx.broker.broker import Broker
else:
    from kafkatx.broker.service import Broker  # an older tree has it here, too, but defines it elsewhere

TOPICS = ("produced", "fetched")
PATIENCE = 10_000
"""How often it is looked whether something has come."""
LIMITS: dict[str, Any] = {
    "max_request_bytes": 100 << 20,
    "max_queued_bytes": -1,
    "max_idle_ms": -1,
    "max_connections": 10,
    "max_connections_per_ip": 10,
}


def at_once(name: str) -> Callable[..., Any]:
    """Workers that work where they are called."""
    return execute


def result_of(started: Coroutine[Any, Any, Any] | Deferred[Any]) -> Any:
    """Return the result of a coroutine that never waits."""
    outcome: list[Any] = []
    done = started if isinstance(started, Deferred) else Deferred.fromCoroutine(started)
    done.addCallbacks(outcome.append, lambda failure: failure.raiseException())
    return outcome[0]


def make_broker(folder: str, clock: Any) -> Broker:
    """A broker with its logs in a folder, and the topics."""
    config = BrokerConfig.load(None, {"log.dirs": folder})
    parts = kafkatx.tap.installed_parts(config)
    coordinator = parts.metadata(config, at_once)
    store = parts.log_store(config, at_once, clock, parts.find_retention)
    now_ms = int(time.time() * 1000)
    broker = Broker(config, coordinator, store, clock, at_once, lambda: now_ms)
    broker.offered = {line.api.key: line.api.versions for line in SERVED}
    result_of(coordinator.start(BrokerNode(0, "127.0.0.1", 9092, None)))
    result_of(broker.open())
    result_of(broker.groups.open())
    commands: Any = getattr(broker, "topic_commands", broker.topics)  # the latter in older trees
    for topic in TOPICS:
        result_of(commands.create(topic, commands.plan(1, 1), {}))
    return broker


class Client:
    """A connection to a broker, read by hand at both ends."""

    def __init__(self, broker: Broker, clock: Any) -> None:
        known = {field.name for field in attrs.fields(Limits)}  # the base may have others
        limits = Limits(**{name: value for name, value in LIMITS.items() if name in known})
        factory = KafkaServerFactory(Dispatch(broker, SERVED), limits, clock)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self._socket = socket.create_connection(listening.getsockname())
            accepted, address = listening.accept()
        accepted.setblocking(False)
        protocol = factory.buildProtocol(None)
        self._accepted = accepted
        self._server = Server(accepted, protocol, address, None, 0, clock)  # type: ignore[arg-type]
        protocol.makeConnection(self._server)  # type: ignore[union-attr]
        self._clock = clock

    def ask(self, request: bytes) -> bytes:
        """Send a request; gives the reply, with its size."""
        self._socket.sendall(request)
        head = self._read(4)
        return head + self._read(*struct.unpack(">i", head))

    def send(self, requests: bytes, reply_bytes: int) -> None:
        """Send some requests, and take replies that are so large together."""
        self._socket.sendall(requests)
        _wait(self._accepted, len(requests))  # all in one read, always
        self._read(reply_bytes)

    def _read(self, size: int) -> bytes:
        """Take exactly so much; when there is nothing the server goes on."""
        data = bytearray()
        while len(data) < size:
            if not _waiting(self._socket):
                self._serve()
                _wait(self._socket, 1)
            data += self._socket.recv(size - len(data))
        return bytes(data)

    def _serve(self) -> None:
        """Run the calls that a reactor would make now."""
        self._clock.advance(0)
        if self._clock.getWriters():
            self._server.doWrite()
        if _waiting(self._accepted):
            self._server.doRead()


def _waiting(end: socket.socket) -> int:
    """Return how many bytes a socket has received."""
    answer = fcntl.ioctl(end, termios.FIONREAD, b"\0" * 4)
    return int(struct.unpack("i", answer)[0])


def _wait(end: socket.socket, size: int) -> None:
    """Wait until a socket has received so much; it has already, but for what the kernel does in between."""
    for _ in range(PATIENCE):
        if _waiting(end) >= size:
            return
    raise RuntimeError(f"{_waiting(end)} of {size} bytes have come")


def main(folder: str, *loads: str) -> None:
    """Run the loads."""
    clock = MemoryReactorClock()
    client = Client(make_broker(os.path.join(folder, "data"), clock), clock)
    replies = {}
    for name, counts in (load.split("=") for load in loads):
        many, sends = map(int, counts.split("x"))
        with open(os.path.join(folder, name), "rb") as file:
            request = file.read()
        reply = client.ask(request)
        replies[name] = reply[4:].hex()
        for _ in range(sends):
            client.send(request * many, len(reply) * many)
    print(json.dumps({"files": [kafkatx.tap.__file__], "replies": replies}))


if __name__ == "__main__":
    main(*sys.argv[1:])
