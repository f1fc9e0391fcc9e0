"""``kafkatx acls``: what is shown is what is changed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.acls.acl_case import LINES, AclCase

ORDERS = "User:alice\t*\tallow\tread\tliteral\ttopic:orders\n"


class ListTests(AclCase):
    def test_about(self) -> None:
        """ACLs that are about a resource are listed, those of prefixes and of * as well."""
        self.assertEqual(len(self.printed("acls", "list").splitlines()), 4)
        self.assertEqual(len(self.printed("acls", "list", "topic:orders").splitlines()), 4)
        self.assertEqual(
            self.printed("acls", "list", "topic:x"), "User:bob\t*\tallow\tall\tliteral\ttopic:*\n"
        )
        found = self.printed("acls", "list", "topic:orders", "--principal", "alice")
        self.assertIn(ORDERS, found)
        self.assertIn("User:alice\t192.0.2.7\tallow\talter\tliteral\ttopic:orders\n", found)

    def test_forms(self) -> None:
        """A list may be JSON, have a header, or be a table for a person."""
        lines = self.printed("acls", "list", "--principal", "User:*", "--json").splitlines()
        self.assertEqual(
            [json.loads(line) for line in lines],
            [
                {
                    "principal": "User:*",
                    "host": "*",
                    "permission": "deny",
                    "operation": "write",
                    "pattern": "prefixed",
                    "resource": "topic:or",
                }
            ],
        )
        self.assertTrue(self.printed("acls", "list", "--header").startswith("principal\thost\tpermission\t"))
        self.assertIn("prefixed", self.printed("acls", "list", tty=True))
        self.printed("acls", "list", "group:g", tty=True)
        self.assertIn("there are no such ACLs", self.err.text())


class AddTests(AclCase):
    def test_several(self) -> None:
        """Each operation is an ACL; a dry run adds none."""
        command = ("acls", "add", "CN=c,O=x", "read,DESCRIBE_CONFIGS", "group:g 1", "--host", "192.0.2.1")
        before = self.lines()
        self.printed(*command, "--dry-run")
        self.assertEqual(self.lines(), before)
        self.printed(*command)
        self.assertEqual(
            self.lines() - before,
            {
                "User:CN=c,O=x from 192.0.2.1 read group:g 1",
                "User:CN=c,O=x from 192.0.2.1 describe-configs group:g 1",
            },
        )
        self.assertIn("2 ACLs added", self.err.text())

    def test_deny_prefix(self) -> None:
        """A prefix, a denial, and the cluster, which needs no name."""
        before = self.lines()
        self.printed("acls", "add", "User:*", "all", "topic:secret-", "--prefixed", "--deny")
        self.printed("acls", "add", "ann", "alter", "cluster")
        self.assertEqual(
            self.lines() - before,
            {"deny User:* all prefixed topic:secret-", "User:ann alter cluster:kafka-cluster"},
        )

    def test_file(self) -> None:
        """A file has a line for each; a wrong one adds nothing."""
        path = Path(self.mktemp())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# learned\nUser:c read topic:t\n\ndeny User:d all prefixed topic:u\n")
        before = self.lines()
        self.printed("acls", "add", "--from", str(path))
        self.assertEqual(self.lines() - before, {"User:c read topic:t", "deny User:d all prefixed topic:u"})
        path.write_text("User:e read topic:t\nnonsense\n")
        self.printed("acls", "add", "--from", str(path), code=1)
        self.assertNotIn("User:e read topic:t", self.lines())

    def test_wrong(self) -> None:
        """Unknown words, and too few of them, are told."""
        for arguments, text in (
            (("a", "fly", "topic:t"), "no such operation"),
            (("a", "read"), "give PRINCIPAL"),
            (("a", "read", "topic:t", "--from", "x"), "either one ACL or --from"),
        ):
            self.printed("acls", "add", *arguments, code=2)
            self.assertIn(text, self.err.text())
        self.printed("acls", "add", "a", "read", "thing:t", code=1)
        self.assertIn("a resource is TYPE:NAME", self.err.text())


class RemoveTests(AclCase):
    def test_dry_run(self) -> None:
        """A dry run shows what a removal matches, and removes nothing."""
        self.assertEqual(self.printed("acls", "remove", "topic:*", "--dry-run").count("\n"), 1)
        self.assertIn("1 ACL would be", self.err.text())
        self.assertEqual(self.lines(), set(LINES))

    def test_exactly(self) -> None:
        """A removal removes what was shown: patterns of this name and kind."""
        self.printed("acls", "remove", "topic:or", "--yes")
        self.assertEqual(self.lines(), set(LINES))
        self.assertIn("there are no such ACLs", self.err.text())
        self.printed("acls", "remove", "topic:or", "--prefixed", "--yes")
        self.assertEqual(self.lines(), set(LINES) - {LINES[2]})
        self.printed("acls", "remove", "topic:orders", "--operation", "alter", "--host", "192.0.2.7", "--yes")
        self.assertEqual(self.lines(), {LINES[0], LINES[3]})
        self.printed("acls", "remove", "--principal", "alice", "--principal", "carol", "--yes")
        self.assertEqual(self.lines(), {LINES[3]})

    def test_operations(self) -> None:
        """Several operations are removed together, and no others."""
        self.printed("acls", "remove", "topic:orders", "--operation", "alter,write", "--dry-run")
        self.assertIn("1 ACL would be", self.err.text())
        self.printed("acls", "remove", "topic:orders", "--operation", "alter", "--operation", "READ", "--yes")
        self.assertEqual(self.lines(), {LINES[2], LINES[3]})

    def test_confirmation(self) -> None:
        """Without --yes, and without a terminal, nothing is removed."""
        self.printed("acls", "remove", "topic:orders", code=2)
        self.assertEqual(self.lines(), set(LINES))

    def test_wrong(self) -> None:
        """A removal of everything has to be asked for by principals or resources."""
        self.printed("acls", "remove", "--yes", code=2)
        self.printed("acls", "remove", "topic:t", "--operation", "read,fly", code=2)
        self.assertIn("no such operation", self.err.text())
