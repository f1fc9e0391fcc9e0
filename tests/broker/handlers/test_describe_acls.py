"""DescribeAcls: filters, every version, and brokers without an authorizer."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.security.authorizers.by_acls import AclAuthorizer
from kafkatx.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkatx.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest
from tests.broker.handlers.acls import ALL, ANY, EVERY, LITERAL, MATCH, ORDERS, PREFIX, TOPIC, AclsTestCase
from tests.broker.running import BrokerTestCase


class DescribeAclsTests(AclsTestCase):
    def setUp(self) -> None:
        """Make three ACLs."""
        super().setUp()
        self.create(ORDERS, PREFIX, EVERY)

    def test_filters(self) -> None:
        """A filter gives what it matches, by exact names or all that are about a resource."""
        self.assertEqual(self.describe(), sorted([ORDERS, PREFIX, EVERY]))
        rest = (None, None, ANY, ANY)
        self.assertEqual(self.describe(TOPIC, "orders", MATCH, *rest), sorted([ORDERS, PREFIX, EVERY]))
        self.assertEqual(self.describe(TOPIC, "orders", LITERAL, *rest), [ORDERS])
        self.assertEqual(self.describe(ANY, None, ANY, "User:*", None, ANY, ANY), [EVERY])
        self.assertEqual(self.describe(3, None, ANY, *rest), [])

    def test_versions(self) -> None:
        """Version 0 knows literal patterns only."""
        self.assertEqual(self.describe(version=0), sorted([ORDERS, EVERY]))
        for version in (1, 2, 3):
            self.assertEqual(len(self.describe(version=version)), 3)

    def test_unknown(self) -> None:
        """A value that there is not is refused, and named."""
        response = self.ask(29, 3, DescribeAclsRequest(77, None, ANY, None, None, ANY, ANY))
        self.assertEqual(response.error_code, ErrorCode.INVALID_REQUEST)
        self.assertIn("resource type 77", response.error_message)


class DisabledTests(BrokerTestCase):
    """A broker without an authorizer."""

    def test_disabled(self) -> None:
        """All three requests answer SECURITY_DISABLED in each version, and nothing is stored."""
        for version in range(4):
            self.assertEqual(self.ask(29, version, DescribeAclsRequest(*ALL)).error_code, 54)
            (result,) = self.ask(30, version, CreateAclsRequest([AclCreation(*ORDERS)])).results
            self.assertEqual(result.error_code, ErrorCode.SECURITY_DISABLED)
            (found,) = self.ask(31, version, DeleteAclsRequest([DeleteAclsFilter(*ALL)])).filter_results
            self.assertEqual(found.error_code, ErrorCode.SECURITY_DISABLED)
            self.assertIn("authorizer.class.name", found.error_message)
        self.assertEqual(self.broker.metadata.state.acls, {})


class OtherAuthorizerTests(AclsTestCase):
    def test_without_acls(self) -> None:
        """An authorizer that decides by other things lets no client believe that ACLs count."""
        self.patch(AclAuthorizer, "uses_acls", False)
        self.assertEqual(self.create(ORDERS)[0].error_code, ErrorCode.SECURITY_DISABLED)
        self.assertEqual(self.broker.metadata.state.acls, {})
