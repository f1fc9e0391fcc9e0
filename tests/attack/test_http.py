"""Connections and schemas by which one client of the HTTP listener could keep others out."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from typing import ClassVar

from tests.attack.case import FULL, SLOWEST_S, AttackCase
from tests.measured import check_below

IDLE = 1500 if FULL else 30
MOST = "1000" if FULL else "20"
SLOW_SCHEMAS = 12 if FULL else 3
ATTACKER, HONEST = "127.0.0.2", "127.0.0.3"


def slow_schema(number: int) -> str:
    """Return a schema that takes seconds to inspect: records that refer to each other, level after level."""
    fields = [{"name": f"f{each}", "type": "string", "default": "x" * 50} for each in range(4000)]
    return json.dumps({"type": "record", "name": f"R{number}", "fields": fields})


class HttpTests(AttackCase):
    settings: ClassVar[dict[str, str]] = {
        "http.listeners": "HTTP://127.0.0.1:0",
        "kafkatx.http.max.connections": MOST,
    }

    def setUp(self) -> None:
        """Start a broker."""
        super().setUp()
        self.address = self.broker.http.partition("//")[2]

    def get(self, path: str, source: str = HONEST, body: object = None) -> float:
        """Send a request, which has to succeed; return the seconds until its answer."""
        started_s = time.perf_counter()
        connection = http.client.HTTPConnection(self.address, timeout=30, source_address=(source, 0))
        try:
            data = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"}
            connection.request("GET" if data is None else "POST", path, data, headers)
            self.assertEqual(connection.getresponse().status, 200)
        finally:
            connection.close()
        return time.perf_counter() - started_s

    def test_idle_connections(self) -> None:
        """Idle connections, more than there may be, do not shut the health checks."""
        self.get("/health/live")
        host, _, port = self.address.partition(":")
        with self.beside():
            for _ in range(IDLE):
                idle = socket.create_connection((host, int(port)), 30, (ATTACKER, 0))
                self.addCleanup(idle.close)
            slowest_s = max(
                self.get("/health/live", source) for source in (HONEST, ATTACKER) for _ in range(5)
            )
        check_below(self, slowest_s, SLOWEST_S, "seconds of the slowest health check")

    def test_slow_schemas(self) -> None:
        """Schemas that take long, whose clients leave, keep no other client from its schema."""
        for number in range(2):
            body = {"schema": json.dumps("string" if number else "int")}
            self.get(f"/subjects/warm{number}/versions", body=body)
        ended = threading.Event()

        def attack(number: int) -> None:
            while not ended.wait(0.05):
                connection = http.client.HTTPConnection(self.address, timeout=2, source_address=(ATTACKER, 0))
                try:
                    connection.request(
                        "POST",
                        f"/compatibility/subjects/slow{number}/versions",
                        json.dumps({"schema": slow_schema(number)}),
                        {"Content-Type": "application/json"},
                    )
                    connection.getresponse()
                except OSError:
                    pass
                finally:
                    connection.close()

        for number in range(SLOW_SCHEMAS):
            threading.Thread(target=attack, args=(number,), daemon=True).start()
        try:
            with self.beside():
                time.sleep(1.0)
                slowest_s = max(
                    self.get(f"/subjects/s{number}/versions", body={"schema": '"string"'})
                    for number in range(5)
                )
        finally:
            ended.set()
        check_below(self, slowest_s, SLOWEST_S, "seconds of the slowest registration")
