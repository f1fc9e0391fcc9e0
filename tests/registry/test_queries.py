"""Answers to reads."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry import queries
from kafkatx.registry.errors import RegistryError
from kafkatx.schemas.types import Reference, Schema, SchemaType
from tests.registry.machine import Machine


class QueriesCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a registry with subjects in two contexts, some of them deleted."""
        self.machine = Machine()
        self.state = self.machine.state
        self.machine.register("s", '{"a": 1}', metadata={"properties": {"owner": "me"}})
        self.machine.register("s", '{"b": 1}', metadata={"properties": {"owner": "you"}})
        self.machine.register("t", Schema("{}", SchemaType.JSON, (Reference("n", "s", 1),)))
        self.machine.register(":.c:u", '{"c": 1}')
        self.machine.register("gone", '{"d": 1}')
        self.machine.delete("gone")

    def code(self, query: Callable[..., object], *arguments: object) -> int:
        """Return the code with which a query fails."""
        code: int = self.assertRaises(RegistryError, query, *arguments).code
        return code


class SubjectTests(QueriesCase):
    def test_subjects(self) -> None:
        """Subjects are listed in order: live, with deleted ones, or those alone; by prefix."""
        listed = lambda *asked: queries.subjects(self.state, *asked)  # noqa: E731
        self.assertEqual(listed(":*:", False, False), [":.c:u", "s", "t"])
        self.assertEqual(listed(":*:", True, False), [":.c:u", "gone", "s", "t"])
        self.assertEqual(listed(":*:", True, True), ["gone"])
        self.assertEqual(
            [listed(prefix, False, False) for prefix in ("s", ":*:u", ":.c:")],
            [["s"], [":.c:u"]] * 1 + [[":.c:u"]],
        )

    def test_versions(self) -> None:
        """Versions are listed the same way; a subject without any is not found."""
        self.machine.delete("s", 2)
        asked = [(False, False), (True, False), (False, True)]
        self.assertEqual([queries.versions(self.state, "s", *one) for one in asked], [[1], [1, 2], [2]])
        self.assertEqual(self.code(queries.versions, self.state, "gone", False, False), 40401)
        self.assertEqual(self.code(queries.versions, self.state, "none", False, True), 40401)
        self.assertEqual(queries.versions(self.state, "gone", True, False), [1])

    def test_parse_version(self) -> None:
        """A version is a number from 1, or the latest."""
        self.assertEqual([queries.parse_version(text) for text in ("1", "latest", "-1")], [1, -1, -1])
        for text in ("0", "-2", "x", "", "1.0", "٣", "99999999999", str(2**31)):
            self.assertEqual(self.code(queries.parse_version, text), 42202)

    def test_find_version(self) -> None:
        """A version is found by its number or as the latest; a deleted one only if asked for."""
        self.assertEqual(queries.find_version(self.state, "s", -1).version, 2)
        self.machine.delete("s", 2)
        self.assertEqual(queries.find_version(self.state, "s", -1).version, 1)
        self.assertEqual(queries.find_version(self.state, "s", 2, True).version, 2)
        self.assertEqual(self.code(queries.find_version, self.state, "s", 2), 40402)
        self.assertEqual(self.code(queries.find_version, self.state, "gone", 1), 40401)

    def test_bodies(self) -> None:
        """Bodies have the members of Confluent's, without AVRO and without empty ones."""
        body = queries.version_body(queries.find_version(self.state, "t", 1))
        reference = {"name": "n", "subject": "s", "version": 1}
        guid = body.pop("guid")
        self.assertEqual(
            body,
            {
                "subject": "t",
                "version": 1,
                "id": 3,
                "schemaType": "JSON",
                "references": [reference],
                "schema": "{}",
            },
        )
        registered = queries.registered_body(queries.find_version(self.state, ":.c:u", 1))
        self.assertEqual(list(registered), ["id", "version", "guid", "schema"])
        self.assertEqual(queries.by_guid(self.state, str(guid)).id, 3)
        self.assertIs(queries.version_body(self.state.versions("gone", True)[0])["deleted"], True)

    def test_with_metadata(self) -> None:
        """The latest version with some properties is found."""
        find = lambda *pairs: queries.with_metadata(self.state, "s", pairs, False).version  # noqa: E731
        self.assertEqual([find(("owner", "me")), find(("owner", "you")), find()], [1, 2, 2])
        self.assertEqual(self.code(find, ("owner", "nobody")), 40403)

    def test_referenced_by(self) -> None:
        """The ids of referrers are told."""
        self.assertEqual(queries.referenced_by(self.state, "s", 1, False), [3])
        self.assertEqual(queries.referenced_by(self.state, "s", -1, False), [])


