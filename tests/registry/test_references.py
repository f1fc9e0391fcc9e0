"""References of schemas: order, limits and circles."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry.contents import Content, Version
from kafkatx.registry.errors import RegistryError
from kafkatx.registry.records import schema_record
from kafkatx.registry.references import MOST_REFERENCES, source, stored_source
from kafkatx.schemas.types import Reference, Schema
from tests.registry.machine import Machine


class ReferenceTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty registry."""
        self.machine = Machine()

    def store(self, subject: str, *references: Reference) -> Schema:
        """Write a version that no command has checked; return its schema."""
        schema = Schema("{}", references=references)
        number = len(self.machine.log) + 1
        content = Content(number, schema, None, None, bytes([number]) * 16)
        self.machine.append([schema_record(Version(subject, 1, content))])
        return schema

    def test_order(self) -> None:
        """A schema comes after those that it needs, each once."""
        self.store("a")
        self.store("b", Reference("A", "a", 1))
        top = Schema("{}", references=(Reference("B", "b", 1), Reference("A", "a", 1)))
        self.assertEqual([name for name, _ in source(self.machine.state, top).dependencies], ["A", "B"])

    def test_missing(self) -> None:
        """A version that is missing or deleted is named; stored schemas may refer to deleted ones."""
        self.store("a")
        self.machine.delete("a")
        top = Schema("{}", references=(Reference("A", "a", 1),))
        error = self.assertRaises(RegistryError, source, self.machine.state, top)
        self.assertEqual(error.code, 42201)
        self.assertIn('subject "a" and version 1', str(error))
        self.assertEqual(len(source(self.machine.state, top, deleted=True).dependencies), 1)

    def test_circle(self) -> None:
        """References that go round in a circle are refused, and a stored schema among them does no harm."""
        self.store("a", Reference("B", "b", 1))
        top = self.store("b", Reference("A", "a", 1))
        error = self.assertRaises(RegistryError, source, self.machine.state, top)
        self.assertIn("circle", str(error))
        stored = self.machine.state.find("a", 1)
        assert stored is not None
        self.assertEqual(stored_source(self.machine.state, stored).dependencies, ())

    def test_many(self) -> None:
        """More than a hundred schemas, also in a chain, are refused."""
        self.store("s0")
        for number in range(1, MOST_REFERENCES + 1):
            last = self.store(f"s{number}", Reference(f"n{number - 1}", f"s{number - 1}", 1))
        self.assertEqual(len(source(self.machine.state, last).dependencies), MOST_REFERENCES)
        top = Schema("{}", references=(Reference("top", f"s{MOST_REFERENCES}", 1),))
        error = self.assertRaises(RegistryError, source, self.machine.state, top)
        self.assertIn("more than 100", str(error))
