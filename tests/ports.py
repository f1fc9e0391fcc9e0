"""Ports for brokers that are killed, and must come back where they were."""

from __future__ import annotations

import random
import socket

LOW, HIGH = 12_000, 32_000
"""Below those that outgoing connections get: one of these might take it while the broker is gone."""


def free_port() -> int:
    """A port that was free a moment ago."""
    while True:
        port = random.randrange(LOW, HIGH)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
