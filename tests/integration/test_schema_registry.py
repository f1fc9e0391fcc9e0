"""The schema registry of a real broker: clients of others, several at once, bad input, kill -9."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar
from urllib.parse import urlsplit

import requests
from confluent_kafka import KafkaError, Producer
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.testing import EmbeddedBroker
from kafkatx.testing.messages import create_topic

HTTP = {"http.listeners": "HTTP://127.0.0.1:0"}
TEXT = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})


def record(name: str, *fields: str) -> str:
    """Return a record of Avro, whose fields are numbers with a default."""
    listed = [{"name": field, "type": "int", "default": 0} for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": listed})


def ask(url: str, method: str = "GET", body: object = None, timeout_s: float = 20.0) -> tuple[int, Any]:
    """Ask by urllib; return status and body."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


class RegistryTestCase(SynchronousTestCase):
    """A broker with an HTTP listener for each test."""

    settings: ClassVar[dict[str, str]] = HTTP

    def setUp(self) -> None:
        """Start the broker."""
        self.broker = EmbeddedBroker(self.settings)
        self.addCleanup(self.broker.close)
        self.broker.start()

    def register(self, subject: str, text: str = TEXT) -> int:
        """Register a schema; return its id."""
        status, body = ask(f"{self.broker.http}/subjects/{subject}/versions", "POST", {"schema": text})
        self.assertEqual(status, 200, body)
        schema_id: int = body["id"]
        return schema_id


