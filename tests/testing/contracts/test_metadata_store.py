"""The contract of metadata stores notices bad ones."""

from __future__ import annotations

from twisted.internet.defer import succeed
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore
from kafkatx.testing.contracts.metadata_store import MetadataStoreContract
from tests.metadata.embedded.test_store import at_once
from tests.testing.contracts.failures import failed_in


def failed() -> set[str]:
    """Return the tests that fail for the embedded metadata store, patched as it is now."""

    class Case(MetadataStoreContract, SynchronousTestCase):
        def setUp(self) -> None:
            self.config = BrokerConfig.load(None, {"log.dirs": self.mktemp(), "kafkatx.storage": "memory"})

        def make_store(self) -> EmbeddedMetadataStore:
            return EmbeddedMetadataStore(self.config, at_once)

    return failed_in(Case)


class MetadataStoreContractTests(SynchronousTestCase):
    def test_good(self) -> None:
        """The embedded metadata store keeps it."""
        self.assertEqual(failed(), set())

    def test_same_ids_again(self) -> None:
        """A metadata store that allocates producer ids twice is noticed."""
        self.patch(EmbeddedMetadataStore, "allocate_producer_ids", lambda store, count: succeed(range(count)))
        self.assertIn("test_producer_ids", failed())

    def test_no_deletion(self) -> None:
        """A metadata store that does not delete topics is noticed."""
        self.patch(EmbeddedMetadataStore, "delete_topic", lambda store, name: succeed(None))
        self.assertLessEqual({"test_delete_topic", "test_delete_unknown"}, failed())
