"""Ports for brokers that are killed, and must come back where they were.

A port is reserved until the process ends, by a lock on one byte of a file that all tests of a user share:
tests that run side by side do not get the same one before they listen there.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from functools import lru_cache

LOW, HIGH = 12_000, 32_000
"""Below those that outgoing connections get: one of these might take it while the broker is gone."""

_reserved: set[int] = set()
"""Those of this process, whose own locks would not keep it from one."""


@lru_cache(maxsize=1)
def _locks() -> int:
    path = os.path.join(tempfile.gettempdir(), f"kafkatx-test-ports-{os.getuid()}")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _reserve(port: int) -> bool:
    if port in _reserved:
        return False
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:  # another process has it
        return False
    _reserved.add(port)
    return True


def free_port() -> int:
    """Return a port that was free a moment ago, and that no other test gets."""
    while True:
        port = random.randrange(LOW, HIGH)
        if not _reserve(port):
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
