"""The contract of authorizers notices bad ones."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import Access, Acls, Decision
from kafkatx.config import BrokerConfig
from kafkatx.security.authorizers.by_acls import AclAuthorizer
from kafkatx.testing.contracts.security.authorizer import AuthorizerContract
from tests.testing.contracts.failures import failed_tests


class Silent(AclAuthorizer):
    """An authorizer that changes its mind and does not say so."""

    def use(self, acls: Acls) -> None:
        """Take ACLs without a new generation."""
        self._index.use(acls)


class Fickle(AclAuthorizer):
    """An authorizer that decides otherwise each time."""

    count = 0

    def decide(self, access: Access) -> Decision:
        """Decide."""
        self.count += 1
        return Decision(self.count % 7 == 0)


class Sloppy(AclAuthorizer):
    """An authorizer that fails for names that are no ASCII, and answers with numbers."""

    uses_acls = 1  # type: ignore[assignment]

    def decide(self, access: Access) -> Decision:
        """Decide."""
        access.principal.encode("ascii")
        return super().decide(access)


class AuthorizerContractTests(SynchronousTestCase):
    def failed(self, kind: type[AclAuthorizer]) -> set[str]:
        """Return the tests that fail for an authorizer."""
        config = BrokerConfig.load(None, {"allow.everyone.if.no.acl.found": "true"})
        return failed_tests(AuthorizerContract, make_authorizer=lambda: kind(config))

    def test_good(self) -> None:
        """Ours keeps it."""
        self.assertEqual(self.failed(AclAuthorizer), set())

    def test_bad(self) -> None:
        """An authorizer that is silent, fickle or sloppy is noticed."""
        self.assertEqual(self.failed(Silent), {"test_changed_acls"})
        self.assertIn("test_same_generation", self.failed(Fickle))
        self.assertLessEqual({"test_interface", "test_any_access"}, self.failed(Sloppy))
