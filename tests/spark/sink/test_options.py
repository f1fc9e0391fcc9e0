"""Tests of kafkatx.spark.sink.options."""

from __future__ import annotations

import pickle

from pyspark.sql.datasource import CaseInsensitiveDict
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.producer.config import acks_of, limits_of
from kafkatx.clientcore.tables import common, producer
from kafkatx.errors import SettingError
from kafkatx.records.header import HEADER_BYTES
from kafkatx.schemas.messages.formats import NAMES
from kafkatx.spark.sink.options import SCHEMA_LANGUAGES, SinkOptions, parse_sink

REGISTRY = {"kafka.schema.registry.url": "http://h:1"}
BOOTSTRAP = {"kafka.bootstrap.servers": "127.0.0.1:1"}


def parse(**options: str) -> SinkOptions:
    """Options with ``_`` for ``.``; bootstrap servers are given."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    return parse_sink(CaseInsensitiveDict({**BOOTSTRAP, **named}))


def exactly_once(**options: str) -> SinkOptions:
    """Options with all that ``exactlyOnce`` needs."""
    return parse(**{"exactlyOnce": "true", "kafka_transactional_id": "q", **options})


class ParseSinkTests(SynchronousTestCase):
    def refused(self, **options: str) -> str:
        """Return the error of impossible options."""
        return str(self.assertRaises(SettingError, parse, **options))

    def test_defaults(self) -> None:
        """Without settings it is written as safely as Java's producer does, in large batches, by our name."""
        options = parse()
        settings = options.settings()
        self.assertIsNone(options.topic)
        self.assertEqual(settings[common.CLIENT_ID], "kafkatx-spark")
        self.assertEqual((acks_of(settings), settings[producer.ENABLE_IDEMPOTENCE]), (-1, True))
        self.assertEqual(limits_of(settings).batch_bytes, 1_000_000 - HEADER_BYTES)

    def test_producer_settings(self) -> None:
        """The settings of a producer are heeded, names in any case; they survive the way to the workers."""
        given = {
            "Kafka.Acks": "1",
            "kafka.batch.size": "5000",
            "kafka.compression.type": "zstd",
            "kafka.retries": "3",
            "kafka.max.request.size": "4000",
            "kafka.linger.ms": "7",
            "kafka.bootstrap.servers": "a:1, b:2",
            "Topic": " t ",
        }
        options = pickle.loads(pickle.dumps(parse_sink(CaseInsensitiveDict(given))))
        settings = options.settings()
        limits = limits_of(settings)
        self.assertEqual((options.topic, acks_of(settings)), ("t", 1))
        self.assertEqual(list(settings[common.BOOTSTRAP_SERVERS]), ["a:1", "b:2"])
        self.assertEqual((limits.batch_bytes, limits.max_bytes), (4000 - HEADER_BYTES, 4000 - HEADER_BYTES))
        self.assertEqual((limits.retries, limits.linger_s), (3, 0.007))
        self.assertEqual(settings[producer.COMPRESSION_TYPE], "zstd")

    def test_without_servers(self) -> None:
        """The bootstrap servers must be given, in Spark's words."""
        for options in ({}, {"kafka.bootstrap.servers": " "}):
            error = self.assertRaises(SettingError, parse_sink, options)
            self.assertIn(
                "'kafka.bootstrap.servers' must be specified for configuring Kafka producer", str(error)
            )

    def test_refused(self) -> None:
        """Settings that Spark's sink refuses are refused, and settings without an effect here."""
        self.assertIn("'key.serializer' is not supported", self.refused(kafka_key_serializer="x"))
        self.assertIn("'value.serializer' is not supported", self.refused(kafka_value_serializer="x"))
        self.assertIn("column", self.refused(kafka_partitioner_class="random"))
        for part in ("key.encoder", "value.encoder", "serializer.class", "callback.handler", "event.handler"):
            self.assertIn(f"'{part}' is not supported", self.refused(**{f"kafka.{part}": "x"}))
        self.assertIn("'kafkatx.endpoint' is not supported", self.refused(kafka_kafkatx_endpoint="x"))
        self.assertIn("needs exactlyOnce=true", self.refused(kafka_transactional_id="x"))
        self.assertIn("PLAINTEXT", self.refused(kafka_security_protocol="SSL_SASL"))

    def test_bad_values(self) -> None:
        """A value that is not allowed, or not with the others, is told with its name."""
        self.assertIn("kafka.acks=7", self.refused(kafka_acks="7"))
        said = self.refused(kafka_enable_idempotence="true", kafka_acks="1")
        self.assertIn("kafka.enable.idempotence=true needs acks=all", said)
        self.assertIn("kafka.delivery.timeout.ms=5", self.refused(kafka_delivery_timeout_ms="5"))
        self.assertIn("topic=a/b: Topic name", self.refused(topic="a/b"))

    def test_unknown(self) -> None:
        """An unknown name is an error with the nearest one."""
        self.assertIn("unknown option topics: did you mean topic?", self.refused(topics="t"))
        self.assertIn("unknown option subscribe", self.refused(subscribe="t"))
        self.assertIn(
            "kafka.aks is not a setting of a producer; did you mean acks?", self.refused(kafka_aks="1")
        )
        self.assertIn("setting of the consumer", self.refused(kafka_fetch_min_bytes="1"))

    def test_without_effect(self) -> None:
        """Options that Spark itself adds, and options of its source, are accepted."""
        parse(checkpointLocation="x", queryName="q", path="p", includeHeaders="true")

    def test_exactly_once(self) -> None:
        """An id is needed, and idempotence; the time-out is the longest that brokers allow by default."""
        self.assertEqual(exactly_once().settings()[producer.TRANSACTION_TIMEOUT_MS], 900_000)
        given = exactly_once(kafka_transaction_timeout_ms="5000")
        self.assertEqual(given.settings()[producer.TRANSACTION_TIMEOUT_MS], 5000)
        error = self.assertRaises(SettingError, exactly_once, kafka_transactional_id=" ")
        self.assertIn("exactlyOnce=true needs kafka.transactional.id", str(error))
        error = self.assertRaises(SettingError, exactly_once, exactlyonce="false")
        self.assertIn("'transactional.id' needs exactlyOnce=true", str(error))
        self.assertIn("acks=all", str(self.assertRaises(SettingError, exactly_once, kafka_acks="1")))
        self.assertIn("exactlyOnce=x", str(self.assertRaises(SettingError, exactly_once, exactlyonce="x")))

    def test_languages(self) -> None:
        """The languages of schemas are those that there are formats of."""
        self.assertEqual(SCHEMA_LANGUAGES, tuple(NAMES))
        both = parse(kafka_key_serializer="avro", kafka_value_serializer="avro", **REGISTRY)
        self.assertEqual((both.encoded, parse().encoded), (["key", "value"], []))
