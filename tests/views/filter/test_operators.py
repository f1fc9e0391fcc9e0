"""The operators of filters."""

from __future__ import annotations

from tests.views.filter import FilterCase, Record


class ValueTests(FilterCase):
    def test_look_ups(self) -> None:
        """Fields, items and parts are found, with a dot or in brackets; indexes may be negative."""
        self.assert_accepts(
            "value.order.total == 120.5",
            'value["order"]["total"] == 120.5',
            "value.order.lines[1].sku == 'b'",
            "value.order.lines[-1].count == 3",
            "value['a b']",
            "key[:5] == 'order' and key[-2:] == '17' and key[0] == 'o'",
            "len(value.order.lines[1:]) == 1",
            "headers.trace == 'abc' and headers['trace'] == 'abc'",
            "offset == 7 and partition == 2 and timestamp >= 1700000000000",
        )

    def test_missing(self) -> None:
        """A missing field is like None, and neither less nor greater than anything; exists tells it apart."""
        self.assert_accepts(
            "value.no.such[3].field == None",
            "value.order.lines[99] is null",
            "value.note is None",
            "exists(value.note) and not exists(value.nothing)",
            "not value.nothing",
            "value.nothing != 'a'",
        )
        self.assert_rejects(
            "value.nothing > 1", "value.nothing <= 1", "value.note < 1", "'a' in value.nothing", "key.order"
        )
        self.assertTrue(self.accepts("value is None", Record()))

    def test_python_is_out_of_reach(self) -> None:
        """Names of Python's attributes are names of fields, and nothing else."""
        self.assert_accepts(
            "value.__class__ is None",
            "key.__class__.__mro__ is None",
            "value.__init__.__globals__ is None",
            "value.__deleted == 'false'",
            "not exists(value.items) and not exists(key.upper)",
        )
        for name in ("__import__", "open", "eval", "getattr", "type", "print"):
            self.fails(f"{name}('x')", "there is no function", 1)
        self.fails("(key or value)('x')", "there is no function", 1)
        self.fails("value.__class__('x')", "there is no function", 1)
        self.fails("__builtins__ == 1", "there is no name", 1)

    def test_comparisons(self) -> None:
        """Numbers are compared with numbers, texts with texts; comparisons may be chained."""
        self.assert_accepts(
            "100 < value.order.total <= 120.5",
            "value.status in ('paid', 'sent') and value.status not in ['new']",
            "'rder' in key and 'sku' in value.order.lines[0]",
            "value.amount > 12 and value.amount + 0.5 == 13",
            "'a' < key < 'p'",
            "value['a b'] == true",
        )
        self.assert_rejects(
            "key > 5", "value.order > 1", "1 < key", "value['a b'] > 0", "3 in key", "1 < 2 < 1"
        )

    def test_logic(self) -> None:
        """And, or and not work as in Python, and look no further than needed."""
        self.assert_accepts(
            "(value.nothing or value.status) == 'paid'",
            "value.status and not value.nothing or false",
            "not (false and value)",
            "1 and 2 and 3",
        )
        self.assert_rejects("value.status and null", "0 or '' or false", "true and 0 and 1")

    def test_calculations(self) -> None:
        """Numbers can be calculated with; what makes no sense is missing, and no error."""
        self.assert_accepts(
            "offset % 2 == 1 and offset // 2 == 3 and offset / 2 == 3.5",
            "-offset + 10 - 1 * 2 == 1 and +offset == 7",
        )
        self.assert_rejects(
            "exists(offset / 0)",
            "exists(offset % 0)",
            "exists(value * 2)",
            "exists(-value)",
            "exists(key % 2)",
        )
        self.fails("'a' * 10", "texts cannot", 1)
        self.fails("3 * 'a'", "texts cannot", 5)
