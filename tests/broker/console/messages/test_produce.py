"""Messages that people type, read back by a search."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.partitioners import murmur2
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.messages.case import MessagesCase
from tests.views.formats.test_registered import TEXTS


class ProduceTests(MessagesCase):
    def post(self, status: int = 200, **fields: object) -> Any:
        """Produce a message."""
        return self.change("POST", "/messages", {"topic": "t", **fields}, status)

    def newest(self, **parameters: object) -> Any:
        """Return the newest record."""
        return self.search(count=1, **parameters).of("record")[0]

    def test_text(self) -> None:
        """A message has key, value, headers and time as they were typed, and its place is told."""
        headers = [
            {"key": "h", "value": "é"},
            {"key": "n", "value": None},
            {"key": "x", "value": "ff", "format": "hex"},
        ]
        found = self.post(partition=1, key="k", value="größe", headers=headers, timestampMs=1234)
        self.assertEqual(found, {"partition": 1, "offset": "0"})
        record = self.newest()
        self.assertEqual((record["partition"], record["timestampMs"]), (1, 1234))
        self.assertEqual((record["key"]["text"], record["value"]["text"]), ("k", "größe"))
        self.assertEqual(
            [(one["key"], one["value"]["format"], one["value"]["text"]) for one in record["headers"]],
            [("h", "text", "é"), ("n", "null", None), ("x", "hex", "ff")],
        )

    def test_null(self) -> None:
        """A tombstone and an empty value are two things; so are no key and an empty one."""
        self.post(key="", value=None, partition=0)
        record = self.newest()
        self.assertEqual((record["key"]["format"], record["value"]["format"]), ("text", "null"))
        self.post(value="", partition=0)
        record = self.newest()
        self.assertEqual((record["key"]["format"], record["value"]["format"]), ("null", "text"))

    def test_partition(self) -> None:
        """Without a partition the key chooses it, as in the Java client."""
        for key in ("a", "b", "c", "d"):
            found = self.post(key=key, value="x")
            self.assertEqual(found["partition"], (murmur2(key.encode()) & 0x7FFFFFFF) % 2)
        self.assertIn(self.post(value="x")["partition"], (0, 1))

    def test_send_again(self) -> None:
        """Any bytes that were shown in hexadecimal can be sent again."""
        self.write(0, bytes(range(256)))
        shown = self.newest(valueFormat="hex")["value"]["text"]
        self.post(partition=1, value=shown, valueFormat="hex")
        again = self.search(partition="1", valueFormat="hex").of("record")[0]
        self.assertEqual(again["value"]["text"], shown)

    def test_refused(self) -> None:
        """A wrong field is refused, and nothing is produced."""
        for fields, message in (
            ({"value": "{", "valueFormat": "json"}, "the value is no JSON"),
            ({"value": "x", "key": "0g", "keyFormat": "hex"}, "the key is no hexadecimal"),
            ({"value": "x", "valueFormat": "xml"}, "there are text, json"),
            ({"value": 5}, "value must be a text"),
            ({"value": "x", "partition": 2}, "from 0 to 1"),
            (
                {"value": "x", "headers": [{"key": "h", "value": "x", "format": "avro"}]},
                "text, hex or base64",
            ),
            (
                {"value": "x", "headers": [{"key": "h", "value": "x", "format": "hex"}]},
                "a header's value is no hex",
            ),
            ({"value": "x", "headers": "h"}, "headers must be a list"),
            ({"value": "x", "timestampMs": "now"}, "timestampMs must be"),
        ):
            error = self.post(400, **fields)["error"]
            self.assertIn(message, error["message"])
        self.assertEqual(self.post(404, topic="u", value="x")["error"]["code"], "UNKNOWN_TOPIC_OR_PARTITION")
        self.assertEqual(self.search().texts, [])

    def test_broker_refuses(self) -> None:
        """The broker's refusal is told: a record that is too large, for example."""
        self.make_topic("small", 1, **{"max.message.bytes": "100"})
        error = self.post(400, topic="small", value="x" * 200)["error"]
        self.assertEqual(error["code"], "MESSAGE_TOO_LARGE")
        self.assertIn("small-0", error["message"])

    def test_audit(self) -> None:
        """A record that was produced is among the actions, without its contents."""
        self.post(value="secret")
        (action,) = self.get("/actions")["items"]
        self.assertEqual(
            (action["action"], action["resource"], action["result"]), ("produce", "topic t", "done")
        )
        self.assertNotIn("secret", str(action))


