"""A port that several processes listen at together (SO_REUSEPORT): the system gives each connection to one.

All of them must belong to one user. A process that stops closes it first: the system gives no connection to
it from then on.
"""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet.interfaces import IListeningPort, IProtocolFactory

from kafkatx.errors import SettingError

BACKLOG = 1024


def reserve_port(host: str, port: int) -> socket.socket:
    """Return a socket that keeps a port for this user's processes, and gets no connections.

    :param host: an address or a name; empty for every interface.
    :param port: 0 for any free port: ``getsockname()[1]`` of the socket tells it.
    :raises SettingError: the port cannot be used, or this system cannot share ports.
    """
    if not hasattr(socket, "SO_REUSEPORT"):
        raise SettingError("processes cannot share a port on this system: start one broker")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    reserved = socket.socket(family, socket.SOCK_STREAM)
    try:
        reserved.setblocking(False)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(("127.0.0.1" if host == "localhost" else host, port))
    except OSError as error:
        reserved.close()
        raise SettingError(
            f"port {port} of {host or 'every interface'}: cannot listen there: {error};"
            " stop what uses the port, or choose another"
        ) from None
    return reserved


def listen_shared(reactor: Any, host: str, port: int, factory: IProtocolFactory) -> IListeningPort:
    """Listen at a port together with other processes.

    :raises SettingError: as :func:`reserve_port`.
    """
    with reserve_port(host, port) as made:
        made.listen(BACKLOG)
        listening: IListeningPort = reactor.adoptStreamPort(made.fileno(), made.family, factory)
        return listening
