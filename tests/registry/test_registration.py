"""Registration and look-up: ids, versions, layouts, compatibility, imports."""

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry.contents import digest
from kafkatx.registry.errors import RegistryError
from kafkatx.registry.records import schema_record
from kafkatx.registry.registration import Candidate, find_as_sent, incompatibilities, look_up
from kafkatx.schemas.types import Reference, Schema, SchemaType
from tests.registry.machine import Machine, run

A, A2, B = '{"a": true}', '{ "a":true }', '{"b": false}'


class RegistrationCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make an empty registry."""
        self.machine = Machine()

    def refused(self, code: int, subject: str, schema: str | Schema, **members: object) -> str:
        """Check that a registration fails with a code, and leaves no record; return the message."""
        before = len(self.machine.log)
        error = self.assertRaises(RegistryError, self.machine.register, subject, schema, **members)
        self.assertEqual((error.code, len(self.machine.log)), (code, before))
        return str(error)

    def found(self, subject: str, schema: str, normalize: bool = False, deleted: bool = False) -> int:
        """Look a schema up; return its version."""
        steps = look_up(
            self.machine.state, subject, Candidate(Schema(schema)), normalize, deleted, "BACKWARD"
        )
        return run(steps).version


class IdTests(RegistrationCase):
    def test_first(self) -> None:
        """Ids and versions begin with 1 and rise."""
        first, second = self.machine.register("s", A), self.machine.register("s", B)
        self.assertEqual([first.content.id, first.version], [1, 1])
        self.assertEqual([second.content.id, second.version], [2, 2])

    def test_same(self) -> None:
        """The same schema is registered once, in whatever layout, and its text stays as it was first sent."""
        self.machine.register("s", A)
        again = self.machine.register("s", A2)
        self.assertEqual((again.version, again.content.schema.text), (1, A))
        self.assertEqual(len(self.machine.log), 1)

    def test_same_elsewhere(self) -> None:
        """The same schema has the same id under another subject, in whatever layout."""
        self.machine.register("s", A)
        other = self.machine.register("t", A2)
        self.assertEqual((other.content.id, other.version, other.content.schema.text), (1, 1, A))

    def test_other_references(self) -> None:
        """The same text with other references, metadata, rules or another type is another schema."""
        self.machine.register("r", B)
        texts = Schema(A), Schema(A, references=(Reference("x", "r", 1),)), Schema(A, SchemaType.JSON)
        ids = [self.machine.register(f"s{number}", text).content.id for number, text in enumerate(texts)]
        ids.append(self.machine.register("m", A, metadata={"properties": {"p": "q"}}).content.id)
        ids.append(self.machine.register("n", A, rule_set={"domainRules": [{"name": "n"}]}).content.id)
        self.assertEqual(ids, [2, 3, 4, 5, 6])

    def test_after_deletion(self) -> None:
        """After a soft deletion the same schema gets the next version and its old id."""
        self.machine.register("s", A)
        self.machine.delete("s")
        again = self.machine.register("s", A)
        self.assertEqual((again.content.id, again.version), (1, 2))
        self.assertEqual([one.version for one in self.machine.state.versions("s", True)], [2])

    def test_referenced_after_deletion(self) -> None:
        """A deleted version that a deleted schema refers to stays when its schema is registered again."""
        self.machine.register("s", A)
        self.machine.register("t", Schema(B, references=(Reference("n", "s", 1),)))
        self.machine.delete("t")
        self.machine.delete("s")
        self.machine.register("s", A)
        self.assertEqual([one.version for one in self.machine.state.versions("s", True)], [1, 2])

    def test_no_id_twice(self) -> None:
        """An id is never given again, not even when its schema was deleted for good and the log compacted."""
        self.machine.register("s", A)
        self.machine.delete("s")
        self.machine.delete("s", permanent=True)
        self.assertEqual(self.machine.register("s", B).content.id, 2)

    def test_as_sent(self) -> None:
        """A text that is registered in a subject is found without an engine, others are not."""
        self.machine.register("s", A)
        for subject, text, found in (("s", A, True), ("t", A, False), ("s", A2, False)):
            stored = find_as_sent(self.machine.state, subject, Candidate(Schema(text)))
            self.assertEqual(stored is not None, found)

    def test_written_by_others(self) -> None:
        """A schema that another registry has stored, without our digest, is found in another layout."""
        stored = self.machine.register("s", A)
        machine = Machine()
        text = attrs.evolve(stored.content.schema, text=A2)
        content = attrs.evolve(stored.content, schema=text, digest=digest(A2, (), None, None))
        machine.append([schema_record(attrs.evolve(stored, content=content))])
        self.assertEqual(machine.register("s", A).version, 1)
        self.machine = machine
        self.assertEqual(self.found("s", '{"a":   true}'), 1)

    def test_metadata_stays(self) -> None:
        """A registration without metadata and rules takes those of the version before it."""
        metadata, rules = {"properties": {"owner": "me"}}, {"domainRules": [{"name": "n"}]}
        self.machine.register("s", A, metadata=metadata, rule_set=rules)
        stored = self.machine.register("s", B)
        self.assertEqual((stored.content.metadata, stored.content.rule_set), (metadata, rules))
        self.assertEqual(self.found("s", B), 2)

    def test_normalized(self) -> None:
        """Normalizing stores the normal text; the configuration can ask for it, too."""
        stored = self.machine.register("s", '{"doc":"x","a":true}', normalize=True)
        self.assertEqual(stored.content.schema.text, A)
        self.machine.configure("t", normalize=True)
        self.assertEqual(self.machine.register("t", '{"doc":"y","a":true}').content.id, 1)
        self.assertEqual(self.found("s", '{"doc":"z","a":true}', normalize=True), 1)


class CompatibilityTests(RegistrationCase):
    def test_backward(self) -> None:
        """By default a schema must read data of the latest version; the message says why it cannot."""
        self.machine.register("s", B)
        message = self.refused(409, "s", A)
        self.assertIn("version 1: ", message)
        self.assertIn("a is needed", message)
        self.assertIn("BACKWARD", message)

    def test_levels(self) -> None:
        """The level of the subject counts, then that of all; NONE takes anything."""
        self.machine.register("s", B)
        self.machine.configure("", compatibility="none")
        self.machine.register("s", A)
        self.machine.configure("s", compatibility="FORWARD")
        self.refused(409, "s", '{"c": false}')

    def test_transitive(self) -> None:
        """A transitive level looks at all versions, the others at the last one."""
        for text in (B, '{"a": false}'):
            self.machine.register("s", text)
        self.machine.configure("s", compatibility="BACKWARD_TRANSITIVE")
        self.assertIn("version 1", self.refused(409, "s", A))
        self.machine.configure("s", compatibility="BACKWARD")
        self.machine.register("s", A)

    def test_deleted_versions(self) -> None:
        """Deleted versions do not count."""
        self.machine.register("s", B)
        self.machine.delete("s", 1)
        self.machine.register("s", A)

    def test_other_type(self) -> None:
        """A schema of another type is incompatible."""
        self.machine.register("s", A)
        self.refused(409, "s", Schema(A, SchemaType.JSON))

    def test_checked_only(self) -> None:
        """A check tells all reasons and the level; against one version, or as a registration would."""
        state = self.machine.state
        self.machine.register("s", B)
        for version in (None, 1, -1):
            reasons = run(incompatibilities(state, "s", Candidate(Schema(A)), version, False, "BACKWARD"))
            self.assertEqual(len(reasons), 2)
        self.assertEqual(run(incompatibilities(state, "s", Candidate(Schema(B)), 1, False, "FULL")), ())
        self.assertEqual(run(incompatibilities(state, "new", Candidate(Schema(B)), None, False, "FULL")), ())
        for subject in ("s", "new"):
            steps = incompatibilities(state, subject, Candidate(Schema(A)), 9, False, "FULL")
            self.assertEqual(self.assertRaises(RegistryError, run, steps).code, 40402)
        self.assertEqual(run(incompatibilities(state, "new", Candidate(Schema(B)), -1, False, "FULL")), ())


class ImportTests(RegistrationCase):
    def test_needs_the_mode(self) -> None:
        """An id of the client's needs the mode IMPORT, and IMPORT needs an id."""
        self.refused(42205, "s", A, id=5)
        self.machine.set_mode("s", "IMPORT")
        self.refused(42205, "s", A)
        stored = self.machine.register("s", A, id=5, version=3)
        self.assertEqual((stored.content.id, stored.version), (5, 3))
        self.machine.set_mode("s", "READWRITE")
        self.assertEqual(self.machine.register("s", B).content.id, 6)

    def test_collisions(self) -> None:
        """An id that is another schema's, and a version that has another schema, are refused."""
        self.machine.set_mode("", "IMPORT")
        self.machine.register("s", A, id=5, version=1)
        self.refused(42205, "t", B, id=5, version=1)
        self.refused(42205, "s", B, id=6, version=1)
        self.refused(42205, "s", A, id=6, version=1)
        self.assertEqual(self.machine.register("t", A2, id=5, version=1).content.schema.text, A)
        self.machine.register("s", A, id=5, version=1)

    def test_two_ids(self) -> None:
        """An import may give one schema two ids, as it has in the registry that it comes from."""
        self.machine.set_mode("", "IMPORT")
        self.machine.register("s", A, id=5, version=1)
        self.machine.register("t", A, id=9, version=1)
        self.assertEqual([one[0] for one in self.machine.state.users(9)], ["t"])

    def test_version(self) -> None:
        """Outside of an import a version must be the next one."""
        self.assertEqual(self.machine.register("s", A, version=1).version, 1)
        self.refused(42201, "s", B, version=5)


