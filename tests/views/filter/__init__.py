"""Tests of :mod:`kafkatx.views.filter`."""

from __future__ import annotations

from decimal import Decimal

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.filter.compiler import Filter
from kafkatx.views.filter.errors import FilterError


@attrs.define
class Record:
    """The values of a record."""

    key: object = None
    value: object = None
    headers: object = attrs.Factory(dict)
    offset: int = 7
    partition: int = 2
    timestamp: int = 1_700_000_000_000


ORDER = Record(
    key="order-17",
    value={
        "order": {"total": 120.5, "lines": [{"sku": "a"}, {"sku": "b", "count": 3}]},
        "status": "paid",
        "note": None,
        "amount": Decimal("12.50"),
        "a b": True,
        "__deleted": "false",
    },
    headers={"trace": "abc"},
)


class FilterCase(SynchronousTestCase):
    def accepts(self, text: str, record: Record = ORDER) -> bool:
        """Compile a filter and ask it."""
        return Filter(text).accepts(record)

    def assert_accepts(self, *texts: str) -> None:
        """Check that filters accept the order."""
        for text in texts:
            self.assertTrue(self.accepts(text), text)

    def assert_rejects(self, *texts: str) -> None:
        """Check that filters do not accept the order."""
        for text in texts:
            self.assertFalse(self.accepts(text), text)

    def fails(self, text: str, message: str, column: int) -> None:
        """Check the error of a filter, and its place."""
        error = self.assertRaises(FilterError, Filter, text)
        self.assertIn(message, str(error))
        self.assertEqual(error.column, column, str(error))
