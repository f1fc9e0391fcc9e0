"""Pages of lists: a search in names, an order, a part. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import attrs

from kafkatx.broker.console.cluster.turns import Turns
from kafkatx.broker.console.errors import invalid
from kafkatx.web.calls import Call

T = TypeVar("T")

MOST, DEFAULT = 1000, 100
MOST_OFFSET = 10**9

QUERY: Mapping[str, str] = MappingProxyType(
    {
        "search": "a part of the name, in any case of letters",
        "sort": "a field; - before it: the largest first",
        "offset": "items to leave out",
        "count": f"items in the answer, at most {MOST}",
    }
)
"""The parameters of lists."""


@attrs.frozen
class Page:
    """A request for a part of a list.

    :ivar sort: the field; empty for the order of names.
    """

    search: str = ""
    sort: str = ""
    descending: bool = False
    offset: int = 0
    count: int = DEFAULT

    @classmethod
    def of(cls, call: Call, fields: Iterable[str] = ()) -> Page:
        """Return the page that a request asks for.

        :param fields: those that it may be sorted by.
        :raises ConsoleError: a parameter is wrong.
        """
        sort = call.text("sort")
        name = sort.removeprefix("-")
        if name and name not in set(fields):
            raise invalid(f"sort={name[:40]}: the list can be sorted by {', '.join(sorted(fields))}")
        return cls(
            call.text("search").casefold(),
            name,
            sort.startswith("-"),
            number(call, "offset", 0, 0, MOST_OFFSET),
            number(call, "count", DEFAULT, 1, MOST),
        )

    def matches(self, name: str) -> bool:
        """Return True if a name has the text that is searched for."""
        return not self.search or self.search in name.casefold()


def number(call: Call, name: str, default: int, low: int, high: int) -> int:
    """Return a parameter that is a whole number.

    :raises ConsoleError: it is none, or out of its range.
    """
    text = call.text(name)
    if not text:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19) or not low <= int(text) <= high:
        raise invalid(f"{name}={text[:40]}: it must be a whole number from {low} to {high}")
    return int(text)


class Listing(Generic[T]):
    """The order of a list.

    :param name: returns the name of an item, by which it is found, and sorted by default.
    :param fields: returns what an item is sorted by, for each field.
    :param keeps_order: True if items stay in their order unless a request sorts them.
    """

    def __init__(
        self,
        name: Callable[[T], str],
        fields: Mapping[str, Callable[[T], Any]],
        keeps_order: bool = False,
    ) -> None:
        self._name = name
        self._keeps_order = keeps_order
        self.fields = fields

    @classmethod
    def of_items(cls, name: str, *fields: str) -> Listing[Any]:
        """Return the order of a list of dicts.

        :param name: the key of the name, by which it can be sorted, too.
        :param fields: further keys by which it can be sorted.
        """
        return Listing(itemgetter(name), {key: itemgetter(key) for key in (name, *fields)})

    def page(self, call: Call, items: Iterable[T]) -> dict[str, object]:
        """Return the page of a short list that a request asks for.

        :raises ConsoleError: a parameter is wrong.
        """
        total, shown = self.cut(Page.of(call, self.fields), items)
        return {"total": total, "items": shown}

    def cut(self, page: Page, items: Iterable[T]) -> tuple[int, Sequence[T]]:
        """Return the number of items that fit, and the page of them; unknown values (None) are last."""
        return self._cut(page, [item for item in items if page.matches(self._name(item))])

    async def cut_long(
        self, page: Page, items: Iterable[T], turns: Turns, sees: Callable[[T], bool]
    ) -> tuple[int, Sequence[T]]:
        """Return a page as :meth:`cut` does, of a long list, in turns.

        :param sees: tells if the user may know of an item.
        """
        found, value = [], self._value(page)
        for item in items:
            if page.matches(self._name(item)) and sees(item):
                found.append((item, value(item)))
            await turns.step()
        return self._order(page, found)

    def _cut(self, page: Page, found: list[T]) -> tuple[int, Sequence[T]]:
        value = self._value(page)
        return self._order(page, [(item, value(item)) for item in found])

    def _value(self, page: Page) -> Callable[[T], Any]:
        """Return the function that gives what a page is sorted by."""
        return self.fields[page.sort] if page.sort else lambda item: None

    def _order(self, page: Page, found: list[tuple[T, Any]]) -> tuple[int, Sequence[T]]:
        """Return the number of items, and the page of them.

        :param found: items with what they are sorted by.
        """
        if not self._keeps_order:
            found.sort(key=lambda pair: self._name(pair[0]))
        if page.sort:
            known = [pair for pair in found if pair[1] is not None]
            known.sort(key=itemgetter(1), reverse=page.descending)
            found = known + [pair for pair in found if pair[1] is None]
        return len(found), [item for item, _ in found[page.offset : page.offset + page.count]]
