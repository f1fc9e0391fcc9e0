"""Tests of kafkatx.client.registry.encoder, in a producer on brokers in memory."""

from __future__ import annotations

from typing import Any

from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.errors import NotPrepared, SettingError
from kafkatx.schemas.framing import header_value, prefix
from kafkatx.schemas.messages.errors import BadValue
from kafkatx.schemas.types import InvalidSchema
from tests.client.producing import ProducerTestCase
from tests.client.registry.fake_transport import PATH, FakeTransport
from tests.schemas.messages.avro.test_avro_format import USER, User

ANN, BEN = {"id": 1, "name": "ann"}, {"id": 2, "name": "ben"}
ANN_BYTES, BEN_BYTES = b"\2\6ann\0", b"\4\6ben\0"


class EncoderTestCase(ProducerTestCase):
    """A producer of Avro values, and a registry in memory."""

    def setUp(self) -> None:
        """Make the registry."""
        super().setUp()
        self.transport = FakeTransport()
        self.registry = self.transport.registry
        self.patch_transport()

    def patch_transport(self) -> None:
        """Replace the transport of HTTP."""
        import kafkatx.client.registry.transport as module

        self.patch(module, PATH.rpartition(".")[2], self.transport.make)

    def avro(self, **settings: Any) -> Any:
        """Return a started producer."""
        values = {
            "value_serializer": "avro",
            "schema_registry_url": "http://registry:8081",
            "kafkatx_value_schema": USER,
            **settings,
        }
        return self.producer(**values)

    def values(self, topic: str = "one") -> list[bytes | None]:
        """Return the values in the log."""
        return [record.value for record in self.records(topic)]


