"""Users with passwords."""

from __future__ import annotations

import json

from kafkatx.security.sasl.credential import MAX_ITERATIONS
from tests.broker.console.case import ConsoleCase


class UsersTests(ConsoleCase):
    def test_changes(self) -> None:
        """A password is set for a mechanism, and deleted; no answer, log or audit has it."""
        for mechanism, iterations in (("SCRAM-SHA-256", 4096), ("SCRAM-SHA-512", 8192)):
            body = {"mechanism": mechanism, "password": "geheim", "iterations": iterations}
            self.change("PUT", "/users/a%2Fb", body)
        found = self.get("/users")
        self.assertEqual(
            found["items"],
            [
                {
                    "name": "a/b",
                    "mechanisms": [
                        {"mechanism": "SCRAM-SHA-256", "iterations": 4096},
                        {"mechanism": "SCRAM-SHA-512", "iterations": 8192},
                    ],
                }
            ],
        )
        self.change("DELETE", "/users/a%2Fb?mechanism=SCRAM-SHA-256")
        (user,) = self.get("/users?search=A")["items"]
        self.assertEqual([one["mechanism"] for one in user["mechanisms"]], ["SCRAM-SHA-512"])
        told = json.dumps(self.get("/actions"))
        self.assertIn("user a/b (SCRAM-SHA-512)", told)
        self.assertNotIn("geheim", told)

    def test_wrong(self) -> None:
        """Unknown mechanisms, missing passwords and impossible numbers are refused."""
        for body in (
            {"mechanism": "PLAIN", "password": "x"},
            {"password": ""},
            {"password": "x" * 5000},
            {"password": "x", "iterations": MAX_ITERATIONS + 1},
            {"password": "x", "iterations": 1},
            {},
        ):
            self.refused(self.change("PUT", "/users/ann", body, 400))
        self.refused(self.change("DELETE", "/users/ann?mechanism=", None, 400))
        self.refused(self.change("DELETE", "/users/ann?mechanism=SCRAM-SHA-256", None, 404))
        self.assertEqual(self.get("/users")["total"], 0)
