"""Inspections: what they find, and that they survive the way to another process and back."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry.inspection import (
    Inspected,
    Inspection,
    Source,
    decode_inspected,
    decode_inspection,
    encode_inspected,
    encode_inspection,
)
from kafkatx.registry.inspector_process import answer
from kafkatx.schemas.compatibility import CompatibilityLevel
from kafkatx.schemas.types import InvalidSchema, Reference, Schema, SchemaType

RECORD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
LARGER = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}'


def asked(job: Inspection) -> Inspected:
    """Make an inspection as the process does."""
    return decode_inspected(answer(encode_inspection(job)))


class CodecTests(SynchronousTestCase):
    def test_inspection(self) -> None:
        """An inspection is the same after the way, in one line."""
        schema = Schema('{"a":\n"ü"}', SchemaType.JSON, (Reference("n", "s", 2),))
        source = Source(schema, (("n", Schema("x")),), "version 1")
        job = Inspection(source, True, CompatibilityLevel.FULL, (source,), (source, source), True)
        line = encode_inspection(job)
        self.assertEqual(decode_inspection(line), job)
        self.assertEqual(line.count(b"\n"), 1)

    def test_inspected(self) -> None:
        """An answer and an error are the same after the way back."""
        found = Inspected("t", "c", ("r",), 3, "s")
        self.assertEqual(decode_inspected(encode_inspected(found)), found)
        error = self.assertRaises(InvalidSchema, decode_inspected, encode_inspected(InvalidSchema("why")))
        self.assertEqual(str(error), "why")


class ProcessTests(SynchronousTestCase):
    def test_valid(self) -> None:
        """A schema is parsed; its twin is found whatever the layout."""
        layout = Source(Schema(json.dumps(json.loads(RECORD), indent=2)))
        found = asked(Inspection(Source(Schema(RECORD)), twins=(Source(Schema(LARGER)), layout)))
        self.assertEqual((found.text, found.twin), (RECORD, 1))

    def test_reasons(self) -> None:
        """Reasons name the version; a stored schema that cannot be read is a reason, too."""
        previous = (Source(Schema(RECORD), label="version 7"), Source(Schema("x"), label="version 6"))
        job = Inspection(Source(Schema(LARGER)), False, CompatibilityLevel.BACKWARD_TRANSITIVE, previous)
        reasons = asked(job).reasons
        self.assertTrue(any(reason.startswith("version 6 cannot be read") for reason in reasons), reasons)
        self.assertTrue(any(reason.startswith("version 7: ") for reason in reasons), reasons)

    def test_invalid(self) -> None:
        """A text that is no schema, however deep, is an error and not the end of the process."""
        for text in ("x", "", "[" * 10_000, '{"type":' * 10_000, '{"type":"record"}', "\0"):
            self.assertRaises(InvalidSchema, asked, Inspection(Source(Schema(text))))

    def test_nonsense(self) -> None:
        """A line that is no inspection is answered, too."""
        self.assertRaises(InvalidSchema, decode_inspected, answer(b"nonsense\n"))
