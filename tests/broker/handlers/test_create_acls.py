"""CreateAcls: what is valid is added, the rest is refused with a reason."""

from __future__ import annotations

from typing import ClassVar

from kafkatx.errors import ErrorCode
from tests.broker.authorization.authorized import ALICE
from tests.broker.handlers.acls import ANY, CLUSTER, EVERY, MATCH, ORDERS, PREFIX, TOPIC, AclsTestCase

INVALID = ErrorCode.INVALID_REQUEST


class CreateAclsTests(AclsTestCase):
    settings: ClassVar[dict[str, str]] = {**AclsTestCase.settings, "kafkatx.authorizer.acls.max": "5"}

    def test_versions(self) -> None:
        """ACLs are there when the request is answered; one that is there already is no error."""
        for version in range(4):
            rows = [ORDERS, EVERY] if version == 0 else [ORDERS, EVERY, PREFIX]
            self.assertEqual([one.error_code for one in self.create(*rows, version=version)], [0] * len(rows))
            self.assertEqual(self.describe(), sorted(rows))

    def test_counts_at_once(self) -> None:
        """The next request of the user is decided by it."""
        self.use(ALICE)
        (topic,) = self.put().responses
        self.assertEqual(topic.partition_responses[0].error_code, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.use("User:admin")
        self.create((TOPIC, "ord", 4, ALICE, "*", 4, 3))
        self.use(ALICE)
        (topic,) = self.put().responses
        self.assertEqual(topic.partition_responses[0].error_code, 0)

    def test_invalid(self) -> None:
        """Values that cannot be an ACL are refused one by one, with the reason."""
        wrong = (
            (ANY, *ORDERS[1:]),
            (99, *ORDERS[1:]),
            (TOPIC, "", *ORDERS[2:]),
            (TOPIC, "a", MATCH, *ORDERS[3:]),
            (TOPIC, "a", ANY, *ORDERS[3:]),
            (CLUSTER, "a", *ORDERS[2:]),
            (*ORDERS[:3], "alice", *ORDERS[4:]),
            (*ORDERS[:3], "", *ORDERS[4:]),
            (*ORDERS[:4], "", *ORDERS[5:]),
            (*ORDERS[:5], ANY, 3),
            (*ORDERS[:5], 3, ANY),
            (*ORDERS[:3], "User:" + "x" * 1000, *ORDERS[4:]),
        )
        results = self.create(*wrong, (CLUSTER, "kafka-cluster", *ORDERS[2:]))
        self.assertEqual([one.error_code for one in results], [INVALID] * len(wrong) + [0])
        self.assertTrue(all(one.error_message for one in results[:-1]))
        self.assertEqual(len(self.describe()), 1)

    def test_too_many(self) -> None:
        """More ACLs than the setting allows are refused; those that are there already do not count twice."""
        rows = [(TOPIC, f"t{number}", *ORDERS[2:]) for number in range(6)]
        self.assertEqual({one.error_code for one in self.create(*rows[:5])}, {0})
        (result,) = self.create(rows[5])
        self.assertEqual(result.error_code, ErrorCode.POLICY_VIOLATION)
        self.assertIn("kafkatx.authorizer.acls.max", result.error_message)
        self.assertEqual({one.error_code for one in self.create(*rows[:5])}, {0})
        self.assertEqual(len(self.describe()), 5)
