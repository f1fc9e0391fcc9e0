"""Tests of kafkatx.schemas.messages.avro.shape."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro.avro_format import parse
from kafkatx.schemas.messages.avro.fastavro_schemas import written_schema
from kafkatx.schemas.messages.avro.shape import Named, ParsedSchema, is_recursive, unbounded_array
from kafkatx.schemas.types import Schema
from tests.schemas.messages.avro.test_avro_format import NODE, USER


def parsed(text: str) -> tuple[ParsedSchema, Named]:
    """Return a schema as fastavro parses it."""
    found = written_schema(parse(Schema(text), {}))
    return found.schema, found.named


class ShapeTests(SynchronousTestCase):
    def test_recursive(self) -> None:
        """Only schemas that contain themselves are recursive."""
        mutual = (
            '{"type": "record", "name": "A", "fields": [{"name": "b", "type": {"type": "record", "name": "B",'
            ' "fields": [{"name": "a", "type": {"type": "map", "values": "A"}}]}}]}'
        )
        twice = (
            '{"type": "record", "name": "A", "fields": [{"name": "b", "type": {"type": "record", "name": "B",'
            ' "fields": []}}, {"name": "c", "type": "B"}]}'
        )
        found = [is_recursive(*parsed(text)) for text in (NODE, mutual, twice, USER)]
        self.assertEqual(found, [True, True, False, False])

    def test_items_of_no_bytes(self) -> None:
        """Arrays of items without bytes are found: ten bytes could announce 2**63 of them."""
        empty = '{"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]}'
        for items in ('"null"', empty, '{"type": "fixed", "name": "F", "size": 0}'):
            text = f'{{"type": "map", "values": {{"type": "array", "items": {items}}}}}'
            self.assertIsNotNone(unbounded_array(*parsed(text)))
        self.assertIsNone(unbounded_array(*parsed('{"type": "array", "items": ["null", "int"]}')))
