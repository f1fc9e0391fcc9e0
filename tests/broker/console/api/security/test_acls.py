"""Access control lists."""

from __future__ import annotations

from typing import Any

from kafkatx.net.requests import Session
from tests.broker.authorization.authorized import ADMIN
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.case import ConsoleCase

ACL = {
    "resourceType": "TOPIC",
    "resourceName": "a<b>",
    "patternType": "PREFIXED",
    "principal": "User:bob",
    "host": "*",
    "operation": "READ",
    "permission": "DENY",
}


class AclsTests(AuthorizedConsoleCase):
    session = Session(ADMIN)

    def items(self, query: str = "") -> list[Any]:
        """Return the ACLs."""
        found: list[Any] = self.get(f"/acls{query}")["items"]
        return found

    def test_changes(self) -> None:
        """An ACL is added, found, and removed again, that one alone."""
        other = {**ACL, "operation": "WRITE"}
        for one in (ACL, other):
            self.change("POST", "/acls", one)
        self.assertEqual(self.items("?sort=operation"), [ACL, other])
        self.assertTrue(self.get("/acls")["authorizer"])
        self.assertEqual(self.items("?search=bob+topic+a%3Cb%3E+write"), [other])
        self.change("DELETE", "/acls", ACL)
        self.assertEqual(self.items(), [other])
        self.assertEqual(self.refused(self.change("DELETE", "/acls", ACL, 404)), "RESOURCE_NOT_FOUND")
        told = [one["resource"] for one in self.get("/actions")["items"] if one["result"] == "done"]
        self.assertIn("deny User:bob Read on prefixed Topic:a<b>".lower(), [one.lower() for one in told])

    def test_wrong(self) -> None:
        """Fields that are missing or unknown are refused; nothing is added."""
        for key, value in (
            ("resourceType", "ANY"),
            ("resourceType", "THING"),
            ("patternType", "MATCH"),
            ("operation", "read"),
            ("permission", ""),
            ("principal", 5),
            ("principal", "bob"),
            ("resourceName", ""),
        ):
            self.refused(self.change("POST", "/acls", {**ACL, key: value}, 400))
        self.assertEqual(self.items(), [])


class WithoutAuthorizerTests(ConsoleCase):
    def test_disabled(self) -> None:
        """A broker without an authorizer says that it has none."""
        self.assertEqual(self.get("/acls"), {"total": 0, "items": [], "authorizer": False})
        self.assertEqual(self.refused(self.change("POST", "/acls", ACL, 400)), "SECURITY_DISABLED")
