"""``kafkatx acls`` with the options of ``kafka-acls.sh``; the same ACLs as that tool makes."""

from __future__ import annotations

from tests.cli.acls.acl_case import LINES, AclCase


class KafkaOptionsTests(AclCase):
    def added(self, options: str) -> set[str]:
        """Return the ACLs that a command adds."""
        before = self.lines()
        self.printed("acls", *options.split())
        self.assertLessEqual(before, self.lines())
        return self.lines() - before

    def test_product(self) -> None:
        """Each operation on each resource, for each principal from each host."""
        options = "--add --allow-principal User:ann --allow-principal User:ben --allow-host 192.0.2.1"
        more = "--operation Read --operation DescribeConfigs --topic t --topic u --force"
        self.assertEqual(
            self.added(f"{options} {more}"),
            {
                f"User:{user} from 192.0.2.1 {operation} topic:{topic}"
                for user in ("ann", "ben")
                for operation in ("read", "describe-configs")
                for topic in ("t", "u")
            },
        )

    def test_kinds(self) -> None:
        """All operations unless some are named; prefixes, the cluster, groups, and denials."""
        options = "--add --deny-principal User:eve --deny-host 192.0.2.9 --allow-principal User:ann"
        more = "--group g- --transactional-id x --resource-pattern-type PREFIXED"
        self.assertEqual(
            self.added(f"{options} {more}"),
            {
                f"{who} all prefixed {resource}"
                for who in ("User:ann", "deny User:eve from 192.0.2.9")
                for resource in ("group:g-", "transactional-id:x")
            },
        )
        self.assertEqual(
            self.added("--add --allow-principal User:ann --operation ALTER --cluster"),
            {"User:ann alter cluster:kafka-cluster"},
        )

    def test_conveniences(self) -> None:
        """Producers and consumers get what Apache Kafka's tool gives them."""
        self.assertEqual(
            self.added(
                "--add --allow-principal User:p --producer --topic t --transactional-id x --idempotent"
            ),
            {
                *(f"User:p {one} topic:t" for one in ("write", "describe", "create")),
                *(f"User:p {one} transactional-id:x" for one in ("write", "describe")),
                "User:p idempotent-write cluster:kafka-cluster",
            },
        )
        self.assertEqual(
            self.added("--add --allow-principal User:c --consumer --topic t --group g"),
            {"User:c read topic:t", "User:c describe topic:t", "User:c read group:g"},
        )

    def listed(self, *options: str) -> int:
        """Return the number of ACLs that a command lists."""
        return len(self.printed("acls", "--list", *options).splitlines())

    def test_list(self) -> None:
        """A list is of exactly these names, or of all that match."""
        self.assertEqual(self.listed(), 4)
        self.assertEqual(self.listed("--topic", "orders"), 2)
        self.assertEqual(self.listed("--topic", "orders", "--resource-pattern-type", "match"), 4)
        self.assertEqual(self.listed("--topic", "or", "--resource-pattern-type", "any"), 1)
        self.assertEqual(self.listed("--topic", "orders", "--principal", "User:bob"), 0)
        self.assertEqual(self.listed("--principal", "User:bob", "--principal", "User:*"), 2)

    def test_remove(self) -> None:
        """A removal is of exactly the ACLs that the same options would add, or of all of a resource."""
        options = "--remove --allow-principal User:alice --topic orders --force"
        self.printed("acls", *options.split())
        self.assertEqual(self.lines(), set(LINES), "alice has no ACL for all operations")
        self.printed("acls", *options.split(), "--operation", "Read", "--operation", "Alter")
        self.assertEqual(self.lines(), set(LINES[1:]), "the other one is for one host")
        self.printed("acls", "--remove", "--topic", "orders", "--force")
        self.assertEqual(self.lines(), set(LINES[2:]))

    def test_wrong(self) -> None:
        """Half a request, and one in both ways, is refused, and changes nothing."""
        for line, advice in (
            ("--add --topic t", "--allow-principal or --deny-principal"),
            ("--add --allow-principal User:a", "name a resource"),
            ("--add --allow-principal User:a --topic t --resource-pattern-type match", "literal or prefixed"),
            ("--add --allow-principal User:a --producer --topic t --operation Read", "leave out --operation"),
            ("--add --allow-principal User:a --consumer --topic t", "--consumer needs --topic and --group"),
            ("--add --allow-principal User:a --topic t --operation Fly", "no such operation"),
            ("add a read topic:t --topic t", "either arguments or the options"),
            ("--remove --allow-principal User:a --force", "name a resource"),
            ("--remove --delegation-token t --force", "no delegation tokens"),
        ):
            self.printed("acls", *line.split(), code=2)
            self.assertIn(advice, " ".join(self.err.text().split()), line)
        self.assertEqual(self.lines(), set(LINES))
