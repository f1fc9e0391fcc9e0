"""Masks."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import SettingError
from kafkatx.views.formats.content import Content, nothing
from kafkatx.views.formats.masks import Masks, Rule, masked, masked_row, read_rule
from kafkatx.views.formats.simple import as_json


class RuleTests(SynchronousTestCase):
    def test_read(self) -> None:
        """A rule has a pattern of topics and a path, which is in the value unless it says otherwise."""
        for text, path in (
            ("orders*:customer.email", ("value", "customer", "email")),
            ("orders*: value.email", ("value", "email")),
            ("orders*:key", ("key",)),
            ("orders*:key.id", ("key", "id")),
            ("orders*:headers.token", ("headers", "token")),
        ):
            self.assertEqual(read_rule(text), Rule("orders*", path))

    def test_wrong(self) -> None:
        """A rule without topics or field is refused: it would hide nothing."""
        for text in ("", "email", ":email", "orders:", "orders:a..b", "orders:.a"):
            self.assertIn("console.masking", str(self.assertRaises(SettingError, read_rule, text)))

    def test_of_topic(self) -> None:
        """Rules count for the topics that fit their pattern."""
        rules = [read_rule(one) for one in ("orders*:a", "*:headers.token", "orders-eu:key", "Orders:b")]
        masks = Masks.of(rules, "orders-eu")
        self.assertEqual((masks.key, masks.value), (((),), (("a",),)))
        self.assertTrue(masks.hides_header("token"))
        self.assertFalse(masks.hides_header("trace"))
        self.assertEqual(Masks.of(rules, "other"), Masks(headers=(("token",),)))


class MaskTests(SynchronousTestCase):
    def masked(self, data: bytes, *paths: str) -> Content:
        """Mask JSON."""
        return masked(as_json(data), [tuple(path.split(".")) for path in paths])

    def test_fields(self) -> None:
        """Fields are hidden in objects, in lists of them, and wherever a star stands."""
        found = self.masked(
            b'{"a":{"b":1,"c":2},"d":[{"b":3},{"c":4}],"e":{"x":{"b":5}}}', "a.b", "d.b", "e.*.b"
        )
        self.assertEqual(
            found.shown(1000)["text"],
            '{"a":{"b":"***","c":2},"d":[{"b":"***"},{"c":4}],"e":{"x":{"b":"***"}}}',
        )
        self.assertIn("console.masking", found.fault)

    def test_whole(self) -> None:
        """A field is hidden with all that is in it."""
        self.assertEqual(self.masked(b'{"a":{"b":1}}', "a").value, {"a": "***"})
        self.assertEqual(self.masked(b'{"a":1,"b":2}', "*").value, {"a": "***", "b": "***"})

    def test_text_is_made_anew(self) -> None:
        """A field that an object has twice is not shown by the text as it was."""
        found = self.masked(b'{"a":{"b":"x17"},"a":5}', "a.b")
        self.assertEqual((found.shown(100)["text"], found.fault), ('{"a":5}', ""))

    def test_json_within_a_text(self) -> None:
        """A text in which a rule has a field is hidden: it may be JSON."""
        found = self.masked(b'{"a":"{\\"b\\":\\"x17\\"}","c":["{}",1,null]}', "a.b", "c.b")
        self.assertEqual(found.value, {"a": "***", "c": ["***", 1, None]})

    def test_row(self) -> None:
        """A row of an installed decoder is shown only if it has the fields that rules are about."""
        row = as_json(b'{"client":"x17","path":"/a"}')
        self.assertEqual(masked_row(row, [("client",)]).value, {"client": "***", "path": "/a"})
        for paths in ([("email",)], [("client",), ("email", "x")]):
            self.assertEqual(masked_row(row, paths).text, "***")
        self.assertEqual(masked_row(as_json(b'"x17"'), [("a",)]).text, "***")
        self.assertEqual(masked_row(nothing(), [("a",)]).format, "null")

    def test_no_fields(self) -> None:
        """A value that is no object is hidden as a whole; null stays null."""
        self.assertEqual(self.masked(b'"x17"', "a").text, "***")
        self.assertEqual(masked(nothing(), [("a",)]).format, "null")
        self.assertEqual(masked(as_json(b'{"a":1}'), [()]).text, "***")
        content = as_json(b"{}")
        self.assertIs(masked(content, []), content)
