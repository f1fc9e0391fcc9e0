"""Tests of kafkatx.client.producer.preparation, with the encoder of Avro."""

from __future__ import annotations

from kafkatx.clientcore.errors import BufferExhausted, ClientClosed, RecordsLost, RequestTimedOut
from tests.client.registry.test_encoder import ANN, ANN_BYTES, BEN, BEN_BYTES, EncoderTestCase


class LineTests(EncoderTestCase):
    """Records that wait for their schema."""

    def test_order(self) -> None:
        """Records wait while the schema is registered; they and later ones keep their order."""
        producer = self.avro()
        self.transport.hold = True
        sent = [producer.send("one", ANN), producer.send("one", None), producer.send_batch("one", [BEN, ANN])]
        self.assertEqual(len(self.transport.held), 1)
        for waiting in sent:
            self.assertNoResult(waiting)
        self.transport.release()
        for waiting in sent:
            self.result(waiting)
        values = [value and value[5:] for value in self.values()]
        self.assertEqual(values, [ANN_BYTES, None, BEN_BYTES, ANN_BYTES])

    def test_flush(self) -> None:
        """A flush waits for records that wait for their schema."""
        producer = self.avro()
        self.transport.hold = True
        producer.produce("one", ANN)
        flushing = producer.flush()
        self.network.pump()
        self.assertNoResult(flushing)
        self.transport.release()
        self.result(flushing)
        self.assertEqual(len(self.values()), 1)

    def test_close(self) -> None:
        """A close sends records that wait, and takes no others; the registry's client is closed."""
        producer = self.avro()
        self.transport.hold = True
        sent = producer.send("one", ANN)
        closing = producer.close()
        self.failureResultOf(producer.send("one", BEN), ClientClosed)
        self.assertNoResult(closing)
        self.transport.release()
        self.result(closing)
        self.result(sent)
        self.assertEqual(len(self.values()), 1)
        self.assertTrue(self.transport.closed)

    def test_close_at_once(self) -> None:
        """A close without waiting fails records that wait."""
        producer = self.avro()
        self.transport.hold = True
        sent = producer.send("one", ANN)
        self.result(producer.close(timeout_s=0))
        self.failureResultOf(sent, ClientClosed)

    def test_fail_waiting(self) -> None:
        """Records that wait can be failed, as an abort does; later ones are sent."""
        producer = self.avro()
        self.transport.hold = True
        sent = [producer.send("one", ANN), producer.send("one", BEN)]
        producer._line.fail_waiting(ClientClosed("x"))
        for each in sent:
            self.failureResultOf(each, ClientClosed)
        self.transport.release()
        self.result(producer.send("one", ANN))
        self.assertEqual(len(self.values()), 1)

    def test_time_out(self) -> None:
        """A record waits for max.block.ms at most; the next one asks again."""
        producer = self.avro(max_block_ms=2000)
        self.transport.hold = True
        sent = producer.send("one", ANN)
        self.network.clock.advance(2)
        self.failureResultOf(sent, RequestTimedOut)
        self.transport.release()
        self.result(producer.send("one", ANN))

    def test_lost(self) -> None:
        """A failure of a record without a receipt is reported by the next flush."""
        producer = self.avro(auto_register_schemas=False)
        producer.produce("one", ANN)
        self.failureResultOf(producer.flush(), RecordsLost)

    def test_cancelled(self) -> None:
        """A record whose Deferred is cancelled while it waits is not sent."""
        producer = self.avro()
        self.transport.hold = True
        first, second = producer.send("one", ANN), producer.send("one", BEN)
        first.addErrback(lambda failure: None)
        first.cancel()
        self.transport.release()
        self.result(second)
        self.assertEqual([value[5:] for value in self.values() if value], [BEN_BYTES])

    def test_limit(self) -> None:
        """The number of records that wait is limited."""
        import kafkatx.client.producer.preparation as module

        self.patch(module, "MOST_WAITING", 2)
        producer = self.avro()
        self.transport.hold = True
        sent = [producer.send("one", ANN) for _ in range(2)]
        self.failureResultOf(producer.send("one", ANN), BufferExhausted)
        self.transport.release()
        for waiting in sent:
            self.result(waiting)
