"""Messages to systemd (``Type=notify``): datagrams to the socket ``NOTIFY_SOCKET``, see sd_notify(3)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(message: str, environment: Mapping[str, str] = os.environ) -> None:
    """Send *message*; do nothing where systemd does not wait for it. Never blocks, never fails."""
    path = environment.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    if path.startswith("@"):
        path = "\0" + path[1:]  # Linux's abstract sockets
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(message.encode(), path)