class ClientTests(RegistryTestCase):
    def client(self) -> SchemaRegistryClient:
        """Return a client of confluent-kafka with an empty cache."""
        return SchemaRegistryClient({"url": self.broker.http})

    def test_confluent_kafka(self) -> None:
        """confluent-kafka's client registers, looks up, checks, configures and deletes."""
        client = self.client()
        first = client.register_schema("c-value", Schema(TEXT, "AVRO"))
        self.assertEqual(client.register_schema("c-value", Schema(TEXT, "AVRO")), first)
        self.assertEqual(self.client().get_schema(first).schema_str, TEXT)
        self.assertEqual(self.client().lookup_schema("c-value", Schema(TEXT, "AVRO")).schema_id, first)
        latest = client.get_latest_version("c-value")
        self.assertEqual((latest.version, latest.schema_id), (1, first))
        self.assertEqual(self.client().get_schema_by_guid(latest.guid).schema_str, TEXT)
        self.assertTrue(client.test_compatibility("c-value", Schema(record("R", "a", "b"), "AVRO")))
        client.set_compatibility("c-value", "FULL")
        self.assertEqual(client.get_compatibility("c-value"), "FULL")
        reference = SchemaReference("R", "c-value", 1)
        text = '{"type":"record","name":"Q","fields":[{"name":"r","type":"R"}]}'
        self.assertNotEqual(client.register_schema("q-value", Schema(text, "AVRO", [reference])), first)
        with self.assertRaises(SchemaRegistryError) as refused:
            client.delete_subject("c-value")
        self.assertEqual(refused.exception.error_code, 42206)
        client.delete_subject("q-value")
        self.assertEqual(client.delete_subject("q-value", permanent=True), [1])
        self.assertEqual(client.get_subjects(subject_prefix="c-"), ["c-value"])

    def test_serializers(self) -> None:
        """Its Avro serializer and deserializer find their schemas here, after an evolution, too."""
        context = SerializationContext("s", MessageField.VALUE)
        old = AvroSerializer(self.client(), record("S", "a"))({"a": 5}, context)
        new = AvroSerializer(self.client(), record("S", "a", "b"))({"a": 6, "b": 7}, context)
        read = AvroDeserializer(self.client(), record("S", "a", "b"))
        self.assertEqual([read(old, context), read(new, context)], [{"a": 5, "b": 0}, {"a": 6, "b": 7}])
        with self.assertRaises(Exception) as refused:
            AvroSerializer(self.client(), TEXT.replace('"a"', '"z"').replace('"R"', '"S"'))({"z": 1}, context)
        self.assertIn("409", str(refused.exception))

    def test_languages(self) -> None:
        """JSON Schema and Protobuf are registered, found in another layout, and compared."""
        number, string = {"type": "number"}, {"type": "string"}
        texts = {
            "JSON": [
                json.dumps({"type": "object", "properties": {"a": number}}),
                json.dumps({"type": "object", "properties": {"a": number}}, indent=2),
                json.dumps({"type": "object", "properties": {"a": string}}),
            ],
            "PROTOBUF": [
                'syntax = "proto3";\nmessage M { int32 a = 1; }\n',
                'syntax = "proto3"; message M {\n  int32 a = 1;\n}',
                'syntax = "proto3";\nmessage M { string a = 1; }\n',
            ],
        }
        for kind, (first, layout, other) in texts.items():
            path = f"{self.broker.http}/subjects/{kind}/versions"
            answers = [
                ask(path, "POST", {"schema": text, "schemaType": kind}) for text in (first, layout, other)
            ]
            self.assertEqual([status for status, _ in answers], [200, 200, 409], answers)
            self.assertEqual(answers[0][1]["id"], answers[1][1]["id"])
            self.assertEqual(ask(f"{path}/1")[1]["schemaType"], kind)

    def test_requests(self) -> None:
        """requests keeps its connection, asks by HEAD, and names subjects with slashes and colons."""
        subject = ":.team:a/b c"
        url = self.broker.http
        with requests.Session() as client:
            path = f"{url}/subjects/%3A.team%3Aa%2Fb%20c/versions"
            self.assertEqual(client.post(path, json={"schema": TEXT}).status_code, 200)
            self.assertIn(subject, client.get(f"{url}/subjects").json())
            head = client.head(f"{url}/subjects")
            self.assertEqual((head.status_code, head.content), (200, b""))
            self.assertGreater(int(head.headers["content-length"]), 0)
            self.assertEqual(client.get(f"{url}/contexts").json(), [".", ".team"])

    def test_curl(self) -> None:
        """curl waits for 100 Continue with a large body, and is answered."""
        body = json.dumps({"schema": record("Large", *[f"f{number}" for number in range(2000)])})
        done = subprocess.run(
            [
                *(
                    "curl",
                    "-s",
                    "-m",
                    "10",
                    "-H",
                    "Content-Type: application/json",
                    "-H",
                    "Expect: 100-continue",
                ),
                *("-d", "@-", f"{self.broker.http}/subjects/large/versions"),
            ],
            input=body.encode(),
            capture_output=True,
            check=True,
        )
        self.assertEqual(json.loads(done.stdout)["version"], 1)

    def test_of_the_topic(self) -> None:
        """The records can be read from the topic, in the order of the changes."""
        self.register("of-the-topic")
        keys = [json.loads(message.key or b"") for message in self.broker.messages("_schemas")]
        expected = {"keytype": "SCHEMA", "subject": "of-the-topic", "version": 1, "magic": 1}
        self.assertIn(expected, keys)


