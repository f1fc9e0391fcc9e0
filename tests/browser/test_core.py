"""The pure modules of the console, run in the browser: texts, differences, JSON, events, addresses."""

from __future__ import annotations

from typing import Any

from tests.browser.case import SharedCase

CALL = """
const [module, expression, values, done] = arguments;
import(new URL(`static/${module}`, location.href.split("#")[0]).href)
  .then((found) => done({ value: apply(found, expression, values) }))
  .catch((error) => done({ error: String(error) }));
function apply(found, name, values) {
  if (name !== "EventParser") return found[name](...values);
  const events = [];
  const parser = new found.EventParser((event, data) => events.push([event, data]));
  for (const text of values) parser.feed(text);
  return events;
}
"""


class CoreTests(SharedCase):
    def setUp(self) -> None:
        """Open a page."""
        super().setUp()
        self.page.open("actions")

    def call(self, module: str, name: str, *values: object) -> Any:
        """Return what an exported function returns."""
        found = self.page.driver.execute_async_script(CALL, f"core/{module}.js", name, list(values))
        self.assertNotIn("error", found)
        return found["value"]

    def test_numbers(self) -> None:
        """Numbers, sizes and times are texts for people; int64 values keep all digits."""
        for name, value, text in (
            ("count", "9007199254740993", "9,007,199,254,740,993"),
            ("count", None, "\N{EN DASH}"),
            ("bytes", 999, "999 B"),
            ("bytes", "999999", "1.00 MB"),
            ("bytes", 1_540_000, "1.54 MB"),
            ("duration", 5_400_000, "1 h 30 min"),
            ("duration", -1, "unlimited"),
            ("duration", 604_800_000, "7 d"),
            ("compact", 1_234_567, "1.23M"),
            ("words", "PREPARE_ABORT", "prepare abort"),
            ("words", "CompletingRebalance", "completing rebalance"),
        ):
            self.assertEqual(self.call("text", name, value), text, (name, value))

    def test_json(self) -> None:
        """JSON is laid out without being read: numbers, escapes and order stay, and so do other texts."""
        text = '{"b":9007199254740993.10,"a":[],"c":[1,{"d":"x\\"}"}],"e":{}}'
        expected = (
            '{\n  "b": 9007199254740993.10,\n  "a": [],\n  "c": [\n    1,\n    {\n      "d": "x\\"}"\n    }\n'
            '  ],\n  "e": {}\n}'
        )
        self.assertEqual(self.call("pretty", "laidOut", text), expected)
        for other in ("plain", "{broken", "", "[1,", "\x00{}"):
            self.assertEqual(self.call("pretty", "laidOut", other), other)

    def test_difference(self) -> None:
        """Lines that are gone and new are found, with their numbers on both sides."""
        rows = self.call("diff", "difference", "a\nb\nc\nd", "a\nx\nc\nd\ne")
        found = [(row["kind"], row["left"], row["right"], row["text"]) for row in rows]
        self.assertEqual(
            found,
            [
                ("same", 1, 1, "a"),
                ("removed", 2, None, "b"),
                ("added", None, 2, "x"),
                ("same", 3, 3, "c"),
                ("same", 4, 4, "d"),
                ("added", None, 5, "e"),
            ],
        )
        self.assertEqual(self.call("diff", "difference", "a", "a")[0]["kind"], "same")

    def test_events(self) -> None:
        """Events are cut out of text however it comes; comments are ignored."""
        stream = ':\n\nevent: record\r\ndata: {"a":\r\ndata: 1}\r\n\r\nevent: end\ndata: {}\n\n'
        for size in (1, 2, 7, len(stream)):
            parts = [stream[at : at + size] for at in range(0, len(stream), size)]
            self.assertEqual(
                self.call("stream", "EventParser", *parts), [["record", {"a": 1}], ["end", {}]], size
            )

    def test_addresses(self) -> None:
        """Any name survives being a part of an address."""
        for name in ("a/b", "50% & more", "x?y#z", "日本", "..", "a,b c"):
            address = self.call("router", "href", ["groups", name], {"search": name, "none": ""})
            found = self.call("router", "parse", address)
            self.assertEqual(found, {"segments": ["groups", name], "query": {"search": name}})