class RegistrationTests(EncoderTestCase):
    def test_once(self) -> None:
        """The schema is registered once, whatever number of records follows."""
        producer = self.avro()
        sent = [producer.send("one", value) for value in (ANN, BEN)]
        for waiting in sent:
            self.result(waiting)
        for _ in range(5):
            self.result(producer.send("one", ANN))
        self.assertEqual(self.values()[:2], [prefix(1) + ANN_BYTES, prefix(1) + BEN_BYTES])
        self.assertEqual(self.registry.requests, [("POST", "/subjects/one-value/versions")])

    def test_not_registered(self) -> None:
        """Without auto.register.schemas the schema must be there; the failure is kept for five seconds."""
        producer = self.avro(auto_register_schemas=False)
        for _ in range(2):
            self.assertEqual(self.failureResultOf(producer.send("one", ANN), RegistryError).value.code, 40401)
        self.assertEqual(len(self.registry.requests), 1)
        self.registry.add("one-value", USER)
        self.failureResultOf(producer.send("one", ANN), RegistryError)
        self.network.clock.advance(5)
        self.result(producer.send("one", ANN))
        self.assertEqual(self.values(), [prefix(1) + ANN_BYTES])

    def test_latest(self) -> None:
        """use.latest.version writes with the subject's latest version, and needs no schema."""
        self.registry.add("one-value", '"string"')
        self.registry.add("one-value", USER)
        producer = self.avro(auto_register_schemas=False, use_latest_version=True, kafkatx_value_schema=None)
        self.result(producer.send("one", ANN))
        self.assertEqual(self.values(), [prefix(2) + ANN_BYTES])

    def test_id(self) -> None:
        """use.schema.id writes with the schema of an id."""
        self.registry.add("other", USER)
        producer = self.avro(auto_register_schemas=False, use_schema_id=1)
        self.result(producer.send("one", ANN))
        self.assertEqual(self.registry.requests, [("GET", "/schemas/ids/1")])

    def test_no_schema(self) -> None:
        """Without any schema the record fails, and the message says what to set."""
        producer = self.avro(kafkatx_value_schema=None)
        failure = self.failureResultOf(producer.send("one", ANN), ValueError)
        self.assertIn("kafkatx.value.schema", str(failure.value))

    def test_class(self) -> None:
        """A class that tells its schema is written with that; strategies take the record's name."""
        producer = self.avro(
            kafkatx_value_schema=None,
            value_subject_name_strategy="io.confluent.kafka.serializers.subject.TopicRecordNameStrategy",
        )
        self.result(producer.send("one", User(1, "ann")))
        self.assertEqual(self.values(), [prefix(1) + ANN_BYTES])
        self.assertEqual(self.registry.requests, [("POST", "/subjects/one-acme.User/versions")])

    def test_references(self) -> None:
        """The schemas that the latest version refers to are fetched, too."""
        self.registry.add("user", USER)
        outer = '{"type": "record", "name": "O", "fields": [{"name": "by", "type": "acme.User"}]}'
        from kafkatx.schemas.types import SchemaType

        self.registry.add("one-value", outer, SchemaType.AVRO, ("acme.User", "user", 1))
        producer = self.avro(auto_register_schemas=False, use_latest_version=True, kafkatx_value_schema=None)
        self.result(producer.send("one", {"by": ANN}))
        self.assertEqual(self.values(), [prefix(2) + ANN_BYTES])

    def test_other_type(self) -> None:
        """A subject of another language fails the record."""
        from kafkatx.schemas.types import SchemaType

        self.registry.add("one-value", "{}", SchemaType.JSON)
        producer = self.avro(auto_register_schemas=False, use_latest_version=True, kafkatx_value_schema=None)
        self.failureResultOf(producer.send("one", ANN), InvalidSchema)

    def test_header(self) -> None:
        """In the header form the payload is bare, and a header of the record has the GUID."""
        producer = self.avro(value_schema_id_serializer="header")
        self.result(producer.send("one", ANN, headers=[("h", b"1")]))
        (record,) = self.records("one")
        self.assertEqual(record.value, ANN_BYTES)
        self.assertEqual(
            list(record.headers), [("h", b"1"), ("__value_schema_id", header_value(self.registry.guid(1)))]
        )
        self.failureResultOf(producer.send_batch("one", [ANN]), ValueError)

    def test_keys(self) -> None:
        """Keys have a schema and a subject of their own; the header names the key."""
        producer = self.avro(
            key_serializer="avro", kafkatx_key_schema='"string"', key_schema_id_serializer="header"
        )
        self.result(producer.send("one", ANN, key="k"))
        (record,) = self.records("one")
        self.assertEqual((record.key, record.value), (b"\2k", prefix(1) + ANN_BYTES))
        self.assertEqual([name for name, _ in record.headers], ["__key_schema_id"])
        self.assertEqual(next(path for _, path in self.registry.requests), "/subjects/one-value/versions")

    def test_bad_value(self) -> None:
        """A value that does not match fails its own call, and no other."""
        producer = self.avro()
        self.result(producer.send("one", ANN))
        self.failureResultOf(producer.send("one", {"id": "x"}), BadValue)
        self.result(producer.send("one", None))
        self.assertEqual(self.values(), [prefix(1) + ANN_BYTES, None])


class SettingsTests(EncoderTestCase):
    def test_refused(self) -> None:
        """Wrong settings are refused when the producer is made."""
        for wrong in (
            {"schema_registry_url": "ftp://x"},
            {"schema_registry_url": None, "value_serializer": "avro"},
            {"kafkatx_value_schema": "{"},
            {"kafkatx_value_schema": "@/nowhere/at/all"},
            {"kafkatx_value_schema": 7.5},
            {"value_subject_name_strategy": "Other"},
            {"basic_auth_user_info": "no colon"},
            {"basic_auth_user_info": "a:b", "bearer_auth_token": "c"},
        ):
            with self.assertRaises(SettingError, msg=wrong):
                self.avro(**wrong)


class AloneTests(EncoderTestCase):
    def test_encode_alone(self) -> None:
        """encode() of an unknown schema raises NotPrepared, and never waits."""
        from kafkatx.client.registry.client import RegistryClient
        from kafkatx.client.registry.coders import avro_encoder
        from kafkatx.clientcore.settings import ClientSettings

        settings = {"schema.registry.url": "http://r", "kafkatx.value.schema": USER}
        encoder = avro_encoder()
        registry = RegistryClient.of(settings, self.network.clock)
        encoder.attach(registry, ClientSettings.load("producer", settings), False)
        self.assertRaises(NotPrepared, encoder.encode, "one", ANN)
        asked = encoder.prepare("one", ANN)
        assert asked is not None
        self.successResultOf(asked)
        self.assertIsNone(encoder.prepare("one", BEN))
        self.assertEqual(encoder.encode("one", ANN), prefix(1) + ANN_BYTES)
