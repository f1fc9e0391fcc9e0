"""The contracts of the replaceable parts of a producer: encoders, partitioners, hooks around its queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerBatch
from kafkatx.clientcore.producer.values import ProducerRecord
from kafkatx.errors import NotPrepared
from kafkatx.interfaces import IDecoder, IEncoder, IEventHandler, IPreparing, IProducerCallbacks
from kafkatx.records.builder import BatchBuilder

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

TOPIC = "events"


class EncoderContract(_Case):
    """For an :class:`~kafkatx.interfaces.IEncoder`, together with the decoder of its messages."""

    def make_encoder(self) -> IEncoder:
        """Return the encoder to be tested."""
        raise NotImplementedError

    def make_decoder(self) -> Any:
        """Return the decoder that reverses it."""
        raise NotImplementedError

    def samples(self) -> Iterable[object]:
        """Objects that it can encode; decoded again they must be equal."""
        raise NotImplementedError

    def refused(self) -> Iterable[object]:
        """Objects that it cannot encode, if there are any."""
        return ()

    def malformed(self) -> Iterable[bytes]:
        """Messages that its decoder cannot read, if there are any."""
        return ()

    def test_interfaces(self) -> None:
        """Check that they provide IEncoder and IDecoder."""
        self.assertTrue(verifyObject(IEncoder, self.make_encoder()))
        self.assertTrue(verifyObject(IDecoder, self.make_decoder()))

    def test_round_trip(self) -> None:
        """Check that objects are encoded to bytes and decoded to equal objects."""
        encoder, decoder = self.make_encoder(), self.make_decoder()
        for sample in self.samples():
            encoded = encoder.encode(TOPIC, sample)
            assert isinstance(encoded, bytes)
            self.assertEqual(decoder.decode(TOPIC, encoded), sample)
            self.assertEqual(decoder.decode(TOPIC, memoryview(encoded)), sample)

    def test_none(self) -> None:
        """Check that no object is no message, a tombstone, and the reverse."""
        self.assertIsNone(self.make_encoder().encode(TOPIC, None))
        self.assertIsNone(self.make_decoder().decode(TOPIC, None))

    def test_refused(self) -> None:
        """Check that an object that cannot be encoded raises, and that the encoder works afterwards."""
        encoder = self.make_encoder()
        for value in self.refused():
            self.assert_raises(encoder.encode, value)
        for sample in self.samples():
            self.assertEqual(self.make_decoder().decode(TOPIC, encoder.encode(TOPIC, sample)), sample)

    def test_malformed(self) -> None:
        """Check that a message that cannot be decoded raises."""
        for message in self.malformed():
            self.assert_raises(self.make_decoder().decode, message)

    def assert_raises(self, code: Callable[..., object], value: object) -> None:
        """Check that *code* raises an error of any kind."""
        try:
            made = code(TOPIC, value)
        except Exception:
            return
        self.fail(f"{value!r} was taken, and gave {made!r}")


class PreparingContract(_Case):
    """For an :class:`~kafkatx.interfaces.IPreparing`."""

    def make_encoder(self) -> Any:
        """Return an encoder that is not prepared for :meth:`sample`; its server does not answer yet."""
        raise NotImplementedError

    def sample(self) -> Any:
        """Return a value that it can encode once it is prepared."""
        raise NotImplementedError

    def answer(self) -> None:
        """Send the server's answers to all requests."""
        raise NotImplementedError

    def prepare(self, encoder: Any) -> Deferred[Any]:
        """Start a preparation; check that it has not ended."""
        asked: Deferred[Any] = encoder.prepare(TOPIC, self.sample())
        self.assertIsInstance(asked, Deferred)
        self.assertNoResult(asked)
        return asked

    def test_interfaces(self) -> None:
        """Check that it provides IEncoder and IPreparing."""
        encoder = self.make_encoder()
        self.assertTrue(verifyObject(IEncoder, encoder))
        self.assertTrue(verifyObject(IPreparing, encoder))

    def test_prepared(self) -> None:
        """Check that encode raises NotPrepared at first, and works when the preparation has ended."""
        encoder = self.make_encoder()
        self.assertRaises(NotPrepared, encoder.encode, TOPIC, self.sample())
        asked = self.prepare(encoder)
        self.assertRaises(NotPrepared, encoder.encode, TOPIC, self.sample())
        self.answer()
        self.successResultOf(asked)
        self.assertIsInstance(encoder.encode(TOPIC, self.sample()), bytes)
        self.assertIsNone(encoder.prepare(TOPIC, self.sample()))

    def test_none(self) -> None:
        """Check that a tombstone needs no preparation."""
        encoder = self.make_encoder()
        self.assertIsNone(encoder.prepare(TOPIC, None))
        self.assertIsNone(encoder.encode(TOPIC, None))

    def test_cancelled(self) -> None:
        """Check that a caller who cancels its preparation leaves those of others alone."""
        encoder = self.make_encoder()
        first, second = self.prepare(encoder), self.prepare(encoder)
        first.addErrback(lambda failure: None)
        first.cancel()
        self.answer()
        self.successResultOf(second)
        self.assertIsInstance(encoder.encode(TOPIC, self.sample()), bytes)


