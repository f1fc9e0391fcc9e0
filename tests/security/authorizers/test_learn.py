"""The learning authorizer allows everything, and learns the fewest ACLs."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.acls import Access, AclOperation, ResourceType, with_changes
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IAuthorizer, ILearning
from kafkatx.security.acl.index import AclIndex
from kafkatx.security.authorizers import learn
from kafkatx.security.authorizers.learn import LearningAuthorizer
from kafkatx.testing.contracts.security.authorizer import AuthorizerContract

_O, TOPIC, GROUP = AclOperation, ResourceType.TOPIC, ResourceType.GROUP


def authorizer() -> LearningAuthorizer:
    """Return one with a super user."""
    return LearningAuthorizer(BrokerConfig.load(None, {"super.users": "User:admin"}))


class ContractTests(AuthorizerContract, SynchronousTestCase):
    def make_authorizer(self) -> IAuthorizer:
        """Return one with a super user."""
        return authorizer()


class LearningTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an authorizer that has learned nothing."""
        self.authorizer = authorizer()

    def used(self, operation: AclOperation, kind: ResourceType, name: str, principal: str = "User:a") -> None:
        """Use a right."""
        self.assertTrue(self.authorizer.decide(Access(principal, "h", operation, kind, name)).allowed)

    def test_least(self) -> None:
        """Used rights are learned once, without those that they imply; super users need nothing."""
        self.assertTrue(verifyObject(ILearning, self.authorizer))
        for operation in (_O.DESCRIBE, _O.WRITE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS):
            self.used(operation, TOPIC, "t")
        self.used(_O.DESCRIBE, TOPIC, "u")
        self.used(_O.READ, GROUP, "g", "User:b")
        self.used(_O.DELETE, TOPIC, "t", "User:admin")
        self.assertEqual(
            [str(one) for one in self.authorizer.learned],
            [
                "allow User:a write on topic:t",
                "allow User:a alter-configs on topic:t",
                "allow User:a describe on topic:u",
                "allow User:b read on group:g",
            ],
        )

    def test_enough(self) -> None:
        """The learned ACLs allow all that was used, and nothing else."""
        accesses = [
            Access(f"User:{number % 3}", "h", operation, TOPIC, f"t{number % 4}")
            for number, operation in enumerate([_O.READ, _O.DESCRIBE, _O.ALTER, _O.DESCRIBE_CONFIGS] * 3)
        ]
        for access in accesses:
            self.authorizer.decide(access)
        index = AclIndex(with_changes({}, frozenset(self.authorizer.learned), frozenset()))
        for access in accesses:
            self.assertTrue(index.decide(access, False).allowed, access)
            self.assertFalse(index.decide(access._replace(operation=_O.DELETE), False).allowed, access)

    def test_bounded(self) -> None:
        """Ever new names do not fill the memory."""
        self.patch(learn, "MOST_LEARNED", 10)
        self.authorizer = authorizer()
        for number in range(100):
            self.used(_O.READ, TOPIC, f"t{number}")
        self.assertEqual(len(self.authorizer.learned), 10)
