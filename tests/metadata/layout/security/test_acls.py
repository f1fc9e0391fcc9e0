"""Nodes of ACLs, byte by byte as Apache Kafka 3.9 writes them, and its notifications."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.metadata.layout.security import acls

CONTENT = (
    b'{"version":1,"acls":[{"principal":"User:alice","permissionType":"Allow","operation":"IdempotentWrite",'
    b'"host":"*"}]}'
)
ENTRY = AccessControlEntry("User:alice", "*", AclOperation.IDEMPOTENT_WRITE)


class PathTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """A path names type, name and kind of a pattern, and leads back to it."""
        for path, pattern in (
            ("/kafka-acl/Topic/a", ResourcePattern(ResourceType.TOPIC, "a")),
            ("/kafka-acl/Cluster/kafka-cluster", ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")),
            ("/kafka-acl/Group/*", ResourcePattern(ResourceType.GROUP, "*")),
            (
                "/kafka-acl-extended/prefixed/TransactionalId/ä.b",
                ResourcePattern(ResourceType.TRANSACTIONAL_ID, "ä.b", PatternType.PREFIXED),
            ),
        ):
            self.assertEqual((acls.acl_path(pattern), acls.parse_path(path)), (path, pattern))
        for path in ("/kafka-acl/Topic", "/kafka-acl/Nothing/a", "/kafka-acl/Topic/", "/brokers/topics/a"):
            self.assertIsNone(acls.parse_path(path))

    def test_unfit(self) -> None:
        """A name that no node can have is refused before anything is written."""
        for name in ("", ".", "..", "a/b", "a\0", "\x1f", "\x85", "\ue000", "\ufff0"):
            pattern = ResourcePattern(ResourceType.GROUP, name)
            error = self.assertRaises(RequestError, acls.acl_path, pattern)
            self.assertEqual(error.code, ErrorCode.INVALID_REQUEST)
        for name in ("...", ".a", "a b", "*", "user:x"):
            acls.acl_path(ResourcePattern(ResourceType.GROUP, name))


class EntriesTests(SynchronousTestCase):
    def test_content(self) -> None:
        """Entries are written as Apache Kafka does, and read."""
        self.assertEqual(acls.encode_entries([ENTRY]), CONTENT)
        self.assertEqual(acls.decode_entries("/p", CONTENT), {ENTRY})
        self.assertEqual(acls.decode_entries("/p", b""), frozenset())
        every = {
            AccessControlEntry("User:a", "h", operation, permission)
            for operation in AclOperation
            for permission in (AclPermission.ALLOW, AclPermission.DENY)
            if operation is not AclOperation.ANY
        }
        self.assertEqual(acls.decode_entries("/p", acls.encode_entries(every)), every)

    def test_wrong(self) -> None:
        """An entry that is not understood is an error: it could be one that denies."""
        for old, new in (
            (b'"version":1', b'"version":2'),
            (b"IdempotentWrite", b"Fly"),
            (b"Allow", b"Perhaps"),
            (b'"host":"*"', b'"host":1'),
            (b'"principal":"User:alice",', b""),
            (b'[{"principal"', b'[3,{"principal"'),
        ):
            self.assertIn(old, CONTENT)
            self.assertRaises(UnreadableNode, acls.decode_entries, "/p", CONTENT.replace(old, new))


class NotificationTests(SynchronousTestCase):
    def test_notifications(self) -> None:
        """Notifications of Apache Kafka 1 to 3.9 name a pattern."""
        prefixed = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "t", PatternType.PREFIXED)
        data = b'{"version":1,"resourceType":"TRANSACTIONAL_ID","name":"t","patternType":"PREFIXED"}'
        self.assertEqual(acls.decode_notification(f"{acls.EXTENDED_CHANGES}/a_1", data), prefixed)
        for data in (b"TRANSACTIONAL_ID:a:b", b"TransactionalId:a:b"):
            found = acls.decode_notification(f"{acls.CHANGES}/a_1", data)
            self.assertEqual(found, ResourcePattern(ResourceType.TRANSACTIONAL_ID, "a:b"))

    def test_wrong(self) -> None:
        """A notification that names no resource is an error."""
        for parent, data in (
            (acls.CHANGES, b"TOPIC"),
            (acls.CHANGES, b"Nothing:a"),
            (acls.CHANGES, b"\xff:a"),
            (acls.EXTENDED_CHANGES, b'{"version":2}'),
            (
                acls.EXTENDED_CHANGES,
                b'{"version":1,"resourceType":"TOPIC","name":"t","patternType":"MATCH"}',
            ),
        ):
            self.assertRaises(UnreadableNode, acls.decode_notification, f"{parent}/a_1", data)
