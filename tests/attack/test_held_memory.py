"""Requests that are nearly complete: the memory that many connections hold, before and after a login."""

from __future__ import annotations

import re
import struct
import time
from typing import ClassVar

from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.attack.case import FULL, AttackCase
from tests.integration.raw import RawClient

MIB = 1 << 20
CONNECTIONS = 40
REQUEST_BYTES = 32 * MIB if FULL else 2 * MIB
LOGINS = 600 if FULL else 30
TOKEN_BYTES = 500_000
SENDING_S = 30.0 if FULL else 2.0
PIECE_BYTES = 256 << 10

SMALL_BUFFERS = {"socket.receive.buffer.bytes": "131072"}
"""What waits in the kernel is not the broker's; with much of it the kernel slows all connections down."""


class Flood:
    """Clients that send as much of a request as the broker takes, and then drip its last bytes."""

    def __init__(self, clients: list[RawClient], data: bytes) -> None:
        self._left = {client: memoryview(data) for client in clients}

    def run(self, seconds: float) -> None:
        """Send for so many seconds, or until all is sent; go on dripping until then."""
        ends_s = time.monotonic() + seconds
        while time.monotonic() < ends_s:
            for client, left in list(self._left.items()):
                self._send(client, left)
            time.sleep(0.01)

    def _send(self, client: RawClient, left: memoryview) -> None:
        piece = left[:PIECE_BYTES] if len(left) > PIECE_BYTES else left[: 1 if len(left) > 1 else 0]
        try:
            sent = client.send_some(piece) if piece else 0
        except OSError:  # the broker has closed it
            del self._left[client]
            return
        self._left[client] = left[sent:]


class UnfinishedRequestTests(AttackCase):
    settings: ClassVar[dict[str, str]] = {
        "queued.max.request.bytes": str(64 * MIB if FULL else 4 * MIB),
        **SMALL_BUFFERS,
    }

    def test_last_byte_is_missing(self) -> None:
        """Forty connections send all of a large request but its end: they hold what the setting allows."""
        clients = [self.connect() for _ in range(CONNECTIONS)]
        with self.beside():
            Flood(clients, struct.pack(">i", REQUEST_BYTES) + bytes(REQUEST_BYTES - 1)).run(SENDING_S)


class HalfLoginTests(AttackCase):
    settings: ClassVar[dict[str, str]] = {
        "listeners": "PLAINTEXT://127.0.0.1:0,LOGIN://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        **SMALL_BUFFERS,
        "listener.name.login.plain.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required user_a='b';"
        ),
        "kafkatx.unauthenticated.connections.max.per.ip": "2000",
    }

    def test_half_tokens(self) -> None:
        """Six hundred logins send half a token of the largest size each."""
        found = re.search("SaslFactory starting on ([0-9]+)", self.broker.log.text())
        assert found is not None
        clients = [self.connect(f"127.0.0.1:{found[1]}") for _ in range(LOGINS)]
        for client in clients:
            client.ask(17, 1, SaslHandshakeRequest("PLAIN"))
        with self.beside():
            Flood(clients, struct.pack(">i", TOKEN_BYTES) + bytes(TOKEN_BYTES - 100)).run(SENDING_S / 4)
