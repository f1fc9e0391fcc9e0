"""The engine of Protobuf: imports, descriptors, and input that is meant to hurt."""

from __future__ import annotations

import base64

from google.protobuf import descriptor_pb2 as pb
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf import protobuf_engine
from kafkatx.schemas.protobuf.messages import message_name
from kafkatx.schemas.protobuf.protobuf_engine import ProtobufEngine
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType
from tests.schemas.protobuf.documents import ENGINE, message, parsed
from tests.schemas.protobuf.samples import CUSTOM, SAMPLES

_WORDS = st.sampled_from(
    [
        *(
            "message",
            "A",
            "B",
            "{",
            "}",
            "=",
            ";",
            "1",
            "2",
            "string",
            "int32",
            "optional",
            "repeated",
            "required",
        ),
        *(
            "oneof",
            "map",
            "<",
            ">",
            ",",
            "enum",
            "reserved",
            "to",
            "max",
            "extensions",
            "extend",
            "option",
            "(",
        ),
        *(
            ")",
            "[",
            "]",
            "default",
            '"x"',
            "-",
            ".",
            "import",
            "package",
            "service",
            "rpc",
            "returns",
            "group",
        ),
        *("syntax", '"proto3"', "edition", '"2023"', "features", "deprecated", "true", "0", "json_name"),
    ]
)


def cut(text: str, start: int, size: int, word: str) -> str:
    """Return a text with a part of it replaced by a word."""
    start %= len(text)
    return f"{text[:start]}{word}{text[start + size :]}"


