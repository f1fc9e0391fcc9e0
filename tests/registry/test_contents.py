"""The digest of a schema: the same as Confluent's registry computes, which a client can send as a guid."""

from __future__ import annotations

import hashlib

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry.contents import Content, digest
from kafkatx.schemas.types import Reference, Schema


class DigestTests(SynchronousTestCase):
    def test_text(self) -> None:
        """The digest of a text alone is its MD5."""
        self.assertEqual(digest('"string"', (), None, None), hashlib.md5(b'"string"').digest())

    def test_references(self) -> None:
        """Name, subject and version of a reference count, the version in four bytes."""
        found = digest("x", [Reference("n", "s", 258)], None, None)
        self.assertEqual(found, hashlib.md5(b"xns\x00\x00\x01\x02").digest())

    def test_metadata(self) -> None:
        """Tags, properties and sensitive names count in the order of their names, after a byte 1."""
        metadata = {"properties": {"b": "2", "a": "1"}, "tags": {"t": ["z", "y"]}, "sensitive": ["q", "p"]}
        self.assertEqual(digest("x", (), metadata, None), hashlib.md5(b"x\x01tyza1b2pq").digest())
        self.assertNotEqual(digest("x", (), {}, None), digest("x", (), None, None))

    def test_rules(self) -> None:
        """Rules count with all members, migration rules first, a disabled one with a byte 1 at its end."""
        rules = {
            "domainRules": [{"name": "d", "kind": "CONDITION", "expr": "true", "disabled": True}],
            "migrationRules": [{"name": "m", "type": "JSONATA", "params": {"k": "v"}, "tags": ["b", "a"]}],
        }
        expected = hashlib.md5(b"x\x01mJSONATAabkvdCONDITIONtrue\x01").digest()
        self.assertEqual(digest("x", (), None, rules), expected)

    def test_guid(self) -> None:
        """The guid is the digest in the form of a UUID."""
        content = Content(1, Schema("x"), None, None, bytes(range(16)))
        self.assertEqual(content.guid, "00010203-0405-0607-0809-0a0b0c0d0e0f")
