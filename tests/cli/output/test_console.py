"""Tests of kafkatx.cli.output.console: what DefaultMessageFormatter of Apache Kafka prints."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Columns
from kafkatx.cli.output.console import BadProperty, ConsoleRenderer
from kafkatx.cli.output.terminal import readable

ROWS = Columns(
    [5, 6],
    [1700, -1],
    [1, -1],
    [b"key", None],
    [b"value\xff", None],
    [[("a", b"1"), ("b", None)], []],
)


def printed(**properties: str) -> bytes:
    """Return what is printed with these properties, written with ``_`` for ``.``."""
    return ConsoleRenderer({name.replace("_", "."): text for name, text in properties.items()}).render(
        3, ROWS
    )


class ConsoleTests(SynchronousTestCase):
    def test_default(self) -> None:
        """Only values are printed; a null is the word null."""
        self.assertEqual(printed(), b"value\xff\nnull\n")

    def test_all(self) -> None:
        """The fields are in Kafka's order, with tabs between them."""
        names = ("timestamp", "partition", "offset", "headers", "key")
        self.assertEqual(
            printed(**{f"print_{name}": "true" for name in names}),
            b"LogAppendTime:1700\tPartition:3\tOffset:5\ta:1,b:null\tkey\tvalue\xff\n"
            b"NO_TIMESTAMP\tPartition:3\tOffset:6\tNO_HEADERS\tnull\tnull\n",
        )

    def test_separators(self) -> None:
        """Separators and the literal for null can be chosen."""
        found = printed(print_key="true", key_separator="=", line_separator=";", null_literal="-")
        self.assertEqual(found, b"key=value\xff;-=-;")

    def test_no_value(self) -> None:
        """Without values the last field ends the line."""
        self.assertEqual(printed(print_value="false", print_key="TRUE"), b"key\nnull\n")

    def test_terminal(self) -> None:
        """At a terminal bytes of records are escaped."""
        self.assertEqual(ConsoleRenderer({}, readable).render(3, ROWS), b"value\\xff\nnull\n")

    def test_wrong(self) -> None:
        """An unknown property and a wrong value are refused."""
        self.assertRaises(BadProperty, printed, print_epoch="true")
        self.assertRaises(BadProperty, printed, print_key="yes")
