"""Tests of kafkatx.schemas.messages.avro_shape."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.avro import parse
from kafkatx.schemas.types import InvalidSchema, Schema
from tests.schemas.messages.test_avro import NODE, USER


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
        self.assertEqual([parse(Schema(text), {})[1] for text in (NODE, mutual, twice, USER)], [1, 1, 0, 0])

    def test_items_of_no_bytes(self) -> None:
        """Arrays of items without bytes are refused: ten bytes could announce 2**63 of them."""
        empty = '{"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]}'
        for items in ('"null"', empty, '{"type": "fixed", "name": "F", "size": 0}'):
            text = f'{{"type": "map", "values": {{"type": "array", "items": {items}}}}}'
            self.assertRaises(InvalidSchema, parse, Schema(text), {})
        parse(Schema('{"type": "array", "items": ["null", "int"]}'), {})
