"""The look-up of engines."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import Schema, SchemaType

_WITHOUT = """
import sys
sys.modules["google.protobuf"] = None
from kafkatx.schemas.engines import MissingLibrary, engine
from kafkatx.schemas.types import SchemaType
engine(SchemaType.AVRO), engine(SchemaType.JSON)
try:
    engine(SchemaType.PROTOBUF)
except MissingLibrary as error:
    print(error)
"""

TEXTS = {
    SchemaType.AVRO: '"int"',
    SchemaType.JSON: "{}",
    SchemaType.PROTOBUF: 'syntax = "proto3"; message A {}',
}


class EnginesTests(SynchronousTestCase):
    def test_all(self) -> None:
        """Each type has an engine, made once, which parses and compares."""
        for schema_type in SchemaType:
            self.assertIs(engine(schema_type), engine(schema_type))
            schema = engine(schema_type).parse(Schema(TEXTS[schema_type], schema_type), {})
            self.assertEqual(list(engine(schema_type).incompatibilities(schema, schema)), [])

    def test_others(self) -> None:
        """An engine compares no schemas of another."""
        parsed = [engine(one).parse(Schema(TEXTS[one], one), {}) for one in SchemaType]
        for one, other in zip(parsed, parsed[1:] + parsed[:1], strict=True):
            self.assertRaises(TypeError, engine(one.schema.type).incompatibilities, one, other)

    def test_missing_library(self) -> None:
        """Without its library an engine says what to install; the others work."""
        done = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True, timeout=60)
        self.assertEqual(
            done.stdout.strip(),
            "schemas of type PROTOBUF need the library google.protobuf, which is not installed: "
            "pip install 'kafkatx[schemas]'",
        )
