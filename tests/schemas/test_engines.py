"""The look-up of engines."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.avro.avro_engine import AvroEngine
from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import SchemaType


class EnginesTests(SynchronousTestCase):
    def test_once(self) -> None:
        """The engine of a type is made once."""
        self.assertIsInstance(engine(SchemaType.AVRO), AvroEngine)
        self.assertIs(engine(SchemaType.AVRO), engine(SchemaType.AVRO))
