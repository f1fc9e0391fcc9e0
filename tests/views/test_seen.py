"""Records as filters and people see them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.filter.errors import FilterError
from kafkatx.views.formats.registered import Schemas
from kafkatx.views.requests import ViewRequest
from kafkatx.views.rows import Row
from kafkatx.views.seen import HEADER_CHARACTERS, MOST_HEADERS, Seen, View


class SeenTests(SynchronousTestCase):
    def seen(self, row: Row, request: ViewRequest | None = None) -> Seen:
        """Look at a row."""
        return Seen(row, 2, View.of(request or ViewRequest("t"), Schemas()))

    def test_headers(self) -> None:
        """Headers are shown within bounds; a filter sees the last one of a name."""
        headers: list[tuple[str, bytes | None]] = [("a", b"\xff"), ("n", None), ("long", b"x" * 5000)]
        row = Row(0, 0, "create", headers=headers + [("a", b"{}")] * MOST_HEADERS)
        seen = self.seen(row)
        shown = seen.shown(100)
        listed = shown["headers"]
        assert isinstance(listed, list)
        self.assertEqual((len(listed), shown["headersLeftOut"]), (MOST_HEADERS, 3))
        self.assertEqual(listed[0]["value"]["text"], "ff")
        self.assertEqual(listed[1]["value"]["format"], "null")
        self.assertEqual(len(listed[2]["value"]["text"]), HEADER_CHARACTERS)
        self.assertEqual(seen.headers["a"], "{}")

    def test_not_shown(self) -> None:
        """A record without its contents has their sizes."""
        shown = self.seen(Row(5, 6, "create", b"k", None)).not_shown("why")
        self.assertEqual(shown["key"], {"format": "hidden", "text": None, "size": 1, "truncated": False})
        self.assertEqual((shown["offset"], shown["fault"]), ("5", "why"))

    def test_wrong(self) -> None:
        """A view with a wrong filter or format is refused."""
        self.assertRaises(FilterError, self.seen, Row(0, 0, "none"), ViewRequest("t", "1 +"))
        self.assertRaises(ValueError, self.seen, Row(0, 0, "none"), ViewRequest("t", None, "xml"))