class ConcurrencyTests(RegistryTestCase):
    def test_two_writers(self) -> None:
        """Many writers at once at once: each schema has one id, and each id one schema."""
        texts = [record(f"W{number % 5}", "a") for number in range(60)]
        with ThreadPoolExecutor(8) as pool:
            ids = list(
                pool.map(
                    lambda pair: self.register(f"w{pair[0] % 7}-{pair[0] % 5}", pair[1]), enumerate(texts)
                )
            )
        by_text: dict[str, set[int]] = {}
        for text, schema_id in zip(texts, ids, strict=True):
            by_text.setdefault(text, set()).add(schema_id)
        self.assertEqual([len(found) for found in by_text.values()], [1] * 5)
        self.assertEqual(len(set.union(*by_text.values())), 5)

    def test_many_requests(self) -> None:
        """Ten thousand requests on one connection, a hundred sent at a time, are answered in order."""
        ids = [self.register("many", record("M", *"abc"[:number])) for number in range(3)]
        address = urlsplit(self.broker.http)
        with socket.create_connection((address.hostname, address.port), 20) as client:
            stream = client.makefile("rb")
            for _ in range(100):
                asked = [ids[number % 3] for number in range(100)]
                client.sendall(b"".join(b"GET /schemas/ids/%d HTTP/1.1\r\n\r\n" % one for one in asked))
                for schema_id in asked:
                    headers = {}
                    while line := stream.readline().strip():
                        name, _, value = line.lower().partition(b": ")
                        headers[name] = value
                    body = json.loads(stream.read(int(headers[b"content-length"])))
                    self.assertEqual(body["schema"].count('"default"'), schema_id - ids[0])


