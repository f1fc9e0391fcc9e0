"""The contract of metadata stores notices those that are bad at ACLs."""

from __future__ import annotations

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from tests.testing.contracts.test_metadata_store import failed


class AclStoreContractTests(SynchronousTestCase):
    def test_bad(self) -> None:
        """A store that forgets ACLs, or does not remove them, is noticed."""
        right = EmbeddedMetadataStore.alter_acls
        self.patch(EmbeddedMetadataStore, "alter_acls", lambda store, added, removed: succeed(None))
        self.assertLessEqual({"test_acls", "test_acls_at_once", "test_many_acls"}, failed())
        self.patch(
            EmbeddedMetadataStore,
            "alter_acls",
            lambda store, added, removed: right(store, added, frozenset()),
        )
        self.assertLessEqual({"test_acls", "test_many_acls"}, failed())