class PartitionerContract(_Case):
    """For an :class:`~kafkatx.interfaces.IPartitioner`."""

    by_key = True
    """True if records of one key go to one partition."""

    def make_partitioner(self) -> Any:
        """Return the partitioner to be tested."""
        raise NotImplementedError

    def test_in_range(self) -> None:
        """Check that it chooses an existing partition for any topic, key and number of partitions, also after
        a batch.
        """
        partitioner = self.make_partitioner()
        for partitions in (1, 2, 7, 1000, 3):
            for key in (None, b"", b"k", "schlüssel".encode(), bytes(range(256))):
                for topic in (TOPIC, "other"):
                    chosen = partitioner.partition(topic, key, partitions)
                    self.assertIsInstance(chosen, int)
                    self.assertTrue(0 <= chosen < partitions)
                    partitioner.batch_sent(topic)

    def test_by_key(self) -> None:
        """Check that a key always gets the same partition, if :attr:`by_key` says so."""
        if not self.by_key:
            return
        one, other = self.make_partitioner(), self.make_partitioner()
        for number in range(50):
            key = b"%d" % number
            chosen = one.partition(TOPIC, key, 13)
            one.batch_sent(TOPIC)
            self.assertEqual(other.partition(TOPIC, key, 13), chosen)
            self.assertEqual(one.partition(TOPIC, key, 13), chosen)

    def test_spread(self) -> None:
        """Check that without keys every partition is chosen at some time."""
        partitioner = self.make_partitioner()
        chosen = set()
        for _ in range(500):
            chosen.add(partitioner.partition(TOPIC, None, 4))
            partitioner.batch_sent(TOPIC)
        self.assertEqual(chosen, {0, 1, 2, 3})


def sample_batch() -> ProducerBatch:
    """Return a batch as hooks get it."""
    batch = ProducerBatch(TOPIC, 2, BatchBuilder(), records=1, payload_bytes=5, attempts=1)
    assert batch.builder is not None
    batch.builder.append(None, b"value", 1)
    batch.seal(NOT_IDEMPOTENT, -1)
    return batch


class ProducerCallbacksContract(_Case):
    """For an :class:`~kafkatx.interfaces.IProducerCallbacks`."""

    def make_callbacks(self) -> Any:
        """Return the callbacks to be tested."""
        raise NotImplementedError

    def accepted(self) -> ProducerRecord:
        """Return a record that they accept."""
        return ProducerRecord(TOPIC, b"value", b"key", 1, [("h", b"x")], 5)

    def test_interface(self) -> None:
        """Check that they provide IProducerCallbacks."""
        self.assertTrue(verifyObject(IProducerCallbacks, self.make_callbacks()))

    def test_record(self) -> None:
        """Check that an accepted record comes back as a record, and that the call with its result returns
        nothing.
        """
        callbacks = self.make_callbacks()
        record = callbacks.before_enqueue(self.accepted())
        self.assertIsInstance(record, ProducerRecord)
        self.assertIsInstance(record.topic, str)
        for added in (True, False):
            self.assertIsNone(callbacks.after_enqueue(record, added))

    def test_batches_unchanged(self) -> None:
        """Check that callbacks do not change batches."""
        callbacks, batch = self.make_callbacks(), sample_batch()
        data = batch.data
        self.assertIsNone(callbacks.after_dequeue(batch))
        self.assertIsNone(callbacks.before_sending(3, (batch,)))
        self.assertEqual((batch.data, batch.attempts, batch.records, batch.entries), (data, 1, 1, []))

    def test_last(self) -> None:
        """Check that the last records are records; there may be none."""
        for record in self.make_callbacks().before_close():
            self.assertIsInstance(record, ProducerRecord)


class EventHandlerContract(_Case):
    """For an :class:`~kafkatx.interfaces.IEventHandler` that has fired when what it sent has."""

    def make_handler(self) -> IEventHandler:
        """Return the handler to be tested."""
        raise NotImplementedError

    def handle(self, handler: IEventHandler) -> tuple[list[Deferred[object]], Deferred[object]]:
        """Handle a request; return the Deferreds that were sent, and the handler's own."""
        sent: list[Deferred[object]] = []

        def send() -> Deferred[object]:
            sent.append(Deferred())
            return sent[-1]

        handled = handler.handle(3, (sample_batch(),), send)
        self.assertIsInstance(handled, Deferred)
        self.assertLessEqual(len(sent), 1, "sent more than once")
        return sent, handled

    def test_interface(self) -> None:
        """Check that it provides IEventHandler."""
        self.assertTrue(verifyObject(IEventHandler, self.make_handler()))

    def test_response(self) -> None:
        """Check that it fires with the broker's response, or None; for each request anew."""
        handler = self.make_handler()
        for _ in range(2):
            sent, handled = self.handle(handler)
            response = object()
            for request in sent:
                request.callback(response)
            self.assertIn(self.successResultOf(handled), (response, None))
            self.assertLessEqual(len(sent), 1, "sent more than once")
        handler.close()

    def test_failure(self) -> None:
        """Check that a request that failed does not count as delivered: the next handler must learn of it."""
        sent, handled = self.handle(self.make_handler())
        for request in sent:
            request.errback(ConnectionFailed("gone"))
        if sent:
            self.failureResultOf(handled)
        self.assertLessEqual(len(sent), 1, "sent more than once")
