"""Tests of kafkatx.clientcore.registry.plans, against a registry in memory."""

from __future__ import annotations

from kafkatx.clientcore.registry import plans
from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.clientcore.registry.plans import WriterPolicy
from kafkatx.schemas.types import InvalidSchema, Reference, Schema, SchemaType
from tests.clientcore.registry.case import PlanCase


class SchemaTests(PlanCase):
    def test_references(self) -> None:
        """Schemas that a schema refers to come with it, each after those that it needs itself."""
        self.registry.add("a", '"a"')
        self.registry.add("b", '"b"', SchemaType.AVRO, ("A", "a", 1))
        number = self.registry.add("c", '"c"', SchemaType.AVRO, ("B", "b", 1), ("A", "a", 1))
        found = self.run_plan(plans.schema_of_id(number))
        self.assertEqual(list(found.dependencies), ["A", "B"])
        self.assertEqual(found.dependencies["B"].references, (Reference("A", "a", 1),))

    def test_circle(self) -> None:
        """References in a circle are refused."""
        self.registry.add("a", '"a"', SchemaType.AVRO, ("B", "b", 1))
        number = self.registry.add("b", '"b"', SchemaType.AVRO, ("A", "a", 1))
        self.assertRaises(InvalidSchema, self.run_plan, plans.schema_of_id(number))

    def test_many(self) -> None:
        """More references than the limit are refused, and cost no more requests than the limit."""
        self.registry.add("a", '"a"')
        many = [(f"N{number}", "a", 1) for number in range(200)]
        number = self.registry.add("b", '"b"', SchemaType.AVRO, *many)
        self.assertRaises(InvalidSchema, self.run_plan, plans.schema_of_id(number))
        self.assertLessEqual(len(self.registry.requests), plans.MAX_REFERENCES + 1)


class WriterTests(PlanCase):
    def test_guid(self) -> None:
        """The header form asks for the GUID if the reply has none, and fails if there is none."""
        schema = Schema('"int"')
        policy = WriterPolicy(needs_guid=True)
        self.assertTrue(self.run_plan(plans.writer_schema("s", schema, policy)).guid)
        plan = plans.writer_schema("s", schema, policy)
        request = next(plan)
        request = plan.send(request.read({"id": 1}))
        self.assertEqual(request.path, "/schemas/ids/1")
        self.assertRaises(RegistryError, plan.send, request.read({"schema": '"int"'}))

    def test_look_up(self) -> None:
        """A schema that is looked up is written as the application gave it."""
        self.registry.add("s", '"int"')
        policy = WriterPolicy(auto_register=False)
        found = self.run_plan(plans.writer_schema("s", Schema('"int"'), policy))
        self.assertEqual((found.id, found.version), (1, 1))
        self.assertRaises(RegistryError, self.run_plan, plans.writer_schema("s", Schema('"long"'), policy))
