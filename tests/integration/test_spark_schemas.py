"""Messages with schemas of a registry through the producer, the broker and Spark to a table."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.blocking import Admin, Cluster
from kafkatx.client.threads import Producer
from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.decoders.access_log import AccessLogDecoder
from kafkatx.errors import SettingError
from kafkatx.schemas.framing import prefix
from kafkatx.schemas.types import SchemaType
from kafkatx.spark import from_registry, to_registry
from kafkatx.spark.ingest import IngestOptions, ingest, read_table
from kafkatx.spark.options.client import ClientSettings
from kafkatx.spark.options.options import Subscribe
from tests.integration.access_log import REAL_FACTS, LogFacts, real_log, small_log
from tests.integration.clients import new_topic
from tests.integration.registry import register, registry_broker
from tests.integration.spark import shared_spark
from tests.schemas.messages.protobuf import moved as protobuf_schemas

FIRST: list[dict[str, Any]] = [
    {"name": "client", "type": "string"},
    {"name": "time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "status", "type": ["null", "int"], "default": None},
    {"name": "bytes", "type": "int", "default": 0},
    {"name": "line", "type": "bytes"},
]
WIDENED = [{**field, "type": "long"} if field["name"] == "bytes" else field for field in FIRST]
ADDED = {"name": "method", "type": "string", "default": "unknown"}
REFUSED = [{**field, "type": "int"} if field["name"] == "client" else field for field in FIRST]


def schema(fields: Any) -> str:
    """Return a version of the schema."""
    return json.dumps({"type": "record", "name": "Request", "namespace": "web", "fields": fields})


VERSIONS = [schema(FIRST), schema([*FIRST, ADDED]), schema([*WIDENED, ADDED])]


def requests_of(lines: list[bytes]) -> list[dict[str, Any]]:
    """Return the lines of an access log as values for any version."""
    decode = AccessLogDecoder().decode
    found = []
    for line in lines:
        row = decode("", line)
        assert row is not None
        found.append(
            {
                "client": row.client,
                "time": row.time,
                "status": row.status,
                "bytes": row.bytes or 0,
                "line": line,
                "method": row.method or "none",
            }
        )
    return found


class SchemaCase(SynchronousTestCase):
    """A registry, a topic and a directory."""

    def setUp(self) -> None:
        """Start the registry, and make the topic."""
        self.broker = registry_broker()
        self.url = self.broker.http
        self.topic = new_topic()
        self.to = str(Path(self.mktemp()).resolve())
        with Cluster(self.broker.bootstrap) as cluster:
            Admin(cluster).create_topic(self.topic, 1)

    def produce(self, values: list[Any], encoder: str = "avro", **settings: Any) -> None:
        """Write values with one schema."""
        common = {"bootstrap_servers": self.broker.bootstrap, "schema_registry_url": self.url}
        with Producer(common, value_serializer=encoder, **settings) as producer:
            for value in values:
                producer.produce(self.topic, value)

    def ingest(self, decode: str = "avro", **settings: str) -> Any:
        """Load what there is; return the report."""
        options = IngestOptions(
            ClientSettings(self.broker.bootstrap),
            Subscribe((self.topic,)),
            self.to,
            decode=decode,
            decoder_settings={"schema.registry.url": self.url, **settings},
        )
        return ingest(shared_spark(), options)

    def table(self) -> Any:
        """Return the table as Spark reads it."""
        return read_table(shared_spark(), self.to)

    def dead(self) -> list[Any]:
        """Return the dead letters."""
        paths = sorted(Path(self.to).glob("_dead_letters/*.json"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


class AccessLogTests(SchemaCase):
    def facts(self) -> LogFacts:
        """Count with Spark what there is to count in the table."""
        self.table().createOrReplaceTempView("requests")

        def rows(query: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in shared_spark().sql(query).collect()]

        total, clients, size = rows("SELECT count(*), count(DISTINCT client), sum(bytes) FROM requests")[0]
        hour, most = rows(
            "SELECT unix_seconds(date_trunc('hour', time)) h, count(*) n FROM requests GROUP BY h"
            " ORDER BY n DESC, h LIMIT 1"
        )[0]
        lines = rows("SELECT line FROM requests ORDER BY kafka_offset")
        return LogFacts(
            rows=total,
            statuses=dict(rows("SELECT cast(status AS string), count(*) FROM requests GROUP BY status")),
            clients=clients,
            busiest_clients=tuple(
                rows(
                    "SELECT client, count(*) n FROM requests GROUP BY client ORDER BY n DESC, client LIMIT 3"
                )
            ),
            per_day=tuple(
                count
                for _, count in rows("SELECT date(time) d, count(*) FROM requests GROUP BY d ORDER BY d")
            ),
            busiest_hour=(datetime.fromtimestamp(hour, timezone.utc), most),
            bytes_sent=size,
            md5=hashlib.md5(b"".join(bytes(line) + b"\n" for (line,) in lines)).hexdigest(),
        )

    def test_evolving_schema(self) -> None:
        """Three versions of a schema, a commit each, are one table; a fourth is refused at the producer.

        The second adds a field with a default, the third widens int to long.
        """
        data, expected = (real_log(), REAL_FACTS)
        if data is None:
            data, expected = small_log()
        values = requests_of(data.splitlines())
        third = len(values) // 3 + 1
        for number, version in enumerate(VERSIONS):
            self.produce(values[number * third : (number + 1) * third], kafkatx_value_schema=version)
            self.ingest()
        with (
            Producer(
                {"bootstrap_servers": self.broker.bootstrap, "schema_registry_url": self.url},
                value_serializer="avro",
                kafkatx_value_schema=schema(REFUSED),
            ) as producer,
            self.assertRaises(RegistryError) as caught,
        ):
            producer.send(self.topic, {**values[0], "client": 1}).result()
        self.assertEqual(caught.exception.status, 409)
        self.assertEqual(self.facts(), expected)
        self.assertEqual(self.dead(), [])
        table = self.table()
        self.assertEqual(dict(table.dtypes)["bytes"], "bigint")
        self.assertEqual(table.where("method IS NULL").count(), third)
        files = [parquet.read_schema(path) for path in sorted(Path(self.to).glob("*.parquet"))]
        self.assertEqual([str(each.field("bytes").type) for each in files], ["int32", "int32", "int64"])

    def test_all_at_once(self) -> None:
        """Versions in one commit are all read as the latest: old records get the default of a new field."""
        values = requests_of(small_log()[0].splitlines())[:30]
        for number, version in enumerate(VERSIONS):
            self.produce(values[number * 10 : number * 10 + 10], kafkatx_value_schema=version)
        self.ingest()
        rows = self.table().orderBy("kafka_offset").collect()
        methods = [row.method for row in rows]
        self.assertEqual(methods, ["unknown"] * 10 + ["GET"] * 20)


class DeadLetterTests(SchemaCase):
    def test_what_does_not_fit(self) -> None:
        """Damaged records, unknown ids, other languages and records without a prefix are dead letters."""
        values = requests_of(small_log()[0].splitlines())[:3]
        self.produce(values, kafkatx_value_schema=VERSIONS[0])
        other = register(f"{self.topic}-other", "{}", SchemaType.JSON)
        foreign = register(f"{self.topic}-foreign", '"string"')
        own = register(f"{self.topic}-value", VERSIONS[0])
        bad = [prefix(own), prefix(99_999) + b"x", b"text", prefix(other) + b"{}", prefix(foreign) + b"\2a"]
        with Producer(bootstrap_servers=self.broker.bootstrap) as producer:
            for value in bad:
                producer.produce(self.topic, value)
            producer.produce(self.topic, None)
        report = self.ingest()
        self.assertEqual((self.table().count(), len(self.dead())), (4, 5))
        reasons = [letter["reason"] for letter in self.dead()]
        for reason, words in zip(reasons, ("schema", "40403", "prefix", "JSON", "match"), strict=True):
            self.assertIn(words, reason)
        self.assertEqual(report.rows, 4)

    def test_fixed_version(self) -> None:
        """A version by option decides the columns; a subject that is not there is told of."""
        self.produce(requests_of(small_log()[0].splitlines())[:3], kafkatx_value_schema=VERSIONS[0])
        self.produce(requests_of(small_log()[0].splitlines())[:3], kafkatx_value_schema=VERSIONS[1])
        self.ingest(version="1")
        self.assertNotIn("method", self.table().columns)
        self.ingest(version="2")
        self.produce(requests_of(small_log()[0].splitlines())[:3], kafkatx_value_schema=VERSIONS[1])
        self.assertRaises(SettingError, self.ingest, subject="nowhere")
        self.assertRaises(SettingError, self.ingest, unknown="1")


class ColumnTests(SchemaCase):
    def test_round_trip(self) -> None:
        """A table is written with a schema of the registry, and read back from the topic as it was."""
        from pyspark.sql.functions import struct

        spark, url, subject = shared_spark(), self.url, f"{self.topic}-value"
        frame = spark.sql(
            "SELECT 'a' client, timestamp '2015-05-19 10:00:00.123' time, 200 status, cast(id AS int) bytes,"
            " binary('x') line FROM range(3)"
        )
        value = to_registry(struct(*frame.columns), url, subject=subject, schema=VERSIONS[0])
        frame.select(value.alias("value")).write.format("kafkatx").mode("append").options(
            **{"kafka.bootstrap.servers": self.broker.bootstrap, "topic": self.topic}
        ).save()
        self.produce(
            [{**requests_of(small_log()[0].splitlines())[0], "bytes": 3}], kafkatx_value_schema=VERSIONS[2]
        )
        topic = (
            spark.read.format("kafkatx")
            .options(**{"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": self.topic})
            .load()
        )
        found = topic.select(from_registry("value", url, subject=subject).alias("it")).select("it.*")
        self.assertEqual(dict(found.dtypes)["bytes"], "bigint")
        rows = sorted(found.collect(), key=lambda row: row.bytes)
        self.assertEqual([row.bytes for row in rows], [0, 1, 2, 3])
        self.assertEqual(rows[0].method, "unknown")
        (given,) = frame.limit(1).collect()
        self.assertEqual((rows[0].time, rows[0].status), (given.time, 200))

    def test_errors(self) -> None:
        """Messages that cannot be read fail the query, or are null; null stays null."""
        subject = f"{self.topic}-value"
        own = register(subject, '"string"')
        frame = shared_spark().createDataFrame(
            [(prefix(own) + b"\2a",), (b"bad",), (None,), (prefix(99_999) + b"\2a",)], "value binary"
        )
        column = from_registry("value", self.url, subject=subject, errors="null")
        self.assertEqual([row[0] for row in frame.select(column).collect()], ["a", None, None, None])
        with self.assertRaises(Exception) as caught:
            frame.select(from_registry("value", self.url, subject=subject)).collect()
        self.assertIn("prefix", str(caught.exception))
        self.assertRaises(SettingError, from_registry, "value", self.url, subject="none")
        self.assertRaises(SettingError, from_registry, "value", self.url, subject=subject, errors="x")

    def test_new_id(self) -> None:
        """A schema that is newer than the query is looked up by the worker."""
        subject = f"{self.topic}-value"
        register(subject, VERSIONS[0])
        column = from_registry("value", self.url, subject=subject)
        self.produce(requests_of(small_log()[0].splitlines())[:2], kafkatx_value_schema=VERSIONS[1])
        topic = (
            shared_spark()
            .read.format("kafkatx")
            .options(**{"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": self.topic})
            .load()
        )
        self.assertEqual(topic.select(column.alias("it")).where("it.client IS NOT NULL").count(), 2)


class SinkTests(SchemaCase):
    def options(self, **more: str) -> dict[str, str]:
        """Options of the sink, with ``_`` for ``.``."""
        named = {name.replace("_", "."): value for name, value in more.items()}
        return {
            "kafka.bootstrap.servers": self.broker.bootstrap,
            "topic": self.topic,
            "kafka.schema.registry.url": self.url,
            "kafka.value.serializer": "avro",
            **named,
        }

    def test_rows(self) -> None:
        """Rows are written with the table's own schema, and Confluent's deserializer reads them; a field that
        is added is another version, and a column that the schema lacks an error."""
        from confluent_kafka.schema_registry import SchemaRegistryClient
        from confluent_kafka.schema_registry.avro import AvroDeserializer
        from confluent_kafka.serialization import MessageField, SerializationContext
        from pyspark.errors import PySparkException

        spark = shared_spark()
        first = spark.sql(
            "SELECT struct(cast(id AS string) name, timestamp '2015-05-19 10:00:00.123456' at,"
            " map('a', cast(id AS int)) counts, array(id, null) list) value, cast(id AS int) key"
            " FROM range(2)"
        )
        second = spark.sql("SELECT struct('2' name, 1.5D price) value, 2 key")
        options = self.options(kafka_key_serializer="avro")
        first.write.format("kafkatx").options(**options).mode("append").save()
        more = {"kafka.use.latest.version": "true", "kafka.auto.register.schemas": "false"}
        with self.assertRaises(PySparkException) as caught:
            second.write.format("kafkatx").options(**options, **more).mode("append").save()
        self.assertIn(f"subject {self.topic}-value has no field price", str(caught.exception))
        wider = second.selectExpr(
            "struct(value.name, timestamp '2015-05-19 10:00:00' at, map('a', 2) counts, array(2L) list,"
            " value.price) value",
            "key",
        )
        wider.write.format("kafkatx").options(**options).mode("append").save()
        read = AvroDeserializer(SchemaRegistryClient({"url": self.url}))
        topic = spark.read.format("kafkatx").options(
            **{"kafka.bootstrap.servers": self.broker.bootstrap, "subscribe": self.topic}
        )
        found = {
            read(bytes(row.key), SerializationContext(self.topic, MessageField.KEY)): read(
                bytes(row.value), SerializationContext(self.topic, MessageField.VALUE)
            )
            for row in topic.load().collect()
        }
        names = {key: (value["name"], value["counts"], value["list"]) for key, value in found.items()}
        self.assertEqual(
            names, {0: ("0", {"a": 0}, [0, None]), 1: ("1", {"a": 1}, [1, None]), 2: ("2", {"a": 2}, [2])}
        )
        self.assertEqual(found[0]["at"].microsecond, 123456)
        self.assertEqual([value.get("price") for _, value in sorted(found.items())], [None, None, 1.5])

    def test_bad_row(self) -> None:
        """A row that does not fit its schema fails the write, with topic, field and subject."""
        from pyspark.errors import PySparkException

        fields = [{"name": "id", "type": "long"}]
        frame = shared_spark().sql("SELECT struct(nullif(id, 3) id) value FROM range(5)")
        options = self.options(kafka_kafkatx_value_schema=schema(fields))
        with self.assertRaises(PySparkException) as caught:
            frame.write.format("kafkatx").options(**options).mode("append").save()
        said = f"topic {self.topic}: a value does not fit the schema of subject {self.topic}-value"
        self.assertIn(said, str(caught.exception))
        self.assertIn("on field id", str(caught.exception))


class JsonTests(SchemaCase):
    def test_json_schema(self) -> None:
        """JSON with a schema is checked by the producer, and its columns are the schema's."""
        text = json.dumps(
            {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "at": {"type": "string", "format": "date-time"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "place": {"type": "object", "properties": {"x": {"type": "number"}}},
                },
            }
        )
        value = {"id": 1, "at": "2015-05-19T10:00:00Z", "tags": ["a"], "place": {"x": 1.5}}
        self.produce([value, {"id": 2}], "json-schema", kafkatx_value_schema=text)
        self.ingest("json-schema")
        rows = self.table().orderBy("id").drop("kafka_timestamp").collect()
        self.assertEqual((rows[0].id, rows[0].tags, rows[0].place.x), (1, ["a"], 1.5))
        self.assertEqual(dict(self.table().dtypes)["at"], "timestamp")
        self.assertIsNone(rows[1].place)


