"""What the replaceable parts of a producer must do: encoders, partitioners, hooks around its queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.producer.batch import NOT_IDEMPOTENT, ProducerBatch
from kafkatx.clientcore.producer.values import ProducerRecord
from kafkatx.interfaces import IDecoder, IEncoder, IEventHandler, IProducerCallbacks
from kafkatx.records.builder import BatchBuilder

if TYPE_CHECKING:
    from twisted.trial.unittest import SynchronousTestCase as _Case
else:
    # a mixin: trial would run the contract itself if it were a test case
    _Case = object

TOPIC = "events"


class EncoderContract(_Case):
    """For an :class:`~kafkatx.interfaces.IEncoder`, together with the decoder of its messages."""

    def make_encoder(self) -> Any:
        """The encoder to be tested."""
        raise NotImplementedError

    def make_decoder(self) -> Any:
        """The decoder that understands it."""
        raise NotImplementedError

    def samples(self) -> Iterable[Any]:
        """Objects that it can encode; decoded again they must be equal."""
        raise NotImplementedError

    def refused(self) -> Iterable[Any]:
        """Objects that it cannot encode, if there are any."""
        return ()

    def malformed(self) -> Iterable[bytes]:
        """Messages that its decoder cannot read, if there are any."""
        return ()

    def test_interfaces(self) -> None:
        """They provide IEncoder and IDecoder."""
        self.assertTrue(verifyObject(IEncoder, self.make_encoder()))
        self.assertTrue(verifyObject(IDecoder, self.make_decoder()))

    def test_round_trip(self) -> None:
        """What is encoded is bytes, and decoded it is what it was."""
        encoder, decoder = self.make_encoder(), self.make_decoder()
        for sample in self.samples():
            encoded = encoder.encode(TOPIC, sample)
            self.assertIsInstance(encoded, bytes)
            self.assertEqual(decoder.decode(TOPIC, encoded), sample)
            self.assertEqual(decoder.decode(TOPIC, memoryview(encoded)), sample)

    def test_none(self) -> None:
        """No object is no message, and the other way round: a tombstone."""
        self.assertIsNone(self.make_encoder().encode(TOPIC, None))
        self.assertIsNone(self.make_decoder().decode(TOPIC, None))

    def test_refused(self) -> None:
        """What cannot be encoded raises, and the encoder works on after it."""
        encoder = self.make_encoder()
        for value in self.refused():
            self.assert_raises(encoder.encode, value)
        self.test_round_trip()

    def test_malformed(self) -> None:
        """What cannot be decoded raises."""
        for message in self.malformed():
            self.assert_raises(self.make_decoder().decode, message)

    def assert_raises(self, code: Any, value: Any) -> None:
        """Whatever error it is, there must be one."""
        try:
            made = code(TOPIC, value)
        except Exception:
            return
        self.fail(f"{value!r} was taken, and gave {made!r}")


class PartitionerContract(_Case):
    """For an :class:`~kafkatx.interfaces.IPartitioner`."""

    by_key = True
    """Whether records of one key go to one partition."""

    def make_partitioner(self) -> Any:
        """The partitioner to be tested."""
        raise NotImplementedError

    def test_in_range(self) -> None:
        """Whatever topic, key and number of partitions: one of them is chosen, also after a batch."""
        partitioner = self.make_partitioner()
        for partitions in (1, 2, 7, 1000, 3):
            for key in (None, b"", b"k", "schlüssel".encode(), bytes(range(256))):
                for topic in (TOPIC, "other"):
                    chosen = partitioner.partition(topic, key, partitions)
                    self.assertIsInstance(chosen, int)
                    self.assertTrue(0 <= chosen < partitions)
                    partitioner.batch_sent(topic)

    def test_by_key(self) -> None:
        """One key, one partition, whoever asks, where :attr:`by_key` says so."""
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
        """Without keys every partition gets something in time."""
        partitioner = self.make_partitioner()
        chosen = set()
        for _ in range(500):
            chosen.add(partitioner.partition(TOPIC, None, 4))
            partitioner.batch_sent(TOPIC)
        self.assertEqual(chosen, {0, 1, 2, 3})


def sample_batch() -> ProducerBatch:
    """A batch as hooks get it."""
    batch = ProducerBatch(TOPIC, 2, BatchBuilder(), records=1, payload_bytes=5, attempts=1)
    assert batch.builder is not None
    batch.builder.append(None, b"value", 1)
    batch.seal(NOT_IDEMPOTENT, -1)
    return batch


class ProducerCallbacksContract(_Case):
    """For an :class:`~kafkatx.interfaces.IProducerCallbacks`."""

    def make_callbacks(self) -> Any:
        """The callbacks to be tested."""
        raise NotImplementedError

    def accepted(self) -> ProducerRecord:
        """A record that they let pass."""
        return ProducerRecord(TOPIC, b"value", b"key", 1, [("h", b"x")], 5)

    def test_interface(self) -> None:
        """They provide IProducerCallbacks."""
        self.assertTrue(verifyObject(IProducerCallbacks, self.make_callbacks()))

    def test_record(self) -> None:
        """A record that may be enqueued comes back as one; being told what became of it returns nothing."""
        callbacks = self.make_callbacks()
        record = callbacks.before_enqueue(self.accepted())
        self.assertIsInstance(record, ProducerRecord)
        self.assertIsInstance(record.topic, str)
        for added in (True, False):
            self.assertIsNone(callbacks.after_enqueue(record, added))

    def test_batches_unchanged(self) -> None:
        """What is told of batches does not change them."""
        callbacks, batch = self.make_callbacks(), sample_batch()
        data = batch.data
        self.assertIsNone(callbacks.after_dequeue(batch))
        self.assertIsNone(callbacks.before_sending(3, (batch,)))
        self.assertEqual((batch.data, batch.attempts, batch.records, batch.entries), (data, 1, 1, []))

    def test_last(self) -> None:
        """The last records are records; there may be none."""
        for record in self.make_callbacks().before_close():
            self.assertIsInstance(record, ProducerRecord)


class EventHandlerContract(_Case):
    """For an :class:`~kafkatx.interfaces.IEventHandler` that has fired when what it sent has."""

    def make_handler(self) -> Any:
        """The handler to be tested."""
        raise NotImplementedError

    def handle(self, handler: Any) -> tuple[list[Deferred[Any]], Deferred[Any]]:
        """Let it handle a request; what it sent, and its own Deferred."""
        sent: list[Deferred[Any]] = []

        def send() -> Deferred[Any]:
            sent.append(Deferred())
            return sent[-1]

        handled = handler.handle(3, (sample_batch(),), send)
        self.assertIsInstance(handled, Deferred)
        self.assertLessEqual(len(sent), 1, "sent more than once")
        return sent, handled

    def test_interface(self) -> None:
        """It provides IEventHandler."""
        self.assertTrue(verifyObject(IEventHandler, self.make_handler()))

    def test_response(self) -> None:
        """It fires with the broker's response, or None; each request anew."""
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
        """A request that failed is not taken for delivered: whoever handles it next must hear of it."""
        sent, handled = self.handle(self.make_handler())
        for request in sent:
            request.errback(ConnectionFailed("gone"))
        if sent:
            self.failureResultOf(handled)
        self.assertLessEqual(len(sent), 1, "sent more than once")
