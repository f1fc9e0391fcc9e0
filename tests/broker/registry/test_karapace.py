"""A topic that Karapace and this registry have written in turn: each record as Karapace 4.1.4 wrote it."""

from __future__ import annotations

import json

from kafkatx.registry.records import KeyValue
from tests.broker.registry.case import RegistryCase

FIRST = {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int", "default": 0}]}
TEXT = json.dumps(FIRST, indent=1)


def schema_key(subject: str, version: int) -> bytes:
    """Return the key of a version."""
    return b'{"keytype":"SCHEMA","subject":"%b","version":%d,"magic":1}' % (subject.encode(), version)


def schema(subject: str, version: int, schema_id: int, deleted: bool = False) -> KeyValue:
    """Return a version of :data:`FIRST`, whose members Karapace sorts."""
    value = (
        '{"subject":"%s","version":%d,"id":%d,"schema":"{\\"fields\\":[{\\"default\\":0,\\"name\\":\\"x\\",'
        '\\"type\\":\\"int\\"}],\\"name\\":\\"A\\",\\"type\\":\\"record\\"}","deleted":%s}'
    )
    return schema_key(subject, version), (
        value % (subject, version, schema_id, "true" if deleted else "false")
    ).encode()


JSON_SCHEMA = (
    schema_key("j", 1),
    b'{"subject":"j","version":1,"id":8,"schema":"{\\"additionalProperties\\":false,\\"properties\\":{\\"n\\":'
    b'{\\"type\\":\\"string\\"}},\\"type\\":\\"object\\"}","deleted":false,"schemaType":"JSON"}',
)
CONFIG_KEY = b'{"keytype":"CONFIG","subject":"a","magic":0}'


class KarapaceTests(RegistryCase):
    def setUp(self) -> None:
        """Write the two schemas that Karapace has registered."""
        super().setUp()
        self.make_topic("_schemas", cleanup_policy="compact")
        self.write(schema("a", 1, 7), JSON_SCHEMA)

    def test_read(self) -> None:
        """Subjects, versions, ids and types are those that Karapace has given."""
        self.assertEqual(self.ok("GET", "/subjects"), ["a", "j"])
        self.assertEqual(json.loads(self.ok("GET", "/schemas/ids/7")["schema"]), FIRST)
        self.assertEqual(self.ok("GET", "/subjects/j/versions/1")["schemaType"], "JSON")

    def test_same_ids(self) -> None:
        """A schema keeps its id, in another layout, under another subject and after its deletion, too."""
        self.assertEqual(self.register("a", TEXT)["id"], 7)
        self.assertEqual(self.register("b", TEXT)["id"], 7)
        self.assertEqual(
            self.ok("POST", "/subjects/a", {"schema": TEXT})["version"], 1, "the look-up finds it, too"
        )
        text = json.dumps(
            {"type": "object", "properties": {"n": {"type": "string"}}, "additionalProperties": False}
        )
        self.assertEqual(self.register("k", text, schemaType="JSON")["id"], 8)
        self.write(schema("a", 1, 7, deleted=True))
        again = self.register("a", TEXT)
        self.assertEqual((again["id"], again["version"]), (7, 2))

    def test_next_id(self) -> None:
        """A new id is after all that Karapace has given, which deletes by empty values."""
        self.write((schema_key("j", 1), b""))
        self.refused(40401, "GET", "/subjects/j/versions")
        other = json.dumps({**FIRST, "name": "B"})
        self.assertEqual(self.register("c", other)["id"], 9)

    def test_config(self) -> None:
        """A level is set and removed, by an empty value, as Karapace does it."""
        self.write((CONFIG_KEY, b'{"compatibilityLevel":"NONE"}'))
        self.assertEqual(self.ok("GET", "/config/a"), {"compatibilityLevel": "NONE"})
        self.write((CONFIG_KEY, b""))
        self.refused(40408, "GET", "/config/a")

    def test_deleted_subject(self) -> None:
        """A subject that Karapace has deleted is deleted here, softly, and can be deleted for good."""
        self.write((b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}', b'{"subject":"a","version":1}'))
        self.assertEqual(self.ok("GET", "/subjects"), ["j"])
        self.assertEqual(self.ok("DELETE", "/subjects/a?permanent=true"), [1])
