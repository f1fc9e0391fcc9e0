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

    def test_undecoded(self) -> None:
        """A value that could not be decoded is not null, equals nothing, and can be searched for."""
        tombstone, null, text, other = None, b"null", b'"a"', b"\x00\x00\x00\x00\x07x"
        for expression, found in (
            ("value == null", [tombstone, null]),
            ("value is None", [tombstone, null]),
            ("value != null", [text, other]),
            ("undecoded(value)", [other]),
            ("not undecoded(value)", [tombstone, null, text]),
            ("value.x == null", [tombstone, null, text]),
            ("value[0] == null", [tombstone, null]),
            ("value[:1] == null or lower(value) == null or len(value) == null", [tombstone, null]),
            ("-value == null or value + 1 == null or int(value) == null", [tombstone, null, text]),
            ("str(value) == null or value in (null, 1)", [tombstone, null]),
            ("exists(value)", [tombstone, null, text]),
            ("value == value", [tombstone, null, text]),
        ):
            request = ViewRequest("t", expression, value_format="json")
            filtering = View.of(request, Schemas()).filter
            assert filtering is not None
            rows = [
                self.seen(Row(0, 0, "create", value=value), request)
                for value in (tombstone, null, text, other)
            ]
            matching = [seen.row.value for seen in rows if filtering.accepts(seen)]
            self.assertEqual(matching, found, expression)

    def test_not_shown(self) -> None:
        """A record without its contents has their sizes."""
        shown = self.seen(Row(5, 6, "create", b"k", None)).not_shown("why")
        self.assertEqual(shown["key"], {"format": "hidden", "text": None, "size": 1, "truncated": False})
        self.assertEqual((shown["offset"], shown["fault"]), ("5", "why"))

    def test_wrong(self) -> None:
        """A view with a wrong filter or format is refused."""
        self.assertRaises(FilterError, self.seen, Row(0, 0, "none"), ViewRequest("t", "1 +"))
        self.assertRaises(ValueError, self.seen, Row(0, 0, "none"), ViewRequest("t", None, "xml"))
