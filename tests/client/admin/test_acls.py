"""Tests of kafkatx.client.admin.acls."""

from __future__ import annotations

from kafkatx.clientcore.admin.security.acls import exactly
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest
from tests.blocking.admin.test_acls import PREFIX, READ
from tests.blocking.fake_acls import FakeAcls
from tests.client.admins import AdminTestCase


class AclsTests(AdminTestCase):
    def setUp(self) -> None:
        """Make a cluster without ACLs."""
        self.fake = FakeAcls()
        self.open(self.fake)
        self.acls = self.admin.acls

    def test_changes(self) -> None:
        """ACLs are created, described as they were, and deleted."""
        self.result(self.acls.create([READ, PREFIX]))
        self.assertEqual(self.result(self.acls.describe()), [READ, PREFIX])
        self.assertEqual(self.result(self.acls.describe(exactly(PREFIX))), [PREFIX])
        self.assertEqual(self.result(self.acls.delete([exactly(READ)])), [READ])
        self.assertEqual(self.result(self.acls.describe()), [PREFIX])

    def test_disabled(self) -> None:
        """Brokers without an authorizer have no ACLs, which is an error."""
        self.fake.faults[DescribeAclsRequest].append(ErrorCode.SECURITY_DISABLED)
        error = self.error(RequestError, self.acls.describe())
        self.assertEqual(error.code, ErrorCode.SECURITY_DISABLED)
