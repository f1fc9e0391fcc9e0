"""Values of access control."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import (
    SUPPORTED,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
    enum_text,
    with_changes,
)

TOPIC = ResourcePattern(ResourceType.TOPIC, "t")
READ = AccessControlEntry("User:a", "*", AclOperation.READ)
WRITE = AccessControlEntry("User:a", "h", AclOperation.DESCRIBE_CONFIGS, AclPermission.DENY)


class AclsTests(SynchronousTestCase):
    def test_texts(self) -> None:
        """An ACL reads as a sentence."""
        prefixed = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x", PatternType.PREFIXED)
        self.assertEqual(str(AclBinding(TOPIC, READ)), "allow User:a read on topic:t")
        self.assertEqual(
            str(AclBinding(prefixed, WRITE)),
            "deny User:a from h describe-configs on prefixed transactional-id:x",
        )
        self.assertEqual(enum_text(AclOperation.IDEMPOTENT_WRITE), "idempotent-write")

    def test_numbers(self) -> None:
        """The numbers are those of Apache Kafka's enumerations; each type of resource has operations."""
        self.assertEqual((AclOperation.TWO_PHASE_COMMIT, ResourceType.USER, PatternType.PREFIXED), (15, 7, 4))
        self.assertEqual((AclPermission.DENY, AclPermission.ALLOW, AclOperation.CLUSTER_ACTION), (2, 3, 9))
        self.assertEqual(set(SUPPORTED), set(ResourceType) - {ResourceType.ANY})

    def test_changes(self) -> None:
        """Additions come before removals; a pattern without entries is gone, an untouched one stays."""
        other = ResourcePattern(ResourceType.GROUP, "g")
        before = with_changes({}, frozenset({AclBinding(TOPIC, READ), AclBinding(other, READ)}), frozenset())
        after = with_changes(
            before, frozenset({AclBinding(TOPIC, WRITE)}), frozenset({AclBinding(TOPIC, READ)})
        )
        self.assertEqual(after, {TOPIC: {WRITE}, other: {READ}})
        self.assertIs(after[other], before[other])
        both = frozenset({AclBinding(TOPIC, WRITE)})
        self.assertEqual(with_changes(after, both, both), {other: {READ}})
