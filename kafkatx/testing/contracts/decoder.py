"""The contract of decoders whose objects are rows of a table."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from zope.interface.verify import verifyObject

from kafkatx.interfaces import IDecoder, IRowDecoder

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

TOPIC = "events"


class DecoderContract(_Case):
    """For an :class:`~kafkatx.interfaces.IDecoder` whose objects can be compared."""

    def make_decoder(self) -> IDecoder:
        """Return the decoder to be tested, configured if it has settings."""
        raise NotImplementedError

    def samples(self) -> Iterable[tuple[bytes, object]]:
        """Messages, and the objects that they are."""
        raise NotImplementedError

    def malformed(self) -> Iterable[bytes]:
        """Messages that it cannot read, if there are any."""
        return ()

    def test_interface(self) -> None:
        """Check that it provides IDecoder."""
        self.assertTrue(verifyObject(IDecoder, self.make_decoder()))

    def test_samples(self) -> None:
        """Messages become objects, also out of a memoryview; of no message there is none."""
        decoder: Any = self.make_decoder()
        for message, sample in self.samples():
            self.assertEqual(decoder.decode(TOPIC, message), sample)
            self.assertEqual(decoder.decode(TOPIC, memoryview(message)), sample)
        self.assertIsNone(decoder.decode(TOPIC, None))

    def test_malformed(self) -> None:
        """Check that a message that cannot be decoded raises, and that the decoder works afterwards."""
        decoder = self.make_decoder()
        for message in self.malformed():
            try:
                made = decoder.decode(TOPIC, message)
            except Exception:
                continue
            self.fail(f"{message!r} was taken, and gave {made!r}")
        for message, sample in self.samples():
            self.assertEqual(decoder.decode(TOPIC, message), sample)


class RowDecoderContract(_Case):
    """For an :class:`~kafkatx.interfaces.IRowDecoder`."""

    def make_decoder(self) -> IRowDecoder:
        """Return the decoder to be tested, configured if it has settings."""
        raise NotImplementedError

    def samples(self) -> Iterable[tuple[bytes, tuple[object, ...]]]:
        """Messages, and the rows that they are."""
        raise NotImplementedError

    def malformed(self) -> Iterable[bytes]:
        """Messages that it cannot read, if there are any."""
        return ()

    def test_interface(self) -> None:
        """Check that it provides IRowDecoder."""
        self.assertTrue(verifyObject(IRowDecoder, self.make_decoder()))

    def test_columns(self) -> None:
        """Names differ, also in small letters; types are words of Spark's DDL; the time is a timestamp."""
        from kafkatx.spark.ingest.table.columns import arrow_type

        decoder = self.make_decoder()
        columns = dict(decoder.columns)
        self.assertEqual(len({name.lower() for name in columns}), len(decoder.columns))
        for word in columns.values():
            arrow_type(word)
        if decoder.time_column is not None:
            self.assertEqual(columns[decoder.time_column], "timestamp")

    def test_rows(self) -> None:
        """Messages become rows, tuples with a value for each column; of no message there is none."""
        decoder = self.make_decoder()
        for message, row in self.samples():
            decoded = decoder.decode(TOPIC, message)
            self.assertIsInstance(decoded, tuple)
            self.assertEqual(tuple(decoded), row)
            self.assertEqual(len(decoded), len(decoder.columns))
        self.assertIsNone(decoder.decode(TOPIC, None))

    def test_stored(self) -> None:
        """Check that a table stores the rows unchanged, none of them as a dead letter."""
        import pyarrow as pa

        from kafkatx.spark.ingest.table.columns import arrow_type

        decoder = self.make_decoder()
        rows = [decoder.decode(TOPIC, message) for message, _ in self.samples()]
        for (name, word), values in zip(decoder.columns, zip(*rows, strict=True), strict=True):
            self.assertEqual(pa.array(values, arrow_type(word)).null_count, values.count(None), name)

    def test_pickled(self) -> None:
        """Check that it works the same in another process."""
        decoder = pickle.loads(pickle.dumps(self.make_decoder()))
        for message, row in self.samples():
            self.assertEqual(tuple(decoder.decode(TOPIC, message)), row)

    def test_malformed(self) -> None:
        """Check that a message that cannot be decoded raises, and that the decoder works afterwards."""
        decoder = self.make_decoder()
        for message in self.malformed():
            try:
                row = decoder.decode(TOPIC, message)
            except Exception:
                continue
            self.fail(f"{message!r} was taken, and gave {row!r}")
        for message, row in self.samples():
            self.assertEqual(tuple(decoder.decode(TOPIC, message)), row)
