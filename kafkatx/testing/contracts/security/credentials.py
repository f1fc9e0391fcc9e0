"""The part of the contract of metadata stores about SCRAM credentials of users."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kafkatx.interfaces import IMetadataStore
from kafkatx.types import QuotaEntity

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

T = TypeVar("T")

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
USER: QuotaEntity = (("user", "ann"),)
A = "producer_byte_rate"


class CredentialsContract(_Case):
    """Mixin for a ``SynchronousTestCase``, of :class:`MetadataStoreContract`, which has the methods."""

    if TYPE_CHECKING:

        def result(self, deferred: Deferred[T]) -> T:
            """Return the result of a Deferred."""

        def started(self) -> IMetadataStore:
            """Return a store that is started and registered."""

    def test_scram_credentials(self) -> None:
        """Credentials are set, changed and removed one by one; quotas of the user stay, and the reverse."""
        store = self.started()
        self.assertEqual(store.state.scram_credentials, {})
        self.result(store.alter_client_quotas({USER: {A: 1.5}}))
        self.result(
            store.alter_scram_credentials({"ann": {SHA_256: "a", SHA_512: "b"}, "käthe=,/": {SHA_256: "c"}})
        )
        self.result(
            store.alter_scram_credentials({"ann": {SHA_256: None, SHA_512: "d"}, "eve": {SHA_256: None}})
        )
        self.assertEqual(store.state.scram_credentials, {"ann": {SHA_512: "d"}, "käthe=,/": {SHA_256: "c"}})
        self.result(store.alter_client_quotas({USER: {A: None}}))
        self.assertEqual(store.state.scram_credentials["ann"], {SHA_512: "d"})
        self.result(store.alter_scram_credentials({"ann": {SHA_512: None}}))
        self.assertEqual((set(store.state.scram_credentials), store.state.client_quotas), ({"käthe=,/"}, {}))

    def test_scram_credentials_stay(self) -> None:
        """Other changes of the cluster leave the credentials, to the very object, as they are."""
        store = self.started()
        self.result(store.alter_scram_credentials({"ann": {SHA_256: "a"}}))
        before = store.state.scram_credentials
        self.result(store.alter_client_quotas({USER: {A: 1.0}}))
        self.result(store.create_topic("clicks", [[3]], {}))
        self.assertIs(store.state.scram_credentials, before)
        self.assertNotIn("SCRAM", repr(store.state))
