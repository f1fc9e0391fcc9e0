"""DeleteAcls: what the reply names is gone, and nothing else."""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from tests.broker.handlers.acls import ALL, ANY, EVERY, LITERAL, MATCH, ORDERS, PREFIX, TOPIC, AclsTestCase

REST = (None, None, ANY, ANY)


class DeleteAclsTests(AclsTestCase):
    def setUp(self) -> None:
        """Make three ACLs."""
        super().setUp()
        self.create(ORDERS, PREFIX, EVERY)

    def test_versions(self) -> None:
        """The result of each filter has the ACLs that it matched."""
        for version in range(4):
            self.create(ORDERS, PREFIX, EVERY)
            (found,) = self.delete((TOPIC, "orders", LITERAL, *REST), version=version)
            self.assertEqual((found.error_code, len(found.matching_acls)), (0, 1))
            one = found.matching_acls[0]
            self.assertEqual(
                (one.error_code, one.resource_type, one.resource_name, one.pattern_type),
                (0, TOPIC, "orders", LITERAL),
            )
            self.assertEqual((one.principal, one.host, one.operation, one.permission_type), ORDERS[3:])
            self.assertEqual(self.describe(), sorted([PREFIX, EVERY]))

    def test_star(self) -> None:
        """The name * is that of one pattern, and matches no other name."""
        (found,) = self.delete((TOPIC, "*", ANY, *REST))
        self.assertEqual(len(found.matching_acls), 1)
        self.assertEqual(self.describe(), sorted([ORDERS, PREFIX]))

    def test_several(self) -> None:
        """Several filters may match the same; a filter that matches nothing is no error."""
        filters = ((TOPIC, "orders", MATCH, *REST), (TOPIC, "or", ANY, *REST), (3, None, ANY, *REST))
        self.assertEqual([len(one.matching_acls) for one in self.delete(*filters)], [3, 1, 0])
        self.assertEqual(self.describe(), [])

    def test_bad_filter(self) -> None:
        """A filter that is not understood deletes nothing, and does not spoil the others."""
        bad, good = self.delete((77, *ALL[1:]), (TOPIC, "orders", LITERAL, *REST))
        self.assertEqual((bad.error_code, good.error_code), (ErrorCode.INVALID_REQUEST, 0))
        self.assertEqual(self.describe(), sorted([PREFIX, EVERY]))

    def test_many_filters(self) -> None:
        """A reply does not repeat all ACLs as often as a small request likes."""
        found = self.delete(*[ALL] * 999)
        self.assertLess(sum(len(one.matching_acls) for one in found), 1010)
        self.assertEqual(found[-1].error_code, ErrorCode.INVALID_REQUEST)
        self.assertEqual({one.error_code for one in self.delete(*[ALL] * 1001)}, {ErrorCode.INVALID_REQUEST})
