"""The reasons of Protobuf's comparison (``tests.schemas.verdicts`` has the verdicts)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.schemas.protobuf.documents import ENGINE, message, parsed, reasons


class ComparisonTests(SynchronousTestCase):
    def test_reasons(self) -> None:
        """A reason has its kind, and the place by the names of messages and the number of the field."""
        for old, new, expected in [
            (
                message("int32 a = 1;"),
                message("string a = 1;"),
                "FIELD_SCALAR_KIND_CHANGED at /Order/1: the reader has a string or bytes, the writer a whole",
            ),
            (
                message("int32 a = 1;"),
                message("Order a = 1;"),
                "FIELD_KIND_CHANGED at /Order/1: the reader has a message, the writer a scalar",
            ),
            (
                message("message B { int32 a = 1; }"),
                message("message B { float a = 1; }"),
                "FIELD_SCALAR_KIND_CHANGED at /Order/B/1: ",
            ),
            (message("message B {}"), message(""), "MESSAGE_REMOVED at /Order/B: "),
            (
                message(""),
                "package a; message Order {}",
                "PACKAGE_CHANGED at /: the reader's package is 'a', the writer's ''",
            ),
            (
                message("oneof x { int32 a = 1; int32 b = 2; }"),
                message("oneof x { int32 a = 1; }"),
                "ONEOF_FIELD_REMOVED at /Order/x/2: ",
            ),
            (
                message("int32 a = 1; int32 b = 2;"),
                message("oneof x { int32 a = 1; int32 b = 2; }"),
                "MULTIPLE_FIELDS_MOVED_TO_ONEOF at /Order/x: ",
            ),
            (
                message("required int32 a = 1;", syntax="proto2"),
                message("", syntax="proto2"),
                "REQUIRED_FIELD_REMOVED at /Order/1: ",
            ),
        ]:
            (reason,) = reasons(old, new)
            self.assertTrue(reason.startswith(expected), reason)

    def test_circle(self) -> None:
        """Imported messages that refer to each other are compared once."""

        def files(kind: str) -> dict[str, str]:
            parts = f"message P {{ Q q = 1; }} message Q {{ P p = 1; {kind} v = 2; }}"
            return {"x": f'syntax = "proto3"; package x; {parts}'}

        text = 'import "x"; message A { optional x.P p = 1; }'
        old, new = parsed(text, files("int32")), parsed(text, files("string"))
        self.assertEqual(list(ENGINE.incompatibilities(old, old)), [])
        found = ENGINE.incompatibilities(new, old)
        self.assertIn("FIELD_SCALAR_KIND_CHANGED at /Q/2: ", found[0])
        self.assertIn("FIELD_NAMED_TYPE_CHANGED at /A/1: ", found[-1])

    def test_chain(self) -> None:
        """Thousands of imported messages that refer to each other are compared."""
        many = 3000
        chain = " ".join(f"message M{one} {{ M{one + 1} a = 1; }}" for one in range(many))
        files = [
            {"x": f'syntax = "proto3"; package x; {chain} message M{many} {{ {kind} a = 1; }}'}
            for kind in ("int32", "string")
        ]
        old, new = (parsed('import "x"; message A { optional x.M0 a = 1; }', one) for one in files)
        self.assertEqual(list(ENGINE.incompatibilities(old, old)), [])
        self.assertEqual(len(ENGINE.incompatibilities(new, old)), 100)

    def test_many_reasons(self) -> None:
        """A comparison tells a bounded number of reasons."""
        old = message(" ".join(f"int32 a{one} = {one};" for one in range(1, 500)))
        new = message(" ".join(f"float a{one} = {one};" for one in range(1, 500)))
        self.assertEqual(len(reasons(old, new)), 100)
