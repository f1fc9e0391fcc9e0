"""Tests of kafkatx.client.admin.acls."""

from __future__ import annotations

from kafkatx.client.admin.admin import Admin
from kafkatx.clientcore.admin.security.acls import exactly
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.create_acls import CreateAclsRequest
from kafkatx.wire.messages.delete_acls import DeleteAclsRequest
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

    def test_old_broker(self) -> None:
        """A broker before Kafka 2.0 would make a prefix a literal name: it is not asked to."""
        self.network.newest.update({CreateAclsRequest: 0, DescribeAclsRequest: 0, DeleteAclsRequest: 0})
        self.result(self.admin.close())  # its connection knows other versions
        values = {"bootstrap_servers": "broker1:9092", "kafkatx_endpoint": self.network.endpoint}
        self.admin = Admin(values, reactor=self.network.clock)
        self.result(self.admin.start())
        self.acls = self.admin.acls
        for asking in (
            self.acls.create([READ, PREFIX]),
            self.acls.describe(exactly(PREFIX)),
            self.acls.delete([exactly(PREFIX)]),
        ):
            self.assertEqual(self.error(RequestError, asking).code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertEqual(self.fake.acls, {})
        self.result(self.acls.create([READ]))
        self.assertEqual(self.result(self.acls.describe()), [READ])

    def test_disabled(self) -> None:
        """Brokers without an authorizer have no ACLs, which is an error."""
        self.fake.faults[DescribeAclsRequest].append(ErrorCode.SECURITY_DISABLED)
        error = self.error(RequestError, self.acls.describe())
        self.assertEqual(error.code, ErrorCode.SECURITY_DISABLED)
