"""Generated source: lines, indentation, and names of globals."""

from __future__ import annotations

import traceback

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire.source import Source


class SourceTests(SynchronousTestCase):
    def test_blocks(self) -> None:
        """Lines of a block are indented, and an empty block is still valid."""
        source = Source()
        with source.block("def f(x):"):
            with source.block("if x:"):
                pass
            source.add("return x")
        self.assertEqual(str(source), "def f(x):\n    if x:\n        pass\n    return x\n")

    def test_function(self) -> None:
        """The function sees the globals of the source."""
        source = Source(seven=7)
        with source.block("def f(x):"):
            source.add("return x + seven")
        self.assertEqual(source.function("f", "test")(1), 8)

    def test_names(self) -> None:
        """The same value has one name; another value gets another."""
        source, one, other = Source(), [1], [1]
        self.assertEqual([source.name("n", v) for v in (one, one, other, other)], ["n", "n", "n_2", "n_2"])
        self.assertIs(source.scope["n_2"], other)

    def test_packing(self) -> None:
        """Packing is big-endian, and a format is bound once."""
        source = Source()
        name = source.packing("h?", "pack")
        self.assertEqual(source.packing("h?", "pack"), name)
        pack = source.scope[name]
        assert callable(pack)
        self.assertEqual(pack(258, True), b"\1\2\1")
        self.assertNotEqual(source.packing("h?", "unpack_from"), name)

    def test_traceback(self) -> None:
        """A traceback shows the generated line."""
        source = Source()
        with source.block("def f():"):
            source.add("raise ValueError('here')")
        error = self.assertRaises(ValueError, source.function("f", "shown"))
        self.assertIn("raise ValueError('here')", "".join(traceback.format_tb(error.__traceback__)))
