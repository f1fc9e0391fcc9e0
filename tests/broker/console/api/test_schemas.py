"""Schemas."""

from __future__ import annotations

from typing import Any

from kafkatx.broker.registry.inspector import Inspector
from kafkatx.registry.errors import invalid_schema
from kafkatx.registry.inspection import Inspected, Inspection, inspect
from kafkatx.schemas.engines import engine
from kafkatx.schemas.types import InvalidSchema
from tests.broker.console.case import ConsoleCase
from tests.broker.registry.case import A, B, C


async def inspect_here(inspector: Inspector, share: str, job: Inspection) -> Inspected:
    """Make an inspection, as a process would."""
    try:
        return inspect(job, engine)
    except InvalidSchema as error:
        raise invalid_schema(f"Invalid schema: {error}") from None


class SchemasTests(ConsoleCase):
    def setUp(self) -> None:
        """Inspect schemas in this process."""
        super().setUp()
        self.patch(Inspector, "inspect", inspect_here)

    def register(self, text: str, subject: str = "t-value", status: int = 200, **more: Any) -> Any:
        """Register a schema."""
        return self.change("POST", f"/schemas/{subject}/versions", {"schema": text, **more}, status)

    def test_versions(self) -> None:
        """Schemas are registered as versions of a subject, told, and listed."""
        first = self.register(A)
        self.assertEqual(first["version"], 1)
        self.assertEqual(self.register(A), first)
        second = self.register(B, type="AVRO")
        self.assertEqual(second["version"], 2)
        found = self.get("/schemas/t-value")
        self.assertEqual((found["compatibility"], found["mode"]), ("BACKWARD", "READWRITE"))
        self.assertEqual(
            found["versions"],
            [
                {"version": 1, "id": first["id"], "type": "AVRO"},
                {"version": 2, "id": second["id"], "type": "AVRO"},
            ],
        )
        told = self.get("/schemas/t-value/versions/2")
        self.assertEqual((told["schema"], told["references"]), (B, []))
        self.register(A, "a%2Fb")
        listed = self.get("/schemas")
        self.assertEqual([one["subject"] for one in listed["items"]], ["a/b", "t-value"])
        newest = {"subject": "t-value", "latestVersion": 2, "type": "AVRO", "id": second["id"]}
        self.assertEqual(listed["items"][1], {**newest, "compatibility": "BACKWARD"})
        sorted_ = self.get("/schemas?sort=-latestVersion")["items"]
        self.assertEqual([one["subject"] for one in sorted_], ["t-value", "a/b"])
        self.assertEqual(self.get("/schemas?search=T-V")["total"], 1)

    def test_check(self) -> None:
        """A schema is checked before it is registered: one that does not fit is refused."""
        self.register(A)
        for text, fits in ((B, True), (C, False)):
            found = self.change("POST", "/schemas/t-value/check", {"schema": text})
            self.assertEqual(found["compatible"], fits)
            self.assertEqual(bool(found["messages"]), not fits)
        self.assertEqual(self.refused(self.register(C, status=409)), "SCHEMA_REGISTRY_409")
        self.change("PUT", "/schemas/t-value/compatibility", {"level": "NONE"})
        self.assertEqual(self.register(C)["version"], 2)
        found = self.change("PUT", "/schemas/t-value/compatibility", {"level": None})
        self.assertEqual(found["compatibility"], "BACKWARD")
        told = {one["action"] for one in self.get("/actions")["items"]}
        self.assertEqual(told, {"register schema", "set compatibility"})

    def test_wrong(self) -> None:
        """Unknown subjects and versions are refused, and texts that are no schema."""
        self.refused(self.get("/schemas/no", 404))
        self.refused(self.get("/schemas/no/versions/1", 404))
        self.refused(self.register("{", status=422))
        self.refused(self.register(A, type="COBOL", status=422))
        self.refused(self.change("POST", "/schemas/t-value/versions", {}, 400))
        self.refused(self.change("PUT", "/schemas/t-value/compatibility", {"level": "SOME"}, 422))
        self.register(A)
        self.refused(self.get("/schemas/t-value/versions/x", 422))
