"""Tests of kafkatx.clientcore.registry.reader_schemas, against a registry in memory."""

from __future__ import annotations

from kafkatx.clientcore.registry.reader_schemas import read_version
from kafkatx.schemas.types import InvalidSchema, SchemaType
from tests.clientcore.registry.case import PlanCase
from tests.schemas.messages.protobuf import moved


class ReadVersionTests(PlanCase):
    def setUp(self) -> None:
        """Register two versions of a Protobuf schema."""
        super().setUp()
        for schema in (moved.FIRST, moved.SECOND):
            self.registry.add("s", schema.text, SchemaType.PROTOBUF)

    def test_message(self) -> None:
        """The message is the first one of the oldest version, or the one that is named."""
        for version, message, expected in ((-1, "", "s.O"), (1, "", "s.O"), (2, "s.A", "s.A")):
            read = self.run_plan(read_version("s", version, message))
            self.assertEqual(read.reader.message, expected)
            self.assertEqual(read.reader.schema, read.registered.schema)

    def test_gone(self) -> None:
        """The first message of an old version that the version does not have any more is passed over."""
        self.registry.add("s", moved.WITHOUT.text, SchemaType.PROTOBUF)
        self.assertEqual(self.run_plan(read_version("s")).reader.message, "s.A")

    def test_refused(self) -> None:
        """A message that is not there is refused, and so is one of a language without messages."""
        self.assertRaises(InvalidSchema, self.run_plan, read_version("s", -1, "s.X"))
        self.registry.add("avro", '"int"')
        self.assertRaises(InvalidSchema, self.run_plan, read_version("avro", -1, "s.O"))
        self.assertEqual(self.run_plan(read_version("avro")).reader.message, "")
