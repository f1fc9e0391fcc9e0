"""A broker of some tree, and a connection to it."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.broker_process import free_port, kafkatx_command
from benchmarks.compare.process import Server
from benchmarks.compare.systems.kafka_topics import create_topic
from benchmarks.compare.systems.system import START_S, log_path, serves_kafka
from benchmarks.guard.loads import API_VERSIONS, FETCHED, PRODUCED, Load, filling, is_success
from kafkatx.errors import KafkaTXError

PATIENCE_S = 60.0
SAYS_WHERE = """
import kafkatx.tap, twisted.plugins.kafkatx_plugin as plugin
print("code:", kafkatx.tap.__file__, plugin.__file__, flush=True)
"""
"""Imports what twistd is about to, so that it takes these, and says where they are from."""


class WrongTree(Exception):
    """Another tree's code runs than the one that is to be measured."""


class CannotRun(Exception):
    """A tree's broker does not run, or not as it should.

    :ivar name: which tree's.
    """

    def __init__(self, name: str, why: object) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Blame a tree's broker for failures inside of the block.

    :raises CannotRun: it failed.
    """
    try:
        yield
    except (RuntimeError, OSError, KafkaTXError) as error:
        raise CannotRun(name, error) from error


def environment(tree: str) -> dict[str, str]:
    """Return the environment in which Python imports a tree's packages before installed ones."""
    return {"PYTHONPATH": tree, "PYTHONHASHSEED": "0"}


def check_tree(paths: list[str], tree: str) -> None:
    """See that files are from a tree.

    :raises WrongTree: one is not.
    """
    inside = os.path.join(os.path.realpath(tree), "")
    for path in paths or ["nothing"]:
        if not os.path.realpath(path).startswith(inside):
            raise WrongTree(f"{path} runs, and not what is in {tree}")


@contextmanager
def broker(tree: str, folder: str, core: int | None) -> Iterator[Broker]:
    """A broker that runs a tree's code, with the topics of the loads.

    :raises RuntimeError: it cannot be started.
    :raises WrongTree: it runs other code.
    """
    port = free_port()
    python, option, program, *arguments = kafkatx_command(os.path.join(folder, "data"), port)
    command = [python, option, SAYS_WHERE + program, *arguments]
    with Server(command, log_path(folder), core, environment(tree), tree) as server:
        server.wait_for(serves_kafka(port), START_S)
        with open(log_path(folder), encoding="utf-8") as log:
            check_tree(next((line.split()[1:] for line in log if line.startswith("code:")), []), tree)
        for topic in (PRODUCED, FETCHED):
            create_topic(port, topic, 1)
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            made = Broker(server, connection)
            made.run(filling())
            yield made


class Broker:
    """A broker under load."""

    def __init__(self, server: Server, connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        self._room = memoryview(bytearray(1 << 20))
        self._reply_bytes: dict[str, int] = {}

    def run(self, load: Load) -> float:
        """Run one round; gives microseconds of CPU for each request.

        :raises RuntimeError: requests are answered with errors, or the connection is closed.
        :raises TimeoutError: they are not answered.
        """
        if load.answered and load.name not in self._reply_bytes:
            self._reply_bytes[load.name] = 4 + len(self._asked(load))
        requests = load.request * load.a_send
        before_ns = self._server.cpu_ns()
        for _ in range(load.sends):
            self._connection.sendall(requests)
            if load.answered:
                self._skip(load.a_send * self._reply_bytes[load.name])
        if not load.answered:
            self._ask(API_VERSIONS)
        return (self._server.cpu_ns() - before_ns) / load.requests / 1e3

    def _asked(self, load: Load) -> bytes:
        reply = self._ask(load.request)
        if not is_success(load.request, reply):
            raise RuntimeError(f"{load.name}: answered with an error")
        return reply

    def _ask(self, request: bytes) -> bytes:
        self._connection.sendall(request)
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._connection.recv(size - len(data))
            if not piece:
                raise RuntimeError("the broker has closed the connection")
            data += piece
        return bytes(data)

    def _skip(self, left: int) -> None:
        """Take replies whose sizes are known."""
        while left:
            taken = self._connection.recv_into(self._room, min(left, len(self._room)))
            if not taken:
                raise RuntimeError("the broker has closed the connection")
            left -= taken
