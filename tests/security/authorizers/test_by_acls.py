"""The authorizer by ACLs: the contract, super users, and what happens without ACLs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import Access, AclOperation, Reason, ResourceType, with_changes
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IAuthorizer
from kafkatx.security.authorizers.by_acls import AclAuthorizer
from kafkatx.testing.contracts.security.authorizer import AuthorizerContract
from tests.security.acl.test_index import DENY, READ, TOPIC, binding


def authorizer(**settings: str) -> AclAuthorizer:
    """Return an authorizer with settings; ``_`` in names stands for ``.``."""
    return AclAuthorizer(
        BrokerConfig.load(None, {name.replace("_", "."): value for name, value in settings.items()})
    )


class ContractTests(AuthorizerContract, SynchronousTestCase):
    def make_authorizer(self) -> IAuthorizer:
        """Return one without super users."""
        return authorizer()


class AclAuthorizerTests(SynchronousTestCase):
    access = Access("User:a", "h", READ, TOPIC, "t")

    def test_super_users(self) -> None:
        """A super user may do everything, also what an ACL denies; spaces around names do not count."""
        made = authorizer(super_users="User:a ; User:CN=b,O=x;")
        made.use(
            with_changes(
                {}, frozenset({binding("*", AclOperation.ALL, DENY, principal="User:*")}), frozenset()
            )
        )
        for principal, allowed in (("User:a", True), ("User:CN=b,O=x", True), ("User:CN=b", False)):
            decision = made.decide(self.access._replace(principal=principal))
            self.assertEqual((decision.allowed, decision.reason is Reason.SUPER_USER), (allowed, allowed))
            self.assertEqual(made.allows_any(principal, "h", READ, TOPIC), allowed)

    def test_without_acls(self) -> None:
        """A resource without any ACL is closed, unless the setting opens it to everyone."""
        self.assertFalse(authorizer().decide(self.access).allowed)
        made = authorizer(allow_everyone_if_no_acl_found="true")
        self.assertTrue(made.decide(self.access).allowed)
        self.assertTrue(made.allows_any("User:z", "h", READ, ResourceType.GROUP))
        made.use(with_changes({}, frozenset({binding("t", principal="User:b")}), frozenset()))
        self.assertFalse(made.decide(self.access).allowed)
        self.assertTrue(made.decide(self.access._replace(name="other")).allowed)
