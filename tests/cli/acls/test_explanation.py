"""``kafkatx explain-access``: the decision, its reason, and the exit status."""

from __future__ import annotations

from tests.cli.acls.acl_case import AclCase


class ExplanationTests(AclCase):
    def explained(self, *arguments: str, code: int = 0) -> list[str]:
        """Return the lines of an explanation."""
        return self.printed("explain-access", *arguments, code=code).splitlines()

    def test_rules(self) -> None:
        """The ACL that decides is named."""
        self.assertEqual(
            self.explained("alice", "describe", "topic:orders"),
            [
                "allowed: User:alice may describe topic:orders",
                "because of the ACL: allow User:alice read on topic:orders",
            ],
        )
        self.assertEqual(
            self.explained("bob", "write", "topic:orders", code=1)[1],
            "because of the ACL: deny User:* write on prefixed topic:or",
        )

    def test_host(self) -> None:
        """An ACL for one host counts for that host alone."""
        self.explained("alice", "alter", "topic:orders", code=1)
        lines = self.explained("alice", "alter", "topic:orders", "--host", "192.0.2.7")
        self.assertEqual(lines[0], "allowed: User:alice from 192.0.2.7 may alter topic:orders")

    def test_without_rules(self) -> None:
        """The settings decide where no ACL does."""
        self.assertIn("=false", self.explained("alice", "read", "group:g", code=1)[1])
        self.cluster.settings["allow.everyone.if.no.acl.found"] = "true"
        self.assertIn("=true", self.explained("alice", "read", "group:g")[1])
        self.cluster.settings["super.users"] = "User:x;User:CN=a,O=b"
        self.assertIn("super user", self.explained("CN=a,O=b", "write", "topic:orders")[1])

    def test_authorizers(self) -> None:
        """Brokers without an authorizer allow everything; what learn allows is told."""
        self.cluster.settings["authorizer.class.name"] = "learn"
        self.assertIn("learn allows everything", self.explained("carol", "read", "topic:orders", code=1)[2])
        self.cluster.settings.clear()
        self.assertIn("no authorizer", self.explained("carol", "read", "topic:orders")[0])

    def test_wrong(self) -> None:
        """One operation is explained at a time."""
        self.explained("carol", "read,write", "topic:orders", code=2)
