"""Wrong passwords from one address, many at once, at a listener with SASL and at the HTTP listener."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import ClassVar

from kafkatx.errors import ErrorCode
from kafkatx.security.passwords import format_users, hash_password
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.attack.case import FULL, SLOWEST_S, AttackCase
from tests.attack.wrong_passwords import get
from tests.integration.raw import RawClient
from tests.measured import check_below

ATTACKERS = 450 if FULL else 20
RIGHT_LOGINS = 10 if FULL else 2
HONEST = "127.0.0.3"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class WrongPasswordTests(AttackCase):
    settings: ClassVar[dict[str, str]] = {
        "listeners": "PLAINTEXT://127.0.0.1:0,LOGIN://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "kafkatx.plain.checkers": "file",
        "http.listeners": "HTTP://127.0.0.1:0",
        "kafkatx.http.authentication": "basic",
        "kafkatx.unauthenticated.connections.max.per.ip": "2000",
    }

    def setUp(self) -> None:
        """Start a broker with users in a file."""
        folder = self.mktemp()
        os.makedirs(folder)
        path = os.path.join(os.path.abspath(folder), "users")
        users = [f"honest{number}" for number in range(3 * RIGHT_LOGINS)]
        with open(path, "w", encoding="utf-8") as file:
            file.write(format_users({user: hash_password("right") for user in users}))
        self.settings = {**type(self).settings, "kafkatx.users.file": path}  # type: ignore[misc]
        self.users = iter(users)
        super().setUp()
        found = re.search("SaslFactory starting on ([0-9]+)", self.broker.log.text())
        assert found is not None
        self.sasl = f"127.0.0.1:{found[1]}"

    def attack(self, kind: str, address: str) -> subprocess.Popen[str]:
        """Try wrong passwords from a process of its own, until it is stopped."""
        command = [sys.executable, "-m", "tests.attack.wrong_passwords", kind, address, str(ATTACKERS)]
        attack = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd=ROOT)
        self.addCleanup(attack.communicate, "")
        return attack

    def log_in(self) -> float:
        """Log another user in by SASL, from another address; return the seconds."""
        started_s = time.perf_counter()
        with RawClient(self.sasl, HONEST) as client:
            client.ask(17, 1, SaslHandshakeRequest("PLAIN"))
            token = b"\0" + next(self.users).encode() + b"\0right"
            response = client.ask(36, 2, SaslAuthenticateRequest(token))
        self.assertEqual(ErrorCode.of(response.error_code), ErrorCode.NONE)
        return time.perf_counter() - started_s

    def get_rightly(self) -> float:
        """Send a request by HTTP with a right password, from another address; return the seconds."""
        started_s = time.perf_counter()
        self.assertEqual(get(self.broker.http.partition("//")[2], next(self.users), "right", HONEST), 200)
        return time.perf_counter() - started_s

    def test_sasl_and_http(self) -> None:
        """Right logins of another address, by SASL and by HTTP, are answered at once beside wrong ones."""
        self.get_rightly()  # the registry is made
        for kind, address in (("sasl", self.sasl), ("http", self.broker.http.partition("//")[2])):
            attack = self.attack(kind, address)
            self.check_right(f"beside wrong passwords by {kind}")
            attack.communicate("")

    def check_right(self, what: str) -> None:
        """Log in rightly some times, and check the slowest."""
        with self.beside():
            time.sleep(1.0)
            slowest_s = max(
                one() for _ in range(RIGHT_LOGINS // 2) for one in (self.log_in, self.get_rightly)
            )
        check_below(self, slowest_s, SLOWEST_S, f"seconds of the slowest right login {what}")
