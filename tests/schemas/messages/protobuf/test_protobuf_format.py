"""Tests of kafkatx.schemas.messages.protobuf.protobuf_format."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.framing import encode_indexes
from kafkatx.schemas.messages.errors import BadPayload, BadValue
from kafkatx.schemas.messages.protobuf.message_values import as_dict
from kafkatx.schemas.messages.protobuf.protobuf_format import ProtobufFormat
from kafkatx.schemas.messages.reader_schema import ReaderSchema
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType
from tests.schemas.messages.orders import TEXT, classes
from tests.schemas.messages.protobuf import moved

PREFIX = b"\0\0\0\0\7"


@attrs.frozen
class Line:
    """An object with the fields of a message."""

    name: str
    raw: bytes = b""


class ProtobufTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a format, and classes of messages."""
        self.format = ProtobufFormat()
        self.order, self.line, self.other = classes()
        found = self.format.schema_of(self.order)
        assert found is not None
        self.schema, self.name = found

    def test_schema_of(self) -> None:
        """A class tells the schema of its file, and its own name; other classes tell none."""
        self.assertEqual(self.name, "acme.Order")
        self.assertEqual(self.format.schema_of(self.line), (self.schema, "acme.Order.Line"))
        self.assertEqual(self.format.name(self.schema, {}), "acme.Order")
        self.assertIsNone(self.format.schema_of(dict))

    def test_indexes(self) -> None:
        """The message's place in the file stands behind the prefix, or is given for the header."""
        for kind, path in ((self.order, (0,)), (self.line, (0, 0)), (self.other, (1,))):
            encoded = encode_indexes(path)
            indexes, write = self.format.writer(self.schema, {}, PREFIX, kind)
            message = kind()
            self.assertEqual((indexes, write(message)), (encoded, PREFIX + encoded))
            indexes, write = self.format.writer(self.schema, {}, b"", kind)
            self.assertEqual((indexes, write(message)), (encoded, b""))

    def test_round_trip(self) -> None:
        """Messages of classes made from the schema have the fields that were written."""
        read = self.format.reader(self.schema, {}, None)
        for kind, value in (
            (self.order, self.order(id=1, item="a", lines=[self.line(name="x", raw=b"\xff")])),
            (self.line, self.line(name="y")),
            (self.other, self.other(number=-1)),
        ):
            data = self.format.writer(self.schema, {}, PREFIX, kind)[1](value)
            found = read(data, 5)
            self.assertEqual(as_dict(found), as_dict(value))
            self.assertEqual(as_dict(read(memoryview(data), 5)), as_dict(value))  # type: ignore[arg-type]
            as_target = self.format.reader(self.schema, {}, kind)(data, 5)
            self.assertEqual(as_target, value)

    def test_header_form(self) -> None:
        """Indexes from a header choose the message; the payload has none."""
        indexes, write = self.format.writer(self.schema, {}, b"", self.other)
        read = self.format.reader(self.schema, {}, None, indexes)
        self.assertEqual(read(write(self.other(number=5)), 0).number, 5)

    def test_dicts(self) -> None:
        """Dicts and objects become messages of the schema."""
        write = self.format.writer(self.schema, {}, PREFIX, None)[1]
        expected = write(self.order(id=1, lines=[self.line(name="a", raw=b"b")]))
        self.assertEqual(write({"id": 1, "lines": [Line("a", b"b")]}), expected)
        self.assertEqual(write({"id": "1", "lines": [{"name": "a", "raw": "Yg=="}]}), expected)

    def test_bad_values(self) -> None:
        """Values with other fields or types, and other messages, are refused."""
        write = self.format.writer(self.schema, {}, PREFIX, None)[1]
        for value in ({"no": 1}, {"id": "x"}, {"lines": [{"no": 1}]}, 7, self.other(number=1), object()):
            self.assertRaises(BadValue, write, value)

    def test_bad_payloads(self) -> None:
        """Payloads that are cut off, or name no message, are refused."""
        read = self.format.reader(self.schema, {}, None)
        data = self.format.writer(self.schema, {}, PREFIX, self.order)[1](self.order(id=300, item="abc"))
        for bad in (data[:5], data[:-1], PREFIX + b"\2\x0e", PREFIX + b"\6\0\0\0", PREFIX + b"\0\xff"):
            self.assertRaises(BadPayload, read, bad, 5)

    def test_text(self) -> None:
        """A text has the messages of the same indexes as the descriptor."""
        found = self.format.schema_of(TEXT)
        assert found is not None
        self.assertEqual(found[1], "acme.Order")
        data = self.format.writer(found[0], {}, PREFIX, None)[1]({"id": 1, "lines": [Line("a")]})
        read = self.format.reader(self.schema, {}, None)
        self.assertEqual(as_dict(read(data, 5)), {"id": "1", "lines": [{"name": "a"}]})

    def test_target(self) -> None:
        """A target that is neither a class of messages nor a schema nor a name is refused."""
        self.assertRaises(InvalidSchema, self.format.reader, self.schema, {}, dict)


