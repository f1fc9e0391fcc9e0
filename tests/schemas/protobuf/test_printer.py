"""The printer: a text that means the same, and is equal for equal schemas."""

from __future__ import annotations

import base64

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf.printer import default_json_name
from tests.schemas.protobuf.documents import INCLUDED, comparable, compiled, message, parsed
from tests.schemas.protobuf.samples import CUSTOM, SAMPLES


class PrinterTests(SynchronousTestCase):
    def test_again(self) -> None:
        """The text of a schema is read as the same schema, by us and by protoc."""
        included = [
            path.read_text(encoding="utf-8") for path in sorted(INCLUDED.glob("google/protobuf/*.proto"))
        ]
        for text in (*SAMPLES, CUSTOM, *included):
            first = parsed(text)
            second = parsed(first.canonical)
            self.assertEqual(second.canonical, first.canonical)
            self.assertEqual(comparable(second.file), comparable(first.file))
        for text in SAMPLES:
            expected, found = compiled(text), compiled(parsed(text).canonical)
            assert expected is not None and found is not None
            self.assertEqual(found.SerializeToString(), expected.SerializeToString())

    def test_descriptor(self) -> None:
        """A descriptor of protoc and its text have one canonical text."""
        for text in SAMPLES:
            descriptor = compiled(text)
            assert descriptor is not None
            sent = base64.b64encode(descriptor.SerializeToString()).decode()
            self.assertEqual(parsed(sent).canonical, parsed(text).canonical)

    def test_same(self) -> None:
        """Blanks, comments, quotation marks and the way that names are written make no difference."""
        one = message("string a = 1; Inner b = 2; message Inner {}")
        other = "syntax='proto3';\n// c\nmessage Order { string a=0x1; .Order.Inner b=2; message Inner{} ; }"
        self.assertEqual(parsed(one).canonical, parsed(other).canonical)

    def test_different(self) -> None:
        """Names, numbers, labels, options and their values make a difference."""
        bodies = [
            *("string a = 1;", "string b = 1;", "string a = 2;", "bytes a = 1;", "repeated string a = 1;"),
            *(
                "optional string a = 1;",
                "string a = 1 [deprecated = true];",
                'string a = 1 [json_name = "x"];',
            ),
            *(
                "string a = 1 [(x) = 1];",
                "string a = 1 [(x) = 2];",
                "oneof o { string a = 1; }",
                "reserved 3; string a = 1;",
            ),
        ]
        self.assertEqual(len({parsed(message(body)).canonical for body in bodies}), len(bodies))

    def test_json_names(self) -> None:
        """The name in JSON that needs no option is in camel case."""
        self.assertEqual(
            [default_json_name(name) for name in ("a_b_c", "a__b", "_a", "aB", "a_1")],
            ["aBC", "aB", "A", "aB", "a1"],
        )
