"""Tests of kafkatx.blocking.admin.acls."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking.admin.acls import Acls
from kafkatx.clientcore.admin.security.acls import exactly
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.security.acl.lines import parse_line
from kafkatx.wire.messages.create_acls import CreateAclsRequest
from kafkatx.wire.messages.delete_acls import DeleteAclsRequest
from kafkatx.wire.messages.describe_acls import DescribeAclsRequest
from tests.blocking.fake_acls import FakeAcls

READ, PREFIX = (
    parse_line("User:a read topic:t"),
    parse_line("deny User:b from 192.0.2.7 all prefixed group:g"),
)


class AclsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a cluster without ACLs."""
        self.fake = FakeAcls()
        self.acls = Acls(self.fake.client(retries=3))

    def test_changes(self) -> None:
        """ACLs are created, described as they were, and deleted by filters that match no others."""
        self.acls.create([READ, PREFIX])
        self.assertEqual(self.acls.describe(), [READ, PREFIX])
        self.assertEqual(self.acls.describe(exactly(PREFIX)), [PREFIX])
        self.assertEqual(self.acls.delete([exactly(READ), exactly(READ)]), [READ])
        self.assertEqual(self.acls.describe(), [PREFIX])

    def test_old_broker(self) -> None:
        """A broker before Kafka 2.0 would make a prefix a literal name: it is not asked to."""
        self.fake.versions = {CreateAclsRequest: 0, DescribeAclsRequest: 0, DeleteAclsRequest: 0}
        for ask in (
            lambda: self.acls.create([READ, PREFIX]),
            lambda: self.acls.describe(exactly(PREFIX)),
            lambda: self.acls.delete([exactly(PREFIX)]),
        ):
            error = self.assertRaises(RequestError, ask)
            self.assertEqual(error.code, ErrorCode.UNSUPPORTED_VERSION)
        self.assertEqual(self.fake.acls, {})
        self.acls.create([READ])
        self.assertEqual(self.acls.describe(), [READ])

    def test_errors(self) -> None:
        """A refusal is an error that names the ACL; one that passes is retried."""
        wrong = READ._replace(entry=READ.entry._replace(principal="a"))
        error = self.assertRaises(RequestError, self.acls.create, [READ, wrong])
        self.assertEqual(error.code, ErrorCode.INVALID_REQUEST)
        self.assertIn("allow a read on topic:t", str(error))
        self.fake.faults[DescribeAclsRequest].append(ErrorCode.REQUEST_TIMED_OUT)
        self.assertEqual(self.acls.describe(), [READ])
        self.fake.faults[CreateAclsRequest].append(ErrorCode.SECURITY_DISABLED)
        error = self.assertRaises(RequestError, self.acls.create, [READ])
        self.assertEqual(error.code, ErrorCode.SECURITY_DISABLED)
