"""Bytes that are no request at all, and connections that come and go."""

from __future__ import annotations

import os
import struct

from tests.attack.case import FULL, AttackCase

CONNECTIONS = 2000 if FULL else 100


class GarbageTests(AttackCase):
    def test_random_bytes(self) -> None:
        """Connections that send random frames cost themselves only."""
        with self.beside():
            for _ in range(CONNECTIONS):
                client = self.connect()
                client.send(struct.pack(">i", 1000) + os.urandom(1000))
                self.assertTrue(client.closed())
                client.__exit__()
