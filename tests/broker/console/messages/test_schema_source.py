"""The registry as a source of schemas."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.console.messages.schema_source import FAILED_S, MOST_KEPT, SchemaSource
from kafkatx.web.calls import OF_BROKER, Answer, Call

REFERRING = {
    "schema": '"x"',
    "references": [{"name": "other", "subject": "o", "version": 3}],
    "guid": "0e2f2a7a-1111-4222-8333-444455556666",
}


class SchemaSourceTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a registry of a few answers."""
        self.clock = Clock()
        self.calls: list[Call] = []
        self.answers: dict[str, Any] = {
            "/schemas/ids/1": {"schema": '"string"'},
            "/schemas/ids/2": REFERRING,
            f"/schemas/guids/{REFERRING['guid']}": REFERRING,
            "/subjects/o/versions/3": {
                "schema": '{"a": 1}',
                "schemaType": "JSON",
                "id": 9,
                "subject": "o",
                "version": 3,
            },
            "/subjects/o/versions/latest": {"schema": '"long"', "id": 8, "subject": "o", "version": 4},
        }
        self.source = SchemaSource(lambda: self.answer, self.clock)

    def answer(self, call: Call) -> Answer:
        """Answer as a registry."""
        self.calls.append(call)
        found = self.answers.get(call.target.partition("?")[0])
        if found is None:
            return Answer(404, json.dumps({"error_code": 40403, "message": "Schema not found"}).encode())
        return Answer(200, json.dumps(found).encode())

    def describe(self, *references: str) -> dict[str, Any]:
        """Describe schemas."""
        return self.successResultOf(Deferred.fromCoroutine(self.source.describe(references)))

    def test_described(self) -> None:
        """A schema is described with those that it refers to, and asked for once, as the broker."""
        found = self.describe("id:1", "id:2", f"guid:{REFERRING['guid']}")
        self.assertEqual(
            found["id:1"],
            {
                "type": "AVRO",
                "schema": '"string"',
                "dependencies": {},
                "id": 1,
                "guid": None,
                "subject": None,
            },
        )
        self.assertEqual(found["id:2"]["dependencies"], {"other": {"type": "JSON", "schema": '{"a": 1}'}})
        self.assertEqual(found[f"guid:{REFERRING['guid']}"]["guid"], REFERRING["guid"])
        count = len(self.calls)
        self.describe("id:1", "id:2")
        self.assertEqual(len(self.calls), count)
        self.assertTrue(all(call.session is OF_BROKER for call in self.calls))

    def test_unknown(self) -> None:
        """An unknown schema is an error that is kept for a while."""
        self.assertIn("Schema not found", self.describe("id:7")["id:7"]["error"])
        self.describe("id:7")
        self.assertEqual(len(self.calls), 1)
        self.clock.advance(FAILED_S)
        self.answers["/schemas/ids/7"] = {"schema": '"int"'}
        self.assertEqual(self.describe("id:7")["id:7"]["schema"], '"int"')

    def test_kept(self) -> None:
        """The number of schemas that are kept is bounded."""
        self.describe(*(f"id:{number}" for number in range(MOST_KEPT + 50)))
        self.assertLessEqual(len(self.source._kept), MOST_KEPT)

    def test_chosen(self) -> None:
        """A schema that a user has chosen is found by subject and version, or is an error."""
        found: Any = self.successResultOf(Deferred.fromCoroutine(self.source.of_subject("o")))
        self.assertEqual((found["id"], found["subject"]), (8, "o"))
        found = self.successResultOf(Deferred.fromCoroutine(self.source.of_subject("o", 3)))
        self.assertEqual(found["id"], 9)
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(self.source.by_id(1)))["id"], 1)
        error = self.failureResultOf(Deferred.fromCoroutine(self.source.by_id(7)), ConsoleError).value
        self.assertEqual((error.status, error.code), (404, "SCHEMA_REGISTRY_40403"))
