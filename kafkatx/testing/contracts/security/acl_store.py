"""The part of the contract of metadata stores about ACLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kafkatx.acls import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.interfaces import IMetadataStore

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

T = TypeVar("T")

TOPIC = ResourcePattern(ResourceType.TOPIC, "clicks")
PREFIX = ResourcePattern(ResourceType.TOPIC, "clicks", PatternType.PREFIXED)
TRANSACTIONS = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "*")
READ = AccessControlEntry("User:CN=änn,O=x", "*", AclOperation.READ)
WRITE = AccessControlEntry("User:*", "192.0.2.1", AclOperation.WRITE, AclPermission.DENY)
NONE: frozenset[AclBinding] = frozenset()


def on(pattern: ResourcePattern, *entries: AccessControlEntry) -> frozenset[AclBinding]:
    """Return ACLs of one pattern."""
    return frozenset(AclBinding(pattern, entry) for entry in entries)


class AclStoreContract(_Case):
    """Mixin for a ``SynchronousTestCase``, of :class:`MetadataStoreContract`, which has the methods."""

    if TYPE_CHECKING:

        def result(self, deferred: Deferred[T]) -> T:
            """Return the result of a Deferred."""

        def started(self) -> IMetadataStore:
            """Return a store that is started and registered."""

    def test_acls(self) -> None:
        """Check that ACLs are added and removed one by one; a pattern without any is not listed."""
        store = self.started()
        self.assertEqual(store.state.acls, {})
        added = on(TOPIC, READ, WRITE) | on(PREFIX, READ) | on(TRANSACTIONS, WRITE)
        self.result(store.alter_acls(added, NONE))
        every = {TOPIC: {READ, WRITE}, PREFIX: {READ}, TRANSACTIONS: {WRITE}}
        self.assertEqual(store.state.acls, every)
        self.result(store.alter_acls(added, on(TRANSACTIONS, READ)))
        self.assertEqual(store.state.acls, every)
        self.result(store.alter_acls(on(TRANSACTIONS, READ), on(TOPIC, READ) | on(PREFIX, READ, WRITE)))
        self.assertEqual(store.state.acls, {TOPIC: {WRITE}, TRANSACTIONS: {READ, WRITE}})

    def test_acls_at_once(self) -> None:
        """Check that no change of a pattern's entries is lost if several are under way at the same time."""
        store = self.started()
        entries = [READ._replace(principal=f"User:{number}") for number in range(3)]
        for doing in [store.alter_acls(on(TOPIC, entry), NONE) for entry in entries]:
            self.result(doing)
        self.assertEqual(store.state.acls, {TOPIC: set(entries)})

    def test_many_acls(self) -> None:
        """Check that one change may be about hundreds of resources."""
        store = self.started()
        patterns = [ResourcePattern(ResourceType.GROUP, f"g{number}") for number in range(250)]
        added = frozenset().union(*(on(pattern, READ) for pattern in patterns))
        self.result(store.alter_acls(added, NONE))
        self.assertEqual(store.state.acls, {pattern: {READ} for pattern in patterns})
        self.result(store.alter_acls(NONE, added))
        self.assertEqual(store.state.acls, {})

    def test_acls_stay(self) -> None:
        """Other changes of the cluster leave the ACLs, to the very object, as they are."""
        store = self.started()
        self.result(store.alter_acls(on(TOPIC, READ), NONE))
        before = store.state.acls
        self.result(store.create_topic("clicks", [[3]], {}))
        self.result(store.alter_client_quotas({(("user", None),): {"producer_byte_rate": 1.0}}))
        self.result(store.delete_topic("clicks"))
        self.assertIs(store.state.acls, before)
