"""Pages of lists."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.api.lists import Listing, Page, number
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.web.calls import Call

ITEMS: list[dict[str, Any]] = [
    {"name": "b", "size": 2},
    {"name": "a", "size": None},
    {"name": "Ab", "size": 3},
    {"name": "c", "size": 1},
    {"name": "d", "size": 2},
]
LISTING = Listing[dict[str, Any]](lambda one: one["name"], {"size": lambda one: one["size"]})


def call(query: str) -> Call:
    """Return a request with a query."""
    return Call("GET", "/", (), parse_qs(query, keep_blank_values=True))


class PagingTests(SynchronousTestCase):
    def names(self, query: str) -> tuple[int, str]:
        """Return the number of items, and the names of a page."""
        total, items = LISTING.cut(Page.of(call(query), LISTING.fields), ITEMS)
        return total, " ".join(one["name"] for one in items)

    def test_pages(self) -> None:
        """A page has the items that fit, in order: those with unknown values last, equal ones by name."""
        for query, expected in (
            ("", (5, "Ab a b c d")),
            ("sort=size", (5, "c b d Ab a")),
            ("sort=-size", (5, "Ab b d c a")),
            ("offset=1&count=2", (5, "a b")),
            ("offset=9", (5, "")),
            ("search=B", (2, "Ab b")),
            ("search=%5B", (0, "")),
            ("sort=-size&search=a&count=1", (2, "Ab")),
        ):
            self.assertEqual(self.names(query), expected, query)

    def test_wrong(self) -> None:
        """Fields that there are not, and numbers out of range are refused."""
        for query in (
            "sort=name",
            "sort=--size",
            "count=0",
            "count=1001",
            "offset=-1",
            "offset=x",
            "count=1e3",
        ):
            with self.assertRaises(ConsoleError, msg=query) as caught:
                self.names(query)
            self.assertEqual(caught.exception.status, 400)

    def test_number(self) -> None:
        """A parameter that is missing has its default."""
        self.assertEqual([number(call(query), "n", 3, -5, 9) for query in ("", "n=", "n=-5")], [3, 3, -5])