class ReaderTests(SynchronousTestCase):
    """The message that the writer's schema and the indexes name is read, and no other."""

    def read(self, written: Schema, target: Any, data: bytes, indexes: bytes | None = None) -> Any:
        """Return the name and the fields of a message."""
        found = ProtobufFormat().reader(written, {}, target, indexes)(data, 0)
        return found.DESCRIPTOR.full_name, as_dict(found)

    def test_moved(self) -> None:
        """A message that has another place in the reader's schema is found there by its name."""
        reader = ReaderSchema(moved.SECOND)
        for target in (reader, moved.SECOND, moved.SECOND.text, ReaderSchema(moved.SECOND, message="s.O")):
            found = [
                self.read(moved.FIRST, target, moved.OF_FIRST),
                self.read(moved.SECOND, target, moved.OF_SECOND),
            ]
            self.assertEqual(found, [("s.O", {"id": "A1", "c": "995"}), ("s.O", {"id": "A2", "c": "996"})])
        as_first = self.read(moved.SECOND, ReaderSchema(moved.FIRST), moved.OF_SECOND)
        self.assertEqual(as_first, ("s.O", {"id": "A2", "c": "996"}))

    def test_others(self) -> None:
        """Messages of other names than the reader's are refused, also if they are in its schema."""
        for target in (ReaderSchema(moved.SECOND, message="s.O"), ReaderSchema(moved.FIRST), "s.O"):
            error = self.assertRaises(BadPayload, self.read, moved.SECOND, target, moved.ADDRESS_OF_SECOND)
            self.assertIn("s.A", str(error))
        self.assertEqual(self.read(moved.SECOND, "s.A", moved.ADDRESS_OF_SECOND)[0], "s.A")
        self.assertEqual(self.read(moved.SECOND, None, moved.ADDRESS_OF_SECOND)[0], "s.A")

    def test_removed(self) -> None:
        """A message that the reader's schema does not have is refused."""
        self.assertRaises(BadPayload, self.read, moved.FIRST, ReaderSchema(moved.WITHOUT), moved.OF_FIRST)

    def test_other_type(self) -> None:
        """A field that is written in another way would be read as another value: the message is refused."""
        error = self.assertRaises(
            BadPayload, self.read, moved.FIRST, ReaderSchema(moved.OTHER_TYPE), moved.OF_FIRST
        )
        self.assertIn("zigzag", str(error))

    def test_class(self) -> None:
        """A class takes messages of its name alone."""
        order, _, other = classes()
        schema = Schema(TEXT.replace("message Order", "message New {} message Order"), SchemaType.PROTOBUF)
        data = encode_indexes((1,)) + order(id=1).SerializeToString()
        self.assertEqual(self.read(schema, order, data), ("acme.Order", {"id": "1"}))
        self.assertRaises(BadPayload, self.read, schema, order, encode_indexes((2,)))
        self.assertRaises(BadPayload, self.read, schema, other, data)

    def test_header(self) -> None:
        """Indexes of a header are held to the same rules, and damaged ones are refused."""
        reader, payload = ReaderSchema(moved.SECOND, message="s.O"), moved.OF_FIRST[1:]
        found = self.read(moved.SECOND, reader, payload, encode_indexes((1,)))
        self.assertEqual(found, ("s.O", {"id": "A1", "c": "995"}))
        for indexes in (b"\0", b"\2", b"", b"\2\x0e"):
            self.assertRaises(BadPayload, self.read, moved.SECOND, reader, payload, indexes)
