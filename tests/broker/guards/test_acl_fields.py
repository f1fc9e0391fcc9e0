"""ACLs and filters as requests have them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import AclOperation, AclPermission, PatternType, ResourceType
from kafkatx.broker.guards.acl_fields import read_creation, read_filter, said_once
from kafkatx.errors import RequestError
from kafkatx.security.acl.filters import AclFilter
from kafkatx.wire.messages.create_acls import AclCreation, AclCreationResult
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest


class FieldsTests(SynchronousTestCase):
    def test_filter(self) -> None:
        """Numbers are values of enumerations, null stays null; a number without a value is an error."""
        self.assertEqual(read_filter(DescribeAclsRequest(1, None, 1, None, None, 1, 1)), AclFilter())
        found = read_filter(DescribeAclsRequest(2, "t", 2, "User:a", "h", 3, 2))
        self.assertEqual(
            found,
            AclFilter(
                ResourceType.TOPIC,
                "t",
                PatternType.MATCH,
                "User:a",
                "h",
                AclOperation.READ,
                AclPermission.DENY,
            ),
        )
        for numbers in ((0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 16, 1), (1, 1, 1, 4), (-1, 1, 1, 1)):
            kind, pattern, operation, permission = numbers
            asked = DescribeAclsRequest(kind, None, pattern, None, None, operation, permission)
            self.assertRaises(RequestError, read_filter, asked)

    def test_creation(self) -> None:
        """A principal may have colons and line breaks in its name; names have a longest size in bytes."""
        found = read_creation(AclCreation(2, "ä" * 500, 4, "User:a:b\nc", "h", 2, 3))
        self.assertEqual((found.entry.principal, found.pattern.name), ("User:a:b\nc", "ä" * 500))
        self.assertRaises(RequestError, read_creation, AclCreation(2, "ä" * 501, 4, "User:a", "h", 2, 3))


class SaidOnceTests(SynchronousTestCase):
    def test_said_once(self) -> None:
        """A message is said with its first result; codes stay, and other messages, too."""
        results = [AclCreationResult(42, text) for text in ("a", "a", None, "b", "a", "b")]
        told = [(one.error_code, one.error_message) for one in said_once(results)]
        self.assertEqual(told, [(42, text) for text in ("a", None, None, "b", None, None)])
