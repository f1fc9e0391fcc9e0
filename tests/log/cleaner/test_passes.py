"""The values of a pass: they survive the way to the cleaner's process and back."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import KafkaTXError
from kafkatx.log.cleaner.passes import CleaningAborted, Finished, Pass, Source
from kafkatx.log.cleaner.process import decode_pass, decode_step, encode_pass, encode_step
from kafkatx.records.compression import LIMIT_BYTES

PASS = Pass("n", "/d/t-0", (Source(0, 10), Source(5, 7)), 5, 9, 1, 2, 3, 0.5, 4, 5, 6, {7: 8})


class PassTests(SynchronousTestCase):
    def test_round_trip(self) -> None:
        """A pass is plain values: it is the same in another process."""
        self.assertEqual(decode_pass(encode_pass(PASS)), PASS)
        other = attrs.evolve(PASS, name='"\n\u00e9', inflated_limit_bytes=1)
        self.assertEqual(decode_pass(encode_pass(other)), other)

    def test_default(self) -> None:
        """Without a limit of its own a pass decompresses as much as the broker ever does."""
        self.assertEqual(PASS.inflated_limit_bytes, LIMIT_BYTES)

    def test_frozen(self) -> None:
        """A pass cannot be changed while it runs."""
        self.assertRaises(attrs.exceptions.FrozenInstanceError, setattr, PASS, "name", "other")

    def test_result(self) -> None:
        """The result of a pass is the same in another process."""
        fields = [0 for _ in attrs.fields(Finished)]
        finished = Finished(*fields)
        self.assertEqual(decode_step(encode_step(finished)), finished)

    def test_aborted(self) -> None:
        """An aborted pass is no error of kafkatx: it is raised on the other side as it was."""
        self.assertFalse(issubclass(CleaningAborted, KafkaTXError))
        error = self.assertRaises(CleaningAborted, decode_step, encode_step(CleaningAborted("enough")))
        self.assertIn("enough", str(error))
