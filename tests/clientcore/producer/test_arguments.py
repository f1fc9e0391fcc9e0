"""Tests of kafkatx.clientcore.producer.arguments."""

from __future__ import annotations

from array import array
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.producer import arguments


class ArgumentsTests(SynchronousTestCase):
    def error(self, check: Any, *args: Any, expected: type[Exception] = TypeError) -> str:
        """Return the message of the error that a check raises."""
        return str(self.assertRaises(expected, check, *args))

    def test_bytes(self) -> None:
        """Bytes are returned as they are; every other buffer is copied."""
        data = b"abc"
        self.assertIs(arguments.checked_bytes("value", data), data)
        for buffer in (bytearray(data), memoryview(data), array("b", data)):
            found = arguments.checked_bytes("value", buffer)
            self.assertEqual((type(found), found), (bytes, data))

    def test_str(self) -> None:
        """A str is refused with its name, its type and both cures."""
        for what in ("key", "value"):
            self.assertEqual(
                self.error(arguments.checked_bytes, what, "text"),
                f"a record's {what} must be bytes, not str: encode it, or set {what}.serializer=string",
            )

    def test_other_types(self) -> None:
        """Objects that are no buffers are refused, and the serializer is left to the caller."""
        for value in (1, 1.5, True, None, [b"x"], {}, object()):
            self.assertEqual(
                self.error(arguments.checked_bytes, "value", value),
                f"a record's value must be bytes, not {type(value).__name__}:"
                " encode it, or set value.serializer",
            )

    def test_values(self) -> None:
        """A list of bytes is returned itself; other buffers are copied; a str or None in it is refused."""
        values = [b"a", b"b"]
        self.assertIs(arguments.checked_values(values), values)
        self.assertEqual(arguments.checked_values([b"a", bytearray(b"b")]), values)
        self.assertIn("not str: encode it", self.error(arguments.checked_values, [b"a", "b"]))
        self.assertIn("must not contain None", self.error(arguments.checked_values, [b"a", None]))

    def test_value_list(self) -> None:
        """A single value in place of a list is refused."""
        arguments.check_value_list([b"a"])
        arguments.check_value_list((b"a",))
        for value in ("text", b"data", bytearray(b"data"), memoryview(b"data"), 1, None):
            self.assertEqual(
                self.error(arguments.check_value_list, value),
                f"values must be a list of values, not a single {type(value).__name__}",
            )

    def test_headers(self) -> None:
        """Headers are copied; names are str and values bytes or None."""
        given: Any = [("a", b"1"), ("b", None), ("c", bytearray(b"2"))]
        self.assertEqual(arguments.checked_headers(given), (("a", b"1"), ("b", None), ("c", b"2")))
        self.assertEqual(
            self.error(arguments.checked_headers, [("a", "text")]),
            "the value of header 'a' must be bytes or None, not str: encode it",
        )
        self.assertIn("must be str, not bytes", self.error(arguments.checked_headers, [(b"a", b"1")]))
        for headers in (1, [1], ["abc"], [("a",)]):
            self.assertIn("must be pairs", self.error(arguments.checked_headers, headers))
        self.error(arguments.checked_headers, [("\ud800", b"")], expected=ValueError)

    def test_timestamp(self) -> None:
        """A timestamp is an int from 0 to 2^63 - 1."""
        for timestamp_ms in (0, arguments.TIMESTAMP_MAX):
            arguments.check_timestamp(timestamp_ms)
        self.assertIn("not float", self.error(arguments.check_timestamp, 1.0))
        for timestamp_ms in (-1, arguments.TIMESTAMP_MAX + 1):
            self.error(arguments.check_timestamp, timestamp_ms, expected=ValueError)

    def test_partition_and_topic(self) -> None:
        """A partition is an int, a topic a str."""
        arguments.check_partition(0)
        arguments.check_topic("t")
        self.assertEqual(self.error(arguments.check_partition, "0"), "partition must be an int, not str")
        self.assertEqual(self.error(arguments.check_topic, b"t"), "topic must be a str, not bytes")