class SchemaTests(QueriesCase):
    def test_by_id(self) -> None:
        """A schema is found by its id, also if all its versions are deleted."""
        self.assertEqual(queries.by_id(self.state, 5).schema.text, '{"d": 1}')
        self.assertEqual(self.code(queries.by_id, self.state, 6), 40403)

    def test_users(self) -> None:
        """The versions that have an id are told, of all subjects or of one."""
        self.machine.register("v", '{"c": 1}')
        self.assertEqual(queries.users(self.state, 4, "", False), [(":.c:u", 1), ("v", 1)])
        self.assertEqual(queries.users(self.state, 4, "v", False), [("v", 1)])
        self.assertEqual(queries.users(self.state, 5, "", False), [])
        self.assertEqual(queries.users(self.state, 5, "", True), [("gone", 1)])

    def test_guids(self) -> None:
        """A guid leads to ids with their contexts; one that is none is not found."""
        guid = queries.by_id(self.state, 4).guid
        self.assertEqual(queries.ids_of_guid(self.state, guid), [{"context": ".c", "id": 4}])
        for wrong in ("x", "00000000-0000-0000-0000-000000000000"):
            self.assertEqual(self.code(queries.by_guid, self.state, wrong), 40403)
            self.assertEqual(self.code(queries.ids_of_guid, self.state, wrong), 40403)

    def test_schemas(self) -> None:
        """All versions are listed, or the latest ones."""
        listed = lambda *asked: [(v.subject, v.version) for v in queries.schemas(self.state, *asked)]  # noqa: E731
        self.assertEqual(listed("", False, False), [(":.c:u", 1), ("s", 1), ("s", 2), ("t", 1)])
        self.assertEqual(listed("s", True, True), [("s", 2)])


class ScopeTests(QueriesCase):
    def test_config(self) -> None:
        """A subject has its own configuration, or what applies to it; all have a default."""
        self.machine.configure(":.c:", compatibility="NONE")
        self.machine.configure("s", alias="x")

        def level(subject: str, default_to_global: bool) -> object:
            return queries.config(self.state, subject, default_to_global, "BACKWARD")

        self.assertEqual(level("", False), {"compatibilityLevel": "BACKWARD"})
        self.assertEqual(level("s", False), {"alias": "x"})
        self.assertEqual(level("s", True), {"alias": "x", "compatibilityLevel": "BACKWARD"})
        self.assertEqual(level(":.c:u", True), {"compatibilityLevel": "NONE"})
        self.assertEqual(self.code(level, "t", False), 40408)

    def test_mode(self) -> None:
        """The same of modes."""
        self.assertEqual(
            [queries.mode(self.state, "", False), queries.mode(self.state, "s", True)], ["READWRITE"] * 2
        )
        self.assertEqual(self.code(queries.mode, self.state, "s", False), 40409)
        self.machine.set_mode("s", "READONLY")
        self.assertEqual(queries.mode(self.state, "s", False), "READONLY")

    def test_contexts(self) -> None:
        """The default context is always there."""
        self.assertEqual(queries.contexts(self.state), [".", ".c"])
        self.assertEqual(queries.contexts(Machine().state), ["."])
