"""Keys and values of what people type, read back by the formats that show them."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas import framing
from kafkatx.schemas.types import SchemaType
from kafkatx.views.encoders import FORMATS, BadText, encode
from kafkatx.views.formats.registered import RegisteredFormat, Schemas
from kafkatx.views.formats.simple import SIMPLE
from kafkatx.views.requests import Typed
from tests.views.formats.test_registered import described

SLOW = [HealthCheck.too_slow]


class EncodingTests(SynchronousTestCase):
    def fails(self, name: str, text: str, message: str) -> None:
        """Check that a text is refused."""
        schemas = {f"id:{n}": described(kind, n) for n, kind in enumerate(SchemaType, 1)}
        error = self.assertRaises(BadText, encode, Typed(name, text, "id:1"), schemas)
        self.assertIn(message, str(error))

    def test_simple(self) -> None:
        """Each format takes what it shows."""
        for name, text, data in (
            ("text", "é", "é".encode()),
            ("json", ' {"a": 1}', b' {"a": 1}'),
            ("hex", "00 Ff", b"\0\xff"),
            ("base64", "AP8=\n", b"\0\xff"),
            ("int", "-2", b"\xff\xff\xff\xfe"),
            ("long", "4294967296", b"\0\0\0\1\0\0\0\0"),
        ):
            self.assertEqual(encode(Typed(name, text), {}), data)
            self.assertEqual(SIMPLE[name](data).fault, "")
            self.assertIsNone(encode(Typed(name, None), {}))

    @settings(deadline=None, suppress_health_check=SLOW)
    @given(st.binary(max_size=40))
    def test_back(self, data: bytes) -> None:
        """Bytes that were shown in hexadecimal or base64 can be sent again as they are."""
        for name in ("hex", "base64"):
            self.assertEqual(encode(Typed(name, SIMPLE[name](data).text), {}), data)

    def test_schemas(self) -> None:
        """JSON becomes a message of a schema, which begins with its id."""
        for number, (kind, name) in enumerate(
            ((SchemaType.AVRO, "avro"), (SchemaType.JSON, "json-schema"), (SchemaType.PROTOBUF, "protobuf")),
            1,
        ):
            schemas = {f"id:{number}": described(kind, number)}
            text = '{"id":5}' if kind is SchemaType.JSON else '{"id":5,"who":"é"}'
            data = encode(Typed(name, text, f"id:{number}"), schemas)
            assert data is not None
            self.assertEqual(framing.prefix_id(data), number)
            known = Schemas()
            known.take(schemas)
            shown = RegisteredFormat(name, known, "").decode(data, []).shown(100)
            self.assertEqual(shown["text"], text)

    def test_refused(self) -> None:
        """A text that is not what its format takes is refused, with the reason."""
        self.fails("json", "{", "no JSON")
        self.fails("json", "[" * 100_000, "nested too deeply")
        self.fails("hex", "0g", "no hexadecimal digits")
        self.fails("hex", "0", "no hexadecimal digits")
        self.fails("base64", "a", "no base64")
        self.fails("int", "2147483648", "no int")
        self.fails("long", "x" * 10_000, "no long")
        self.fails("text", "\ud800", "half of one")
        self.fails("xml", "a", f"there are {', '.join(FORMATS)}")
        self.fails("avro", "{", "no JSON")
        self.fails("avro", '{"id":"a","who":"b"}', "does not match")
        self.fails("avro", '{"no":1}', "no field 'no'")
        self.fails("protobuf", "{}", "of type AVRO")
        error = self.assertRaises(
            BadText, encode, Typed("avro", "{}", "id:9"), {"id:9": {"error": "not found"}}
        )
        self.assertIn("there is no schema: not found", str(error))
