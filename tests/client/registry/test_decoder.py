"""Tests of kafkatx.client.registry.decoder, in a consumer of a broker in memory."""

from __future__ import annotations

from typing import Any

from kafkatx.clientcore.errors import ClientClosed, Undecodable
from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.records.builder import BatchBuilder
from kafkatx.schemas.framing import header_value, prefix
from kafkatx.schemas.types import SchemaType
from tests.broker.running import NOW_MS
from tests.client.consumers import T0, ConsumerTestCase
from tests.client.registry.fake_transport import FakeTransport
from tests.schemas.messages.avro.test_avro_format import USER

ANN, BEN = {"id": 1, "name": "ann", "age": None}, {"id": 2, "name": "ben", "age": None}
ANN_BYTES, BEN_BYTES = b"\2\6ann\0", b"\4\6ben\0"


class DecoderTests(ConsumerTestCase):
    def setUp(self) -> None:
        """Make a registry with one schema, and a topic."""
        super().setUp()
        self.transport = FakeTransport()
        self.registry = self.transport.registry
        self.registry.add("t-value", USER)
        import kafkatx.client.registry.transport as module

        self.patch(module, "Transport", self.transport.make)
        self.make_topic("t", 2)

    def avro(self, **settings: Any) -> Any:
        """Return a consumer of Avro."""
        return self.consumer(
            T0, value_deserializer="avro", schema_registry_url="http://registry:8081", **settings
        )

    def poll(self, consumer: Any) -> list[object]:
        """Poll; return the values."""
        found = self.wait(consumer.getmany(timeout_ms=1000))
        return [record.value for record in found.get(T0, ())]

    def error(self, consumer: Any, kind: type[Exception]) -> Any:
        """Poll; return the error."""
        waiting = consumer.getmany(timeout_ms=1000)
        self.network.run(1)
        return self.failureResultOf(waiting, kind).value

    def test_once(self) -> None:
        """A batch waits once for all its schemas, and the next one finds them."""
        self.registry.add("t-value", USER.replace("acme", "other"))
        self.fill(prefix(1) + ANN_BYTES, prefix(2) + BEN_BYTES, prefix(1) + BEN_BYTES)
        self.fill(prefix(2) + ANN_BYTES)
        self.transport.hold = True
        consumer = self.avro()
        waiting = consumer.getmany(timeout_ms=5000)
        self.network.run(1)
        self.assertNoResult(waiting)
        self.assertEqual(len(self.transport.held), 2)
        self.transport.release()
        found = self.wait(waiting)
        values = [record.value for record in found[T0]]
        while len(values) < 4:
            values += self.poll(consumer)
        self.assertEqual(values, [ANN, BEN, BEN, ANN])
        self.assertEqual(
            sorted(path for _, path in self.registry.requests), ["/schemas/ids/1", "/schemas/ids/2"]
        )

    def test_reader(self) -> None:
        """A reader's schema decides what the application gets."""
        target = (
            '{"type": "record", "name": "User", "namespace": "acme", "fields":'
            ' [{"name": "id", "type": "double"}]}'
        )
        self.fill(prefix(1) + ANN_BYTES)
        self.assertEqual(self.poll(self.avro(kafkatx_value_reader_schema=target)), [{"id": 1.0}])

    def test_bad_records(self) -> None:
        """A record that cannot be decoded is an error with its place and schema; seeking past it goes on."""
        self.fill(
            prefix(1) + ANN_BYTES,
            prefix(1) + b"\2",
            prefix(9) + ANN_BYTES,
            b"plain",
            b"",
            prefix(1) + BEN_BYTES,
        )
        consumer = self.avro()
        self.assertEqual(self.poll(consumer), [ANN])
        for offset, words in ((1, "schema 1: "), (2, "schema 9: "), (3, "first byte"), (4, "too short")):
            error = self.error(consumer, Undecodable)
            self.assertEqual((error.topic, error.partition, error.offset), ("t", 0, offset))
            self.assertIn(words, str(error))
            consumer.seek(T0, offset + 1)
        self.assertEqual(self.poll(consumer), [BEN])
        self.assertEqual([path for _, path in self.registry.requests].count("/schemas/ids/9"), 1)

    def test_registry_down(self) -> None:
        """While the registry does not answer, polls fail and no record is skipped; later all goes on."""
        self.fill(prefix(1) + ANN_BYTES)
        self.registry.down = True
        consumer = self.avro()
        self.error(consumer, RegistryError)
        self.assertEqual(self.wait(consumer.position(T0)), 0)
        self.registry.down = False
        self.assertEqual(self.poll(consumer), [ANN])

    def test_seek_meanwhile(self) -> None:
        """A seek while a batch waits for its schema drops the batch; nothing is delivered twice."""
        self.fill(prefix(1) + ANN_BYTES)
        self.fill(prefix(1) + BEN_BYTES)
        self.transport.hold = True
        consumer = self.avro()
        waiting = consumer.getmany(timeout_ms=5000)
        self.network.run(1)
        consumer.seek(T0, 1)
        self.network.run(1)
        self.transport.release()
        self.assertEqual([record.value for record in self.wait(waiting)[T0]], [BEN])

    def test_close_meanwhile(self) -> None:
        """A close while a batch waits for its schema ends the wait."""
        self.fill(prefix(1) + ANN_BYTES)
        self.transport.hold = True
        consumer = self.avro()
        waiting = consumer.getmany(timeout_ms=50_000)
        self.network.run(1)
        self.wait(consumer.close(), 60)
        self.failureResultOf(waiting, ClientClosed)
        self.assertTrue(self.transport.closed)

    def test_headers(self) -> None:
        """A header of the record tells the schema before a prefix does; records without one are read, too."""
        header = [("__value_schema_id", header_value(self.registry.guid(1)))]
        builder = BatchBuilder()
        builder.append(None, ANN_BYTES, NOW_MS, [("other", b"x"), *header])
        builder.append(None, prefix(1) + BEN_BYTES, NOW_MS)
        builder.append(None, ANN_BYTES, NOW_MS, [("__value_schema_id", b"\1short")])
        self.produce_batch(builder.build())
        consumer = self.avro()
        self.assertEqual(self.poll(consumer), [ANN, BEN])
        self.assertEqual(self.error(consumer, Undecodable).offset, 2)

    def test_tombstones(self) -> None:
        """Records without a value need no schema."""
        builder = BatchBuilder()
        builder.append(b"k", None, NOW_MS)
        self.produce_batch(builder.build())
        self.assertEqual(self.poll(self.avro()), [None])
        self.assertEqual(self.registry.requests, [])

    def test_hostile(self) -> None:
        """A batch of many unknown ids costs a few requests, not one for each record."""
        self.fill(prefix(1) + ANN_BYTES, *(prefix(number) + b"x" for number in range(100, 2100)))
        consumer = self.avro()
        self.assertEqual(self.poll(consumer), [ANN])
        self.assertEqual(self.error(consumer, Undecodable).offset, 1)
        self.assertLess(len(self.registry.requests), 40)

    def test_many_schemas(self) -> None:
        """A batch with more schemas than the cache may hold is read in parts."""
        for number in range(70):
            self.registry.add("t-value", USER.replace("acme", f"a{number}"))
        self.fill(*(prefix(number) + ANN_BYTES for number in range(1, 72)))
        consumer = self.avro(max_schemas_per_subject=100)
        self.assertEqual(self.poll(consumer), 50 * [ANN])
        self.assertEqual(self.error(consumer, Undecodable).offset, 50)
        consumer.seek(T0, 50)
        self.assertEqual(self.poll(consumer), 21 * [ANN])

    def test_other_type(self) -> None:
        """A schema of another language is an error of its records."""
        self.registry.add("t-value", "{}", SchemaType.JSON)
        self.fill(prefix(2) + b"{}")
        self.assertIn("JSON", str(self.error(self.avro(), Undecodable)))

    def produce_batch(self, data: bytes) -> None:
        """Append an encoded batch."""
        self.assertEqual(self.produce(data).error_code, 0)
