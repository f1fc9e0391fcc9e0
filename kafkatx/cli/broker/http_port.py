"""The HTTP listener of ``kafkatx up`` where no setting says anything of it."""

from __future__ import annotations

import socket

from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import bracketed
from kafkatx.config.table import network as n

HOST = "127.0.0.1"
PORT = 8081
"""The customary port of schema registries."""


def default_listeners(config: BrokerConfig, port: int = PORT) -> list[tuple[str, str]]:
    """Return the setting of a listener on this machine alone; nothing if ``http.listeners`` is set.

    :param port: the port, unless another program uses it: then it is any free one.
    """
    if config.used_name(n.HTTP_LISTENERS) is not None:
        return []
    return [(n.HTTP_LISTENERS.name, f"HTTP://{HOST}:{_free(port)}")]


def _free(port: int) -> int:
    for wanted in (port, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, wanted))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    return port  # the broker will say why it cannot listen


def address(config: BrokerConfig) -> str | None:
    """Return the URL of the listener for programs on this machine; None if it has no fixed port."""
    for listener in config.http_listeners():
        if listener.port:
            host = HOST if listener.host in ("", "0.0.0.0", "::", "localhost") else listener.host
            return f"http://{bracketed(host)}:{listener.port}"
    return None
