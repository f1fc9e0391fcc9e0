"""Tests of kafkatx.schemas.messages.avro.default_values; more values are compared in test_resolution."""

from __future__ import annotations

import json
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.avro.avro_types import Record
from kafkatx.schemas.messages.avro.avro_format import parse
from kafkatx.schemas.messages.avro.default_values import NoValue, default_value
from kafkatx.schemas.types import Schema


class DefaultValueTests(SynchronousTestCase):
    def value(self, **field: Any) -> Any:
        """Return the default of a field."""
        record = parse(
            Schema(json.dumps({"type": "record", "name": "R", "fields": [{"name": "f", **field}]})), {}
        )
        assert isinstance(record, Record)
        return default_value(record.fields[0])

    def test_values(self) -> None:
        """Values are those of Python; a union's is that of the first branch that it fits."""
        for type_, default, expected in (
            ("bytes", "\xff", b"\xff"),
            ("double", 1, 1.0),
            (["null", "bytes"], "a", b"a"),
            (["string", "bytes"], "a", "a"),
            ({"type": "map", "values": {"type": "array", "items": "bytes"}}, {"k": ["a"]}, {"k": [b"a"]}),
        ):
            found = self.value(type=type_, default=default)
            self.assertEqual((found, type(found)), (expected, type(expected)))

    def test_none(self) -> None:
        """A field without a default, or with one of another type, has none."""
        self.assertRaises(NoValue, self.value, type="int")
        for type_, default in (("int", "1"), ("string", 1), (["null", "int"], "a"), ("float", 10**299)):
            self.assertRaises(NoValue, self.value, type=type_, default=default)

    def test_bounded(self) -> None:
        """Defaults of records that lead to ever more values are refused."""
        twice: list[Any] = [{"name": name, "type": "N", "default": {}} for name in ("a", "b")]
        self.assertRaises(
            NoValue, self.value, type={"type": "record", "name": "N", "fields": twice}, default={}
        )
