"""The contract of authorizers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from zope.interface.verify import verifyObject

from kafkatx.acls import CLUSTER_NAME, SUPPORTED, Access, AclOperation, Acls, Decision, ResourceType
from kafkatx.interfaces import IAuthorizer
from kafkatx.testing.contracts.security.acl_store import PREFIX, READ, TOPIC, TRANSACTIONS, WRITE

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

SOME: Acls = {TOPIC: frozenset({READ}), PREFIX: frozenset({WRITE}), TRANSACTIONS: frozenset({READ, WRITE})}
PRINCIPALS = ("User:ANONYMOUS", "User:CN=änn,O=x", "User:", "Group:x")
HOSTS = ("192.0.2.1", "2001:db8::1")


class AuthorizerContract(_Case):
    """For an :class:`~kafkatx.interfaces.IAuthorizer`."""

    def make_authorizer(self) -> IAuthorizer:
        """Return the authorizer to be tested, configured if it has settings, before it has seen ACLs."""
        raise NotImplementedError

    def decisions(self, authorizer: IAuthorizer) -> list[bool]:
        """Return the decisions about many accesses, the same ones with each call."""
        found = []
        for principal, host, (kind, operations) in product(PRINCIPALS, HOSTS, SUPPORTED.items()):
            name = CLUSTER_NAME if kind is ResourceType.CLUSTER else "clicks-1"
            for operation in operations:
                decision = authorizer.decide(Access(principal, host, operation, kind, name))
                self.assertIsInstance(decision, Decision)
                self.assertIs(type(decision.allowed), bool)
                found.append(decision.allowed)
        return found

    def test_interface(self) -> None:
        """Check that it provides IAuthorizer."""
        authorizer = self.make_authorizer()
        self.assertTrue(verifyObject(IAuthorizer, authorizer))
        self.assertIs(type(authorizer.uses_acls), bool)

    def test_any_access(self) -> None:
        """Check that it decides about every operation on every type of resource, with and without ACLs."""
        authorizer = self.make_authorizer()
        self.decisions(authorizer)
        authorizer.use(SOME)
        self.decisions(authorizer)
        authorizer.use({})
        self.decisions(authorizer)

    def test_same_generation(self) -> None:
        """Check that a decision stays the same as long as the generation does: a broker keeps it."""
        authorizer = self.make_authorizer()
        authorizer.use(SOME)
        before = authorizer.generation
        first = self.decisions(authorizer)
        if authorizer.generation == before:
            self.assertEqual(self.decisions(authorizer), first)

    def test_changed_acls(self) -> None:
        """Check that the generation rises if ACLs that count have changed."""
        authorizer = self.make_authorizer()
        authorizer.use(SOME)
        before, first = authorizer.generation, self.decisions(authorizer)
        authorizer.use({})
        if self.decisions(authorizer) != first:
            self.assertGreater(authorizer.generation, before)

    def test_any_name(self) -> None:
        """Check that it decides about operations on some resource of a type."""
        authorizer = self.make_authorizer()
        authorizer.use(SOME)
        for principal, host, kind in product(PRINCIPALS, HOSTS, SUPPORTED):
            found = authorizer.allows_any(principal, host, AclOperation.WRITE, kind)
            self.assertIs(type(found), bool)
