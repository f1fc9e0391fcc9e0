"""The Unix socket of a local tree's server. Only the owner of the server's process can connect."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import ExitStack, suppress
from typing import Any

from twisted.internet import tcp, unix
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.error import CannotListenError
from twisted.python.failure import Failure

from kafkatx.errors import SettingError
from kafkatx.interfaces.workers import Worker
from kafkatx.metadata.tree.local.connection import Connections
from kafkatx.metadata.tree.local.process_end import peer_process
from kafkatx.metadata.tree.local.server import TreeServer
from kafkatx.metadata.tree.local.socket_path import short_path

PRIVATE = 0o600


class _Port(unix.Port):
    """A listening socket whose file may be gone when it is closed: Twisted's own would wait for ever."""

    def connectionLost(self, reason: Failure) -> None:
        with suppress(OSError):
            os.unlink(self._bindPath)
        tcp.Port.connectionLost(self, reason)


class TreeListener:
    """A server and its socket.

    :param path: path of the socket; what a dead server left there is replaced.
    :param reactor: a Twisted reactor; its clock runs the time-outs.
    :ivar server: serves the connections.
    """

    def __init__(self, file: str, path: str, reactor: Any, worker: Worker) -> None:
        self.server = TreeServer(file, reactor, worker)
        self._path = path
        self._reactor = reactor
        self._connections = Connections(path, self.server, reactor, reactor)
        self._port: _Port | None = None
        self._open = ExitStack()

    def start(self) -> Deferred[None]:
        """Open the file, then listen.

        :return: fires with None; fails with SettingError if the file cannot be opened, or another process
            listens at the socket.
        """
        return self.server.start().addCallback(lambda _: self._listen()).addErrback(self._give_up)

    def stop(self) -> Deferred[None]:
        """Close the socket, then the connections and the file."""
        port, self._port = self._port, None
        closed = succeed(None) if port is None else maybeDeferred(port.stopListening)

        def stop_server(_: object) -> Deferred[None]:
            self._open.close()
            return self.server.stop()

        return closed.addCallback(stop_server)

    def _listen(self) -> None:
        try:
            path = self._open.enter_context(short_path(self._path))
            _remove_stale(path, self._path)
            port = _Port(os.fsencode(path), self._connections, mode=PRIVATE, reactor=self._reactor)
            port.startListening()
        except (OSError, CannotListenError) as error:
            raise SettingError(f"{self._path}: cannot listen there: {error}") from None
        self._port = port

    def _give_up(self, failure: Failure) -> Deferred[None]:
        return self.stop().addCallback(lambda _: failure)


def _remove_stale(path: str, shown: str) -> None:
    """Remove the socket of a server that has ended.

    :raises SettingError: a server listens there, or it is no socket.
    :raises OSError: it cannot be removed.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise SettingError(f"{shown}: this is no socket; move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:  # its queue is full
            pid = None
        else:
            pid = peer_process(probe)
    by = "another process" if pid is None else f"process {pid}"
    raise SettingError(f"{shown}: {by} serves the cluster there; stop it or choose another directory")
