"""Tests of reading and writing JSON objects in nodes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.layout.fields import (
    Fields,
    UnreadableNode,
    encode,
    id_text,
    natural,
    parse,
    parse_id,
    quoted,
)

PATH = "/brokers/topics/T"


class ParseTests(SynchronousTestCase):
    def test_not_an_object(self) -> None:
        """Content that is not one JSON object in UTF-8 is an UnreadableNode that quotes it."""
        for data in (
            b"",
            b"{",
            b"[1]",
            b"null",
            b"\xff{}",
            b'{"a":NaN}',
            b'{"a":Infinity}',
            b'{"a":"\\ud800"}',
            b"{} {}",
            b"[" * 100_000,
            b'{"a":' + b"9" * 10_000 + b"}",
        ):
            with self.assertRaises(UnreadableNode) as caught:
                parse(PATH, data)
            self.assertEqual(caught.exception.path, PATH)
            self.assertIn("JSON", caught.exception.supported)
            self.assertLess(len(str(caught.exception)), 500)

    def test_message(self) -> None:
        """The message names the node, the content on one line, and what kafkatx can read."""
        with self.assertRaises(UnreadableNode) as caught:
            parse("/controller", b'{"version":7}').version(1, 2)
        self.assertEqual(
            str(caught.exception),
            'node /controller cannot be read: found "version":7; supported: version 1 to 2. '
            "A newer or another program has written it, or it is damaged",
        )
        with self.assertRaises(UnreadableNode) as caught:
            parse("/controller", b"\x1b[31m\nred")
        self.assertNotIn("\x1b", str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_surrogate_pairs(self) -> None:
        """A character that JSON writes as two escapes is read as one."""
        self.assertEqual(parse(PATH, b'{"a":"\\ud83d\\ude00"}').text("a"), "\N{GRINNING FACE}")


class FieldsTests(SynchronousTestCase):
    def test_types(self) -> None:
        """A key of another type than expected is an error that names it; true is no number."""
        readers: dict[str, tuple[Callable[[Fields, str], object], list[object]]] = {
            "integer": (Fields.integer, [True, "1", 1.0, None, -2, 2**31, [1]]),
            "flag": (Fields.flag, [1, "true", None]),
            "text": (Fields.text, [1, None, ["a"]]),
            "number_text": (Fields.number_text, [1, "-1", "1.5", "", "²", str(2**63), None]),
            "integers": (Fields.integers, [[True], ["1"], [-1], 1, {"0": 1}, None]),
            "texts": (Fields.texts, [[1], "a", None]),
            "items": (Fields.items, [1, {}]),
            "object": (Fields.object, [1, [], None]),
            "text_map": (Fields.text_map, [{"a": 1}, []]),
            "topic_id": (Fields.topic_id, ["", "short", 1, "!" * 22, "A" * 21 + "B"]),
        }
        for name, (reader, wrong) in readers.items():
            for value in wrong:
                with self.assertRaises(UnreadableNode, msg=f"{name} {value!r}") as caught:
                    reader(Fields(PATH, {"key": value}), "key")
                self.assertIn('"key', caught.exception.found)

    def test_missing(self) -> None:
        """The error for a key that is missing says so, with the objects that it is in."""
        with self.assertRaises(UnreadableNode) as caught:
            parse(PATH, b'{"a":{"b":{}}}').object("a").object("b").integer("c")
        self.assertEqual(caught.exception.found, 'no key "a.b.c"')

    def test_defaults(self) -> None:
        """A key that is missing or null has the default, if there is one."""
        for fields in (Fields(PATH, {}), Fields(PATH, {"key": None})):
            self.assertEqual(fields.integer("key", default=-1), -1)
            self.assertEqual(fields.number_text("key", default=5), 5)
            self.assertEqual(fields.texts("key", default=()), ())
            self.assertEqual(fields.items("key"), [])
            self.assertIsNone(fields.optional_text("key"))
            self.assertIsNone(fields.optional_object("key"))
            self.assertIsNone(fields.topic_id("key"))


class IdTests(SynchronousTestCase):
    def test_kafka(self) -> None:
        """An id is text as Kafka's Uuid writes it."""
        number = uuid.UUID("ffeeddcc-bbaa-9988-7766-554433221100")
        self.assertEqual(id_text(number), "_-7dzLuqmYh3ZlVEMyIRAA")
        self.assertEqual(parse_id("_-7dzLuqmYh3ZlVEMyIRAA"), number)

    def test_round_trip(self) -> None:
        """Random ids come back."""
        random = Random(4)
        for _ in range(200):
            number = uuid.UUID(int=random.getrandbits(128))
            self.assertEqual(parse_id(id_text(number)), number)

    def test_other_texts(self) -> None:
        """Text that is not exactly an id is none."""
        for text in ("", "A" * 21, "A" * 23, "+/7dzLuqmYh3ZlVEMyIRAA", "_-7dzLuqmYh3ZlVEMyIRAB", "ü" * 22):
            self.assertIsNone(parse_id(text))


class TextTests(SynchronousTestCase):
    def test_encode(self) -> None:
        """JSON is written as Jackson writes it: no spaces, and letters as they are."""
        self.assertEqual(encode({"a": 1, "b": ["ü", None]}), '{"a":1,"b":["ü",null]}'.encode())

    def test_natural(self) -> None:
        """Only digits without leading zeros up to the limit are a number."""
        self.assertEqual([natural(text) for text in ("0", "7", "2147483647")], [0, 7, 2147483647])
        for text in ("", "00", "01", "-1", "+1", " 1", "1_0", "2147483648", "9" * 30, "٣"):
            self.assertIsNone(natural(text))

    def test_quoted(self) -> None:
        """A long value is cut."""
        self.assertEqual(quoted("a"), '"a"')
        self.assertEqual(len(quoted("a" * 1000)), 123)