class BadInputTests(RegistryTestCase):
    settings: ClassVar[dict[str, str]] = {
        **HTTP,
        "kafkatx.http.request.timeout.ms": "500",
        "kafkatx.http.max.connections": "20",
    }

    def refused(self, code: int, text: str, **members: object) -> str:
        """Register what is refused; return the message."""
        path = f"{self.broker.http}/subjects/bad/versions"
        _, body = ask(path, "POST", {"schema": text, **members})
        self.assertEqual(body["error_code"], code, body)
        message: str = body["message"]
        return message

    def setUp(self) -> None:
        """Start the broker, which must serve on at both listeners when the test is done."""
        super().setUp()
        self.addCleanup(self.serves_on)

    def serves_on(self) -> None:
        """Register and produce."""
        self.register("good")
        self.broker.produce("good", "x")

    def test_schemas(self) -> None:
        """Schemas that are too large, too deep or no schemas are refused with a reason."""
        self.refused(42209, "x" * 1_000_001)
        self.refused(42201, "x" * 1_000_000)
        self.refused(42201, "[" * 10_000)
        deep = '{"type":"array","items":' * 10_000 + '"int"' + "}" * 10_000
        self.refused(42201, deep)
        self.refused(42201, '{"type":"record","name":"R","fields":[{"name":"r","type":"Missing"}]}')
        self.refused(42201, "{}", schemaType="COBOL")

    def test_body(self) -> None:
        """A body that is too large, and one that is not JSON, are refused."""
        path = f"{self.broker.http}/subjects/bad/versions"
        try:
            status, _ = ask(path, "POST", {"schema": "x" * (5 << 20)})
        except urllib.error.URLError:  # the refusal came while the body was being sent
            status = 413
        self.assertEqual(status, 413)
        request = urllib.request.Request(path, b"{", {"Content-Type": "application/json"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        self.assertEqual(refused.exception.code, 400)
        refused.exception.close()

    def test_slow_client(self) -> None:
        """A client that sends half a request is disconnected; others are served meanwhile."""
        address = urlsplit(self.broker.http)
        with socket.create_connection((address.hostname, address.port), 20) as slow:
            slow.sendall(b"POST /subjects/s/versions HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")
            self.register("meanwhile")
            with _Ended() as ended:
                ended.value = slow.recv(100)
            self.assertEqual(ended.value, b"")

    def test_connections(self) -> None:
        """At the limit the connection that is idle longest gives way, so another client is answered."""
        address = urlsplit(self.broker.http)
        open_ones = [socket.create_connection((address.hostname, address.port), 20) for _ in range(20)]
        for one in open_ones:
            self.addCleanup(one.close)
        self.assertEqual(ask(f"{self.broker.http}/health/live")[0], 200)
        with _Ended() as ended:
            ended.value = open_ones[0].recv(1)
        self.assertEqual(ended.value, b"")

    def test_another_site(self) -> None:
        """A page of another site can neither read by a name of its own, nor change anything."""
        for headers, method in (
            ({"Host": "evil.example"}, "GET"),
            ({"Origin": "http://evil.example"}, "DELETE"),
        ):
            request = urllib.request.Request(f"{self.broker.http}/subjects", None, headers, method=method)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            self.assertEqual(refused.exception.code, 403)
            refused.exception.close()


class _Ended:
    """Takes a reset of a connection as its end."""

    value: bytes = b""

    def __enter__(self) -> _Ended:
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> bool:
        return isinstance(value, ConnectionError)


class BadTopicTests(SynchronousTestCase):
    def test_garbage(self) -> None:
        """Garbage that a client writes into the topic is skipped with a line of the log, at each start."""
        with EmbeddedBroker(HTTP) as broker:
            path = f"{broker.http}/subjects/s/versions"
            ask(path, "POST", {"schema": TEXT})
            broker.produce("_schemas", "garbage", key="garbage")
            broker.produce("_schemas", None, key='{"keytype":"SCHEMA"}')
            self.assertEqual(ask(path)[1], [1])
            self.assertIn("no schema registry's, or damaged", broker.output())
            broker.stop()
            broker.start()
            self.assertEqual(ask(f"{broker.http}/subjects/s/versions")[1], [1])
            self.assertEqual(broker.output().count("no schema registry's, or damaged"), 1)

    def test_not_compact(self) -> None:
        """A topic that deletes old records is refused with the reason; the broker serves on."""
        with EmbeddedBroker(HTTP) as broker:
            create_topic(broker.bootstrap, "_schemas", 1, {"cleanup.policy": "delete"})
            status, body = ask(f"{broker.http}/subjects")
            self.assertEqual((status, body["error_code"]), (500, 50001))
            self.assertEqual(ask(f"{broker.http}/health/ready")[0], 200)


class KillTests(SynchronousTestCase):
    def test_kill(self) -> None:
        """After kill -9 in the middle of registrations every acknowledged one is there, with its id."""
        with EmbeddedBroker(HTTP, run_in="process") as broker:
            acknowledged: dict[str, int] = {}

            def write(writer: int) -> None:
                for number in range(1000):
                    subject = f"k{writer}-{number}"
                    try:
                        status, body = ask(
                            f"{broker.http}/subjects/{subject}/versions",
                            "POST",
                            {"schema": record(f"K{writer}{number}")},
                        )
                    except (OSError, ValueError):
                        return
                    if status == 200:
                        acknowledged[subject] = body["id"]

            threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
            for thread in threads:
                thread.start()
            while len(acknowledged) < 60:
                time.sleep(0.01)
            assert broker.pid is not None
            os.kill(broker.pid, signal.SIGKILL)
            for thread in threads:
                thread.join()
            broker.kill()
            broker.start()
            for subject, schema_id in acknowledged.items():
                self.assertEqual(ask(f"{broker.http}/subjects/{subject}/versions/1")[1]["id"], schema_id)
            self.assertEqual(len(set(acknowledged.values())), len(acknowledged))


class CheckedTopicTests(RegistryTestCase):
    def test_librdkafka(self) -> None:
        """librdkafka's records reach a checked topic only with an id of its subject, compressed ones, too."""
        create_topic(self.broker.bootstrap, "checked", 1, {"confluent.value.schema.validation": "true"})
        good = b"\0" + self.register("checked-value").to_bytes(4, "big") + b"x"
        for codec in ("none", "zstd"):
            errors: list[KafkaError | None] = []
            producer = Producer({"bootstrap.servers": self.broker.bootstrap, "compression.type": codec})
            for value in (good, b"{}", None):
                producer.produce(
                    "checked", value, on_delivery=lambda error, _, found=errors: found.append(error)
                )
                producer.flush()
            self.assertEqual(
                [error and error.code() for error in errors], [None, KafkaError.INVALID_RECORD, None]
            )
        self.assertEqual([message.value for message in self.broker.messages("checked")], [good, None] * 2)
