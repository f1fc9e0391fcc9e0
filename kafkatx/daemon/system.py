"""The process and its system: messages to systemd, and the limit of open files.

systemd's messages (``Type=notify``) are datagrams to the socket ``NOTIFY_SOCKET``, see sd_notify(3).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from twisted.logger import Logger

READY = "READY=1"
STOPPING = "STOPPING=1"
FEW_FILES = 4096

_log = Logger()


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


def allow_open_files() -> None:
    """Raise the limit of open files as far as it goes: a shell's 1024 are few for logs and connections."""
    with suppress(ImportError, OSError, ValueError):  # no such limits here, or none that may be changed
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if 0 <= most < FEW_FILES:  # RLIM_INFINITY is -1
            _log.warn(
                "this process may open {most} files: half of them are for logs, which are closed and opened"
                " again where that is too few; raise it (ulimit -n) for many partitions or connections",
                most=most,
            )
