"""The bytes of the records: those of Confluent's registry, and what is tolerated."""

from __future__ import annotations

import contextlib
import json
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry import records
from kafkatx.registry.contents import Content, Version, digest
from kafkatx.registry.records import UnreadableRecord, decode
from kafkatx.schemas.types import Reference, Schema, SchemaType


def version(schema: Schema, found: bytes | None = None, deleted: bool = False) -> Version:
    """Make a version."""
    if found is None:
        found = digest(schema.text, schema.references, None, None)
    return Version("orders-value", 3, Content(7, schema, None, None, found), deleted)


class GoldenTests(SynchronousTestCase):
    def test_schema(self) -> None:
        """A version is written as Confluent's registry writes it, byte for byte."""
        key, value = records.schema_record(version(Schema('"string"')))
        self.assertEqual(key, b'{"keytype":"SCHEMA","subject":"orders-value","version":3,"magic":1}')
        expected = b'{"subject":"orders-value","version":3,"id":7,"schema":"\\"string\\"","deleted":false}'
        self.assertEqual(value, expected)

    def test_all_members(self) -> None:
        """Type, references and the digest of another layout have their places before the schema."""
        schema = Schema("{}", SchemaType.JSON, (Reference("n", "s", 1),))
        _, value = records.schema_record(version(schema, b"\0" * 16, True))
        self.assertEqual(
            value,
            b'{"subject":"orders-value","version":3,"id":7,"md5":"AAAAAAAAAAAAAAAAAAAAAA==","schemaType":"JSON",'
            b'"references":[{"name":"n","subject":"s","version":1}],"schema":"{}","deleted":true}',
        )

    def test_scopes(self) -> None:
        """Keys of configurations and modes have the subject null where they are for all."""
        key, value = records.config_record("", {"compatibilityLevel": "FULL"})
        self.assertEqual(key, b'{"keytype":"CONFIG","subject":null,"magic":0}')
        self.assertEqual(value, b'{"compatibilityLevel":"FULL"}')
        key, value = records.mode_record("s", "IMPORT")
        self.assertEqual(key, b'{"keytype":"MODE","subject":"s","magic":0}')
        self.assertEqual(value, b'{"subject":"s","mode":"IMPORT"}')
        key, value = records.delete_subject_record("s", 4)
        self.assertEqual(key, b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}')
        self.assertEqual(value, b'{"subject":"s","version":4}')
        self.assertEqual(records.max_id_record(9)[0], b'{"keytype":"NOOP","magic":0}')

    def test_text(self) -> None:
        """Letters beyond ASCII are written as UTF-8, as Java does."""
        key, _ = records.schema_tombstone("größe", 1)
        self.assertIn("größe".encode(), key)


class DecodeTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A version that was written is read as it was, with metadata and rules."""
        schema = Schema("{}", SchemaType.PROTOBUF, (Reference("n", "s", -1),))
        content = Content(7, schema, {"properties": {"a": "b"}}, {"domainRules": []}, b"\1" * 16)
        stored = Version("s", 2, content, True)
        self.assertEqual(decode(*records.schema_record(stored)), records.SchemaRecord("s", 2, stored))

    def test_of_others(self) -> None:
        """A record of an older registry, with other blanks and unknown members, is read."""
        found = decode(
            b'{"subject": "s", "keytype": "SCHEMA", "magic": 0, "version": 1, "later": 1}',
            b'{"subject":"s","version":1,"id":3,"schema":"x","later":{}}',
        )
        assert isinstance(found, records.SchemaRecord) and found.stored is not None
        self.assertEqual(found.stored.content.schema, Schema("x"))
        self.assertFalse(found.stored.deleted)

    def test_other_types(self) -> None:
        """Types of keys that are not known, and NOOP without a value, are no fault."""
        for key in (b'{"keytype":"CONTEXT","tenant":"t"}', b'{"keytype":"NOOP","magic":0}'):
            self.assertIsInstance(decode(key, b"{}"), records.OtherRecord)
        self.assertIsInstance(decode(b'{"keytype":"NOOP","magic":0}', None), records.OtherRecord)

    def test_garbage(self) -> None:
        """Bytes that no registry writes raise UnreadableRecord, and nothing else."""
        keys = (
            *(b"", b"\xff", b"null", b"[]", b"{}", b'{"keytype":1}', b"[" * 100_000),
            *(b'{"keytype":"SCHEMA"}', b'{"keytype":"SCHEMA","subject":"s","version":0,"magic":1}'),
            *(b'{"keytype":"SCHEMA","subject":1,"version":1,"magic":1}', b'{"keytype":"MODE","subject":[]}'),
            b'{"keytype":"SCHEMA","subject":"s","version":true,"magic":1}',
        )
        for key in keys:
            with self.assertRaises(UnreadableRecord, msg=key[:60]):
                decode(key, b"{}")
        key = b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}'
        fields: dict[str, list[object]] = {
            "id": [None, "1", -1, 2**31],
            "schema": [1, None],
            "schemaType": ["COBOL", 1],
        }
        fields["references"], fields["md5"], fields["metadata"] = [{}, [{}], [1]], ["?", "AAAA"], [[]]
        for name, values in fields.items():
            for value in values:
                broken = {"id": 1, "schema": "x", name: value}
                with self.assertRaises(UnreadableRecord, msg=broken):
                    decode(key, json.dumps(broken).encode())

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=60), st.none() | st.binary(max_size=60))
    def test_any_bytes(self, key: bytes, value: bytes | None) -> None:
        """Any bytes are a record or unreadable."""
        with contextlib.suppress(UnreadableRecord):
            decode(key, value)

    def test_empty_value(self) -> None:
        """An empty value is a tombstone, as Karapace writes it."""
        for key, _ in (records.schema_record(version(Schema("x"))), records.config_record("s", {})):
            self.assertEqual(decode(key, b""), decode(key, None))

    def test_cut(self) -> None:
        """A record that is cut anywhere is unreadable."""
        key, value = records.schema_record(version(Schema('"string"')))
        assert value is not None
        for cut, (of_key, of_value) in product(range(1, 40), ((True, False), (False, True))):
            with self.assertRaises(UnreadableRecord):
                decode(key[:-cut] if of_key else key, value[:-cut] if of_value else value)
