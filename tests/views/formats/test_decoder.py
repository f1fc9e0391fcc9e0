"""The decoders of keys and values: formats by name, plugins, masks."""

from __future__ import annotations

import json

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.views.formats.decoder import BUILT_IN, Decoder
from kafkatx.views.formats.registered import Schemas

LINE = b'1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 23'
PLUGINS = {
    "access-log": "kafkatx.decoders.access_log:AccessLogDecoder",
    "broken": "tests.views.formats.no_such_module:X",
}


class DecoderTests(SynchronousTestCase):
    def decoder(self, name: str, paths: tuple[tuple[str, ...], ...] = ()) -> Decoder:
        """Make a decoder of values."""
        return Decoder(name, "t", Schemas(), "", paths, PLUGINS)

    def test_names(self) -> None:
        """Each format that there is has a decoder; another name is refused with all that there are."""
        for name in BUILT_IN:
            self.assertEqual(self.decoder(name).decode(None, []).format, "null")
        error = self.assertRaises(ValueError, self.decoder, "xml")
        self.assertIn("auto, json, text", str(error))
        self.assertIn("access-log", str(error))

    def test_plugin(self) -> None:
        """An installed decoder's objects have fields; what it refuses is shown with its words."""
        found = self.decoder("access-log").decode(LINE, [])
        assert isinstance(found.value, dict)
        self.assertEqual(
            (found.format, found.value["status"], found.value["path"]), ("access-log", 200, "/a")
        )
        self.assertEqual(found.value["time"], "2015-05-17T10:05:03+00:00")
        found = self.decoder("access-log").decode(b"x", [])
        self.assertEqual(found.text, "x")
        self.assertIn("access-log: ValueError: not a line", found.fault)

    def test_plugin_does_not_get_around_masks(self) -> None:
        """A value is not shown by a decoder that does not have the fields that are hidden."""
        masked = Decoder("access-log", "t", Schemas(), "", [("email",)], PLUGINS)
        self.assertEqual(masked.decode(LINE, []).text, "***")
        masked = Decoder("access-log", "t", Schemas(), "", [("client",)], PLUGINS)
        self.assertIn('"client":"***"', str(masked.decode(LINE, []).shown(1000)["text"]))

    def test_broken_plugin(self) -> None:
        """A plugin that cannot be imported is refused, and says why."""
        self.assertIn("no_such_module", str(self.assertRaises(ValueError, self.decoder, "broken")))

    def test_masked(self) -> None:
        """Masks hold for every format: bytes and text that may have the field are hidden as a whole."""
        secret = json.dumps({"a": {"secret": "x17"}, "b": 1}).encode()
        found = self.decoder("json", (("a", "secret"),)).decode(secret, [])
        self.assertEqual(found.value, {"a": {"secret": "***"}, "b": 1})
        for name in ("text", "hex", "base64", "int", "avro"):
            found = self.decoder(name, (("a", "secret"),)).decode(secret, [])
            self.assertEqual((found.format, found.text, found.value), ("masked", "***", "***"), name)
        found = self.decoder("json", (("a",),)).decode(b"[" * 900 + b'{"a":1}' + b"]" * 900, [])
        self.assertNotIn("1", str(found.shown(9999)["text"]).replace("***", ""))