class ProtobufTests(SchemaCase):
    def test_protobuf(self) -> None:
        """Protobuf messages become rows, old ones as the latest version of their schema."""
        text = 'syntax = "proto3"; message Order { int64 id = 1; repeated Item items = 2; %s }'
        text += "message Item { string name = 1; }"
        first, second = text % "", text % "optional string note = 3;"
        self.produce([{"id": 1 << 40, "items": [{"name": "a"}]}], "protobuf", kafkatx_value_schema=first)
        self.produce([{"id": 2, "note": "n"}], "protobuf", kafkatx_value_schema=second)
        self.ingest("protobuf")
        rows = self.table().orderBy("kafka_offset").collect()
        self.assertEqual(
            [(row.id, [item.name for item in row.items], row.note) for row in rows],
            [(1 << 40, ["a"], None), (2, [], "n")],
        )

    def test_places(self) -> None:
        """The message that a schema and indexes name is a row, by default or if it is chosen.

        The second version has another message at the place of the first one.
        """
        subject = f"{self.topic}-value"
        ids = [
            register(subject, schema.text, SchemaType.PROTOBUF)
            for schema in (protobuf_schemas.FIRST, protobuf_schemas.SECOND)
        ]
        messages = [
            prefix(ids[0]) + protobuf_schemas.OF_FIRST,
            prefix(ids[1]) + protobuf_schemas.OF_SECOND,
            prefix(ids[1]) + protobuf_schemas.ADDRESS_OF_SECOND,
        ]
        self.produce(messages, "bytes")
        self.ingest("protobuf")
        rows = self.table().orderBy("kafka_offset").collect()
        self.assertEqual([(row.id, row.c) for row in rows], [("A1", 995), ("A2", 996)])
        self.assertEqual([(each["offset"], "s.A" in each["reason"]) for each in self.dead()], [(2, True)])
        frame = shared_spark().createDataFrame([(each,) for each in messages], "value binary")
        for message, expected in (
            ("", [("A1", 995), ("A2", 996), None]),
            ("s.A", [None, None, ("A3", 997)]),
        ):
            column = from_registry("value", self.url, subject=subject, message=message, errors="null")
            found = [row[0] and tuple(row[0]) for row in frame.select(column).collect()]
            self.assertEqual(found, expected)