class ProtobufEngineTests(SynchronousTestCase):
    def test_name(self) -> None:
        """The first message is the name for subjects."""
        self.assertEqual(parsed(message("")).name, "Order")
        self.assertEqual(parsed("package a.b; message C {} message D {}").name, "a.b.C")
        self.assertEqual(parsed("package a;").name, "")

    def test_imports(self) -> None:
        """Imports are found by the names of references, through each other, and in any order."""
        text = 'syntax = "proto3"; import "b.proto"; import "c.proto"; message A { B b = 1; C c = 2; }'
        files = {
            "c.proto": 'syntax = "proto3"; import "b.proto"; message C { B b = 1; }',
            "b.proto": 'syntax = "proto3"; message B {}',
        }
        schema = parsed(text, files)
        self.assertEqual([file.name for file in schema.files], ["b.proto", "c.proto", "schema.proto"])
        self.assertEqual(parsed(schema.canonical, files).canonical, schema.canonical)

    def test_bad_imports(self) -> None:
        """A missing import, a broken one, one of another type, and a circle are told apart."""
        text = 'import "b.proto"; message A {}'
        self.assertIn("the import 'b.proto' is missing", str(self.assertRaises(InvalidSchema, parsed, text)))
        broken = self.assertRaises(InvalidSchema, parsed, text, {"b.proto": "massage"})
        self.assertIn("the referenced schema 'b.proto': ", str(broken))
        dependencies = {"b.proto": Schema('"int"')}
        other = self.assertRaises(
            InvalidSchema, ENGINE.parse, Schema(text, SchemaType.PROTOBUF), dependencies
        )
        self.assertIn("of type AVRO, not PROTOBUF", str(other))
        circle = {"b.proto": 'import "c.proto";', "c.proto": 'import "b.proto";'}
        self.assertIn("in a circle", str(self.assertRaises(InvalidSchema, parsed, text, circle)))
        itself = self.assertRaises(
            InvalidSchema, parsed, 'import "schema.proto";', {"schema.proto": "message A {}"}
        )
        self.assertIn("in a circle", str(itself))

    def test_long_chain(self) -> None:
        """The imports that the limit allows are followed one after the other."""
        files = {f"f{one}.proto": f'import "f{one + 1}.proto"; message M{one} {{}}' for one in range(99)}
        files["f99.proto"] = "message M99 {}"
        self.assertEqual(len(parsed('import "f0.proto"; message A {}', files).files), 101)

    def test_descriptor(self) -> None:
        """A serialized descriptor in base64 is a schema; other base64 and broken ones are refused."""
        descriptor = pb.FileDescriptorProto(name="mine.proto", syntax="proto3", package="a")
        descriptor.message_type.add(name="B").field.add(name="c", number=1, label=1, type=9)
        sent = base64.b64encode(descriptor.SerializeToString()).decode()
        schema = parsed(sent)
        self.assertEqual((schema.name, schema.file.name, schema.schema.text), ("a.B", "mine.proto", sent))
        self.assertEqual(
            parsed(
                message("B b = 1;").replace("message", 'import "x"; message', 1).replace("B b", "a.B b"),
                {"x": sent},
            )
            .files[0]
            .name,
            "x",
        )
        descriptor.message_type[0].field.add(name="d", number=1, label=1, type=9)
        broken = base64.b64encode(descriptor.SerializeToString()).decode()
        self.assertIn("duplicate field number", str(self.assertRaises(InvalidSchema, parsed, broken)))
        for text in ("aGVsbG8=", "", " ", "\n"):
            self.assertRaises(InvalidSchema, parsed, text)

    def test_deep_descriptor(self) -> None:
        """A descriptor with messages nested too deep is refused."""
        descriptor = pb.FileDescriptorProto(name="deep.proto")
        inner = descriptor.message_type.add(name="M")
        for _ in range(90):
            inner = inner.nested_type.add(name="M")
        self.assertRaises(InvalidSchema, parsed, base64.b64encode(descriptor.SerializeToString()).decode())

    @settings(max_examples=400, deadline=None)
    @given(st.lists(_WORDS, max_size=30).map(" ".join) | st.text())
    def test_odd_texts(self, text: str) -> None:
        """Any text is a schema, or refused as one; what is taken is compared, and prints as itself."""
        try:
            schema = parsed(text)
        except InvalidSchema:
            return
        ENGINE.incompatibilities(schema, schema)
        self.assertEqual(parsed(schema.canonical).canonical, schema.canonical)

    @settings(max_examples=400, deadline=None)
    @given(
        st.sampled_from([*SAMPLES, CUSTOM]), st.integers(0, 3000), st.integers(0, 12), _WORDS | st.just("")
    )
    def test_damaged_texts(self, text: str, start: int, size: int, word: str) -> None:
        """A text with a part cut out or another word is a schema, or refused as one."""
        try:
            schema = parsed(cut(text, start, size, word))
        except InvalidSchema:
            return
        self.assertEqual(parsed(schema.canonical).canonical, schema.canonical)

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(SAMPLES), st.integers(0, 3000), st.integers(0, 255))
    def test_damaged_descriptors(self, text: str, position: int, value: int) -> None:
        """A descriptor with another byte is a schema, or refused as one."""
        data = bytearray(parsed(text).file.SerializeToString())
        data[position % len(data)] = value
        try:
            schema = parsed(base64.b64encode(bytes(data)).decode())
        except InvalidSchema:
            return
        ENGINE.incompatibilities(schema, schema)


class TextTests(SynchronousTestCase):
    def test_descriptor(self) -> None:
        """The text of a descriptor means the same: its messages have the same indexes, with those of maps."""
        text = 'syntax = "proto3"; message A { map<string, int32> m = 1; message B {} }'
        engine = ProtobufEngine()
        serialized = Schema(engine.serialized(Schema(text, SchemaType.PROTOBUF), {}), SchemaType.PROTOBUF)
        sent = engine.parse(serialized, {})
        again = engine.parse(Schema(sent.text, SchemaType.PROTOBUF), {})
        self.assertEqual((again.canonical, again.text), (sent.canonical, sent.text))
        self.assertEqual(message_name(sent, (0, 1)), "A.B")
        self.assertEqual(message_name(again, (0, 1)), "A.B")
        self.assertEqual(message_name(engine.parse(Schema(text, SchemaType.PROTOBUF), {}), (0, 0)), "A.B")

    def test_too_large(self) -> None:
        """A descriptor whose text would be beyond the limit stays as it was sent."""
        self.patch(protobuf_engine, "MAX_SIZE_BYTES", 10)
        engine = ProtobufEngine()
        serialized = engine.serialized(Schema("message A {}", SchemaType.PROTOBUF), {})
        self.assertEqual(engine.parse(Schema(serialized, SchemaType.PROTOBUF), {}).text, serialized)
