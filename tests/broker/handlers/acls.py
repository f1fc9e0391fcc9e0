"""Requests about ACLs, and what they answer."""

from __future__ import annotations

from typing import Any

from kafkatx.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkatx.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest
from tests.broker.authorization.authorized import ADMIN, AuthorizedTestCase

ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
TOPIC, CLUSTER = 2, 4
READ, WRITE = 3, 4
DENY, ALLOW = 2, 3
ALL = (ANY, None, ANY, None, None, ANY, ANY)
"""The filter that matches everything."""

Row = tuple[int, str, int, str, str, int, int]
ORDERS: Row = (TOPIC, "orders", LITERAL, "User:alice", "*", READ, ALLOW)
PREFIX: Row = (TOPIC, "or", PREFIXED, "User:alice", "192.0.2.7", WRITE, DENY)
EVERY: Row = (TOPIC, "*", LITERAL, "User:*", "*", READ, ALLOW)


class AclsTestCase(AuthorizedTestCase):
    """A test case of a super user who changes ACLs."""

    def setUp(self) -> None:
        """Become the super user."""
        super().setUp()
        self.use(ADMIN)

    def create(self, *rows: Row, version: int = 3) -> list[Any]:
        """Create ACLs; return the results."""
        results: list[Any] = self.ask(
            30, version, CreateAclsRequest([AclCreation(*row) for row in rows])
        ).results
        return results

    def describe(self, *filters: Any, version: int = 3) -> list[Row]:
        """Return the ACLs that match, in order."""
        response = self.ask(29, version, DescribeAclsRequest(*(filters or ALL)))
        self.assertEqual((response.error_code, response.error_message), (0, None))
        return sorted(
            (
                of.resource_type,
                of.resource_name,
                of.pattern_type,
                a.principal,
                a.host,
                a.operation,
                a.permission_type,
            )
            for of in response.resources
            for a in of.acls
        )

    def delete(self, *filters: Any, version: int = 3) -> list[Any]:
        """Delete what filters match; return the results."""
        request = DeleteAclsRequest([DeleteAclsFilter(*one) for one in filters])
        results: list[Any] = self.ask(31, version, request).filter_results
        return results
