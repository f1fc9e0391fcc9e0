"""Damaged payloads of every language are errors of their records: no other exception, and no endless work."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.avro_format import AvroFormat
from kafkatx.schemas.messages.errors import BadPayload
from kafkatx.schemas.messages.formats import NAMES, new_format, schema_type
from kafkatx.schemas.messages.json_schema import JsonSchemaFormat
from kafkatx.schemas.messages.protobuf.protobuf_format import ProtobufFormat
from kafkatx.schemas.types import Schema, SchemaType
from tests.schemas.messages.avro.test_avro_format import NODE
from tests.schemas.messages.avro.test_json_values import SCHEMA, VALUES
from tests.schemas.messages.orders import TEXT

TREE = (
    '{"type": "record", "name": "T", "fields": [{"name": "v", "type": "bytes"},'
    ' {"name": "sub", "type": {"type": "array", "items": "T"}},'
    ' {"name": "m", "type": {"type": "map", "values": ["null", "T", "double"]}}]}'
)
flips = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), min_size=1, max_size=4)


class DamageTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make readers."""
        avro, self.texts = AvroFormat(), (NODE, TREE, json.dumps(SCHEMA))
        self.readers = [avro.reader(Schema(text), {}, None) for text in self.texts]
        self.readers.append(JsonSchemaFormat().reader(Schema("{}", SchemaType.JSON), {}, None))
        self.readers.append(ProtobufFormat().reader(Schema(TEXT, SchemaType.PROTOBUF), {}, None))
        write = avro.writer(Schema(self.texts[2]), {}, b"", None)[1]
        self.whole = [write(value) for value in VALUES]

    def read(self, reader: Any, data: bytes) -> None:
        """Read a payload that may be damaged."""
        with contextlib.suppress(BadPayload):
            reader(data, 0)

    @settings(max_examples=300)
    @given(st.binary(max_size=200))
    def test_random(self, data: bytes) -> None:
        """Any bytes are a value, or an error of the record."""
        for reader in self.readers:
            self.read(reader, data)

    @settings(max_examples=300)
    @given(st.integers(0, 2), flips)
    def test_flipped(self, which: int, changes: list[tuple[int, int]]) -> None:
        """Payloads with some bytes flipped are values, or errors of their records."""
        data = bytearray(self.whole[which])
        for at, bits in changes:
            data[at % len(data)] ^= bits
        self.read(self.readers[2], bytes(data))

    def test_names(self) -> None:
        """Each language has a format under its name."""
        for name, kind in NAMES.items():
            self.assertIs(schema_type("--type", name), kind)
            self.assertIs(new_format(kind).type, kind)