class ModeTests(RegistrationCase):
    def test_read_only(self) -> None:
        """A read-only subject, context or registry refuses registrations."""
        for scope, subject in (("s", "s"), (":.c:", ":.c:s"), ("", "t")):
            self.machine.set_mode(scope, "READONLY")
            self.assertIn("read-only", self.refused(42205, subject, A))
        self.machine.set_mode("t", "READWRITE")
        self.machine.register("t", A)
        self.machine.set_mode("", "READONLY_OVERRIDE")
        self.refused(42205, "t", B)


class LookUpTests(RegistrationCase):
    def test_found(self) -> None:
        """A schema is found in any layout, a deleted one only if asked for."""
        self.machine.register("s", A)
        self.assertEqual([self.found("s", A), self.found("s", A2)], [1, 1])
        self.machine.register("s", B)
        self.machine.delete("s", 1)
        self.assertEqual(self.found("s", A2, deleted=True), 1)
        error = self.assertRaises(RegistryError, self.found, "s", A2)
        self.assertEqual(error.code, 40403)

    def test_nowhere(self) -> None:
        """A subject that is not there, and a schema that it does not have, are told apart."""
        self.assertEqual(self.assertRaises(RegistryError, self.found, "s", A).code, 40401)
        self.machine.register("s", A)
        self.machine.register("t", B)
        self.assertEqual(self.assertRaises(RegistryError, self.found, "s", B).code, 40403)