class SchemaTests(MessagesCase):
    def setUp(self) -> None:
        """Register a schema of each language."""
        super().setUp()
        for kind, text in TEXTS.items():
            body = {"schema": text, "schemaType": kind.value}
            found = self.registry_request("POST", f"/subjects/{kind.value}/versions", body)
            self.assertIn("id", found)

    def registry_request(self, method: str, path: str, body: object) -> Any:
        """Ask the registry."""
        from twisted.internet.defer import Deferred

        from kafkatx.net.requests import NOBODY
        from kafkatx.web.calls import Answer, Call, read_target

        segments, query = read_target(path.encode())
        headers = {"content-type": "application/json"}
        call = Call(method, path, segments, query, headers, json.dumps(body).encode(), NOBODY)
        outcome: Any = self.registry.parts.application(call)
        asked: Deferred[Answer] = Deferred.fromCoroutine(outcome)
        for _ in range(1000):
            if asked.called:
                break
            self.clock.advance(0.05)
        answer = self.successResultOf(asked)
        assert isinstance(answer.body, bytes)
        return json.loads(answer.body)

    def test_schemas(self) -> None:
        """A message is written by a schema of the registry, and read by the id in it."""
        for kind, name in (("AVRO", "avro"), ("PROTOBUF", "protobuf"), ("JSON", "json-schema")):
            value = '{"id":5}' if kind == "JSON" else '{"id":5,"who":"é"}'
            fields = {"value": value, "valueFormat": name, "valueSchema": {"subject": kind}, "partition": 0}
            self.change("POST", "/messages", {"topic": "t", **fields})
            (record,) = self.search(count=1, filter="value.id == 5").of("record")
            self.assertEqual((record["value"]["format"], record["value"]["text"]), (name, value))
            number = record["schema"]["id"]
            fields["valueSchema"] = {"id": number}
            self.change("POST", "/messages", {"topic": "t", **fields})
            self.assertEqual(self.search(count=1).of("record")[0]["schema"]["id"], number)

    def test_unknown(self) -> None:
        """A schema that is not there is refused with its name."""
        for schema, code, message in (
            ({}, "SCHEMA_REGISTRY_40401", "subject t-value"),
            ({"id": 99}, "SCHEMA_REGISTRY_40403", "schema 99"),
            ({"subject": "AVRO", "version": 7}, "SCHEMA_REGISTRY_40402", "subject AVRO"),
        ):
            body = {"topic": "t", "value": "{}", "valueFormat": "avro", "valueSchema": schema}
            error = self.change("POST", "/messages", body, 404)["error"]
            self.assertEqual(error["code"], code)
            self.assertIn(message, error["message"])

    def test_wrong_ids(self) -> None:
        """Records with ids of no schema, or damaged ones, are shown with the fault."""
        self.write(0, b"\0\0\0\0\x63abc", b"\0\0\0\0\1\xff\xff")
        damaged, unknown = self.search().of("record")
        self.assertIn("Schema 99 not found", unknown["value"]["fault"])
        self.assertIn("avro, schema 1", damaged["value"]["fault"])
        self.assertEqual(unknown["value"]["text"], b"\0\0\0\0\x63abc".hex())


class ReadOnlyTests(MessagesCase):
    settings: ClassVar[dict[str, str]] = {**MessagesCase.settings, "kafkatx.console.read.only": "true"}

    def test_read_only(self) -> None:
        """A console that is read-only produces nothing."""
        found = self.change("POST", "/messages", {"topic": "t", "value": "x"}, 403)
        self.assertEqual(self.refused(found), "READ_ONLY")
        self.assertEqual(self.search().texts, [])


class RightsTests(MessagesCase, AuthorizedConsoleCase):
    settings: ClassVar[dict[str, str]] = AuthorizedConsoleCase.settings

    def test_rights(self) -> None:
        """Writing to a topic is a right of its own."""
        body = {"topic": "t", "value": "x"}
        for topic in ("t", "u"):  # not even that a topic exists is told
            found = self.change("POST", "/messages", {**body, "topic": topic}, 403)
            self.assertEqual(self.refused(found), "TOPIC_AUTHORIZATION_FAILED")
        self.grant(AclOperation.WRITE, ResourceType.TOPIC, "t")
        self.assertEqual(self.change("POST", "/messages", body)["offset"], "0")
