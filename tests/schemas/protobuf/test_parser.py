"""The parser: as protoc reads the same text."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.types import InvalidSchema
from tests.schemas.protobuf.documents import INCLUDED, comparable, compiled, message, parsed
from tests.schemas.protobuf.samples import SAMPLES

REFUSED = [
    ("message", "expected a name, found 'the end'"),
    ("massage A {}", "expected ';', found 'massage'"),
    ('syntax = "proto4";', "proto2 or proto3"),
    ('edition = "1999";', "the edition '1999' is not known"),
    ('edition = "PROTO3";', "is not known"),
    ("syntax = proto3;", "expected a text"),
    ("message A { string a = 1; }", "a field of proto2 begins with a label"),
    (message("string a = 1"), "expected ';', found '}'"),
    (message("string a = ;"), "expected a whole number"),
    (message("string a = -1;"), "invalid field number"),
    (message("string a = 536870912;"), "expected a whole number up to 536870911"),
    (message("string a = 08;"), "expected a whole number"),
    (message("string = 1;"), "expected a name"),
    (message("map<string> a = 1;"), "expected ','"),
    (message("required string a = 1;"), "no required fields"),
    (message("string a = 1 [deprecated = maybe];"), "the option deprecated has a value"),
    (message("oneof a { }"), "oneof"),
    (message("string a = 1; string b = 1;"), "duplicate field number"),
    (message("string a = 1; string a = 2;"), "duplicate"),
    ('syntax = "proto3"; enum A { B = 1; }', "first value must be zero"),
    ('syntax = "proto3"; enum A { B = 2147483648; }', "whole number up to 2147483647"),
    ('import "a"; import "a";', "imported twice"),
    ("package a; package b;", "expected ';'"),
    ("message A { message B {} } } ", "expected ';', found '}'"),
    ("service A { rpc B (C) return (D); }", "expected 'returns'"),
    ("option a = { b: { c: 1 };", "has no end"),
]


class ParserTests(SynchronousTestCase):
    def test_samples(self) -> None:
        """Texts that use all of the grammar give the descriptors that protoc makes."""
        for text in SAMPLES:
            expected = compiled(text)
            assert expected is not None
            self.assertEqual(comparable(parsed(text).file), comparable(expected))

    def test_files_of_protobuf(self) -> None:
        """The files that come with protoc give the descriptors that protoc makes."""
        paths = sorted(INCLUDED.glob("google/protobuf/*.proto"))
        self.assertGreater(len(paths), 10)
        for path in paths:
            text = path.read_text(encoding="utf-8")
            expected = compiled(text)
            if expected is not None:
                self.assertEqual(comparable(parsed(text).file), comparable(expected), path.name)

    def test_refused(self) -> None:
        """A text that breaks the grammar or a rule is refused, with the reason."""
        for text, reason in REFUSED:
            self.assertIn(reason, str(self.assertRaises(InvalidSchema, parsed, text)), text)

    def test_line(self) -> None:
        """The message tells the line, behind comments and texts of several lines."""
        error = self.assertRaises(
            InvalidSchema, parsed, '/* a\nb */ // c\nsyntax = "proto3";\nmessage A {\n ! }'
        )
        self.assertIn("line 5: '!' begins no word", str(error))

    def test_depth(self) -> None:
        """Messages, groups and values of options are nested up to the limit."""
        parsed("message A {" * 64 + "}" * 64)
        for text in (
            "message A {" * 65 + "}" * 65,
            "message A {" * 80_000,
            "message A { optional group B = 1 {" * 40 + "}" * 80,
        ):
            self.assertIn("nested too deep", str(self.assertRaises(InvalidSchema, parsed, text)))
