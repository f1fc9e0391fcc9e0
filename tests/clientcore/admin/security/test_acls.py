"""Requests about ACLs, and values from replies."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import PatternType
from kafkatx.clientcore.admin.security import acls
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.security.acl.filters import AclFilter
from kafkatx.security.acl.lines import parse_line
from kafkatx.wire.messages.create_acls import AclCreation
from kafkatx.wire.messages.describe_acls import AclDescription, DescribeAclsResource, DescribeAclsResponse

DENY = parse_line("deny User:b from 192.0.2.7 all prefixed group:g")


class AclsTests(SynchronousTestCase):
    def test_requests(self) -> None:
        """Values become numbers."""
        (creation,) = acls.create_request([DENY]).creations
        self.assertEqual(creation, AclCreation(3, "g", 4, "User:b", "192.0.2.7", 2, 2))
        everything = acls.describe_request(acls.EVERYTHING)
        self.assertEqual(
            (
                everything.resource_type_filter,
                everything.resource_name_filter,
                everything.pattern_type_filter,
            ),
            (1, None, 1),
        )
        self.assertEqual(list(acls.exactly(DENY).matching({DENY.pattern: frozenset({DENY.entry})})), [DENY])

    def test_old_broker(self) -> None:
        """Version 0 has no types of patterns: it refuses prefixes and matches, and takes what is literal."""
        plain = parse_line("User:a read topic:t")
        literal = AclFilter(pattern_type=PatternType.LITERAL)
        for one in (
            acls.create_request([plain, DENY]),
            acls.delete_request([acls.exactly(plain), acls.exactly(DENY)]),
            acls.describe_request(acls.exactly(DENY)),
            acls.describe_request(AclFilter(pattern_type=PatternType.MATCH)),
        ):
            error = self.assertRaises(RequestError, acls.check_version, one, 0)
            self.assertEqual(error.code, ErrorCode.UNSUPPORTED_VERSION)
            acls.check_version(one, 1)
        for fine in (
            acls.create_request([plain]),
            acls.delete_request([acls.EVERYTHING, literal]),
            acls.describe_request(acls.EVERYTHING),
            acls.describe_request(literal),
        ):
            acls.check_version(fine, 0)

    def test_newer_broker(self) -> None:
        """ACLs about kinds of resources, or with operations, that are unknown here are left out."""
        entries = [AclDescription("User:b", "192.0.2.7", 2, 2), AclDescription("User:b", "*", 99, 3)]
        response = DescribeAclsResponse(
            resources=[DescribeAclsResource(3, "g", 4, entries), DescribeAclsResource(88, "x", 3, entries)]
        )
        self.assertEqual(acls.bindings(response), [DENY])
