"""Requests that change nothing, end to end in memory."""

from __future__ import annotations

import base64
import json

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from tests.broker.registry.case import A, B, C, RegistryCase
from tests.schemas.messages import orders


class ReadsTests(RegistryCase):
    def setUp(self) -> None:
        """Register two versions, and one that refers to the first."""
        super().setUp()
        self.register("s")
        self.register("s", B)
        references = [{"name": "R", "subject": "s", "version": 1}]
        text = '{"type":"record","name":"Q","fields":[{"name":"r","type":"R"}]}'
        self.referring = self.register("t%2Fu", text, references=references)

    def test_subjects(self) -> None:
        """Subjects and versions are listed, in parts if the client asks so."""
        self.assertEqual(self.ok("GET", "/subjects"), ["s", "t/u"])
        self.assertEqual(self.ok("GET", "/subjects?offset=1&limit=5"), ["t/u"])
        self.assertEqual(self.ok("GET", "/subjects?limit=1"), ["s"])
        self.assertEqual(self.ok("GET", "/subjects?limit=0"), [])
        self.assertEqual(self.ok("GET", "/subjects?subjectPrefix=t%2F"), ["t/u"])
        self.assertEqual(self.ok("GET", "/subjects/s/versions"), [1, 2])
        self.assertEqual(self.ok("GET", "/subjects/s/versions?deletedOnly=true"), [])
        self.refused(40401, "GET", "/subjects/x/versions")
        self.refused(404, "GET", "/subjects?limit=x")

    def test_versions(self) -> None:
        """A version is told by number and as the latest, its text alone, too."""
        body = self.ok("GET", "/subjects/s/versions/latest")
        self.assertEqual((body["subject"], body["version"], body["id"], body["schema"]), ("s", 2, 2, B))
        self.assertEqual(self.ok("GET", "/subjects/s/versions/-1"), body)
        self.assertEqual(self.ok("GET", "/subjects/s/versions/1/schema"), json.loads(A))
        self.refused(40402, "GET", "/subjects/s/versions/9")
        self.refused(42202, "GET", "/subjects/s/versions/x")
        self.assertEqual(self.ok("GET", "/subjects/s/versions/1/referencedby"), [3])

    def test_descriptors(self) -> None:
        """A Protobuf descriptor in base64 is returned as text, and any schema as a descriptor if asked so."""
        file = base64.b64encode(orders.file().SerializeToString()).decode()
        sent = {"schemaType": "PROTOBUF", "schema": file}
        registered = self.ok("POST", "/subjects/p/versions", sent)
        body = self.ok("GET", "/subjects/p/versions/latest")
        self.assertIn("message Order {", body["schema"])
        self.assertEqual(registered["schema"], body["schema"])
        self.assertEqual(self.ok("POST", "/subjects/p", sent)["version"], 1)
        self.assertEqual(self.ok("POST", "/subjects/p/versions", sent)["id"], registered["id"])
        paths = f"schemas/ids/{body['id']}", f"schemas/guids/{body['guid']}", "subjects/p/versions/1"
        for path in paths:
            self.assertEqual(self.ok("GET", f"/{path}")["schema"], body["schema"])
            found = self.ok("GET", f"/{path}?format=serialized")["schema"]
            made = FileDescriptorProto.FromString(base64.b64decode(found))
            self.assertEqual([each.name for each in made.message_type], ["Order", "Other"])
        self.assertEqual(self.ok("GET", "/subjects/s/versions/1?format=serialized")["schema"], A)
        self.refused(40403, "GET", "/schemas/ids/99?format=serialized")

    def test_accepted(self) -> None:
        """The answer has a type that the client accepts; if it accepts none, the request is refused."""
        for accept in ("text/html", "text/html, application/xml;q=0.9", "application/json;q=0"):
            self.refused(406, "GET", "/subjects", accept=accept)
        for accept in ("", "*/*", "application/*", "text/html, */*;q=0.8", "application/json"):
            self.assertEqual(self.call("GET", "/subjects", accept=accept)[0], 200)

    def test_schemas(self) -> None:
        """Schemas are told by id and guid, with the versions that have them."""
        body = self.ok("GET", "/schemas/ids/3?fetchMaxId=true")
        self.assertEqual((body["references"][0]["subject"], body["maxId"]), ("s", 3))
        self.assertEqual(self.ok("GET", "/schemas/ids/1/schema"), json.loads(A))
        self.assertEqual(self.ok("GET", "/schemas/ids/1/subjects"), ["s"])
        self.assertEqual(self.ok("GET", "/schemas/ids/2/versions"), [{"subject": "s", "version": 2}])
        guid = self.referring["guid"]
        self.assertEqual(self.ok("GET", f"/schemas/guids/{guid}")["guid"], guid)
        self.assertEqual(self.ok("GET", f"/schemas/guids/{guid}/ids"), [{"context": ".", "id": 3}])
        for wrong in ("9", "x", "-1", str(2**40)):
            self.refused(40403, "GET", f"/schemas/ids/{wrong}")

    def test_list(self) -> None:
        """All versions are listed in pieces, with a part of them on demand."""
        listed = self.ok("GET", "/schemas")
        self.assertEqual(
            [(one["subject"], one["version"]) for one in listed], [("s", 1), ("s", 2), ("t/u", 1)]
        )
        self.assertEqual(self.ok("GET", "/schemas?offset=1&limit=1"), listed[1:2])
        self.assertEqual(self.ok("GET", "/schemas?latestOnly=true&subjectPrefix=s"), listed[1:2])

    def test_long_list(self) -> None:
        """A list of many names is sent in pieces."""
        names = [f"n{number:05}" for number in range(3000)]
        stored = self.registry._log
        assert stored is not None
        version = stored.state.versions("s")[0]
        stored.state.subjects.update({name: {1: version} for name in names})
        answer = self.successResultOf(self.begin("GET", "/subjects"))
        self.assertNotIsInstance(answer.body, bytes)
        self.assertEqual(self.answered(answer)[1], [*names, "s", "t/u"])

    def test_look_up(self) -> None:
        """A schema is looked up by its text, in any layout."""
        found = self.ok("POST", "/subjects/s", {"schema": A})
        self.assertEqual((found["version"], found["id"]), (1, 1))
        self.assertEqual(
            self.ok("POST", "/subjects/s", {"schema": json.dumps(json.loads(A), indent=1)}), found
        )
        self.refused(40403, "POST", "/subjects/s", {"schema": C})
        self.refused(40401, "POST", "/subjects/x", {"schema": C})
        self.refused(42201, "POST", "/subjects/s", {"schema": "{"})

    def test_compatibility(self) -> None:
        """A check tells yes or no, and reasons on demand; an invalid schema is a reason, too."""
        path = "/compatibility/subjects/s/versions"
        self.assertEqual(self.ok("POST", path, {"schema": A}), {"is_compatible": True})
        self.assertEqual(self.ok("POST", f"{path}/1", {"schema": C}), {"is_compatible": False})
        body = self.ok("POST", f"{path}/latest?verbose=true", {"schema": C})
        self.assertIn("version 2: ", body["messages"][0])
        self.refused(40402, "POST", f"{path}/9", {"schema": A})
        unknown = "/compatibility/subjects/x/versions"
        self.refused(40402, "POST", f"{unknown}/9", {"schema": A})
        self.assertTrue(self.ok("POST", f"{unknown}/latest", {"schema": A})["is_compatible"])
        self.refused(42201, "POST", path, {"schema": "{"})
        self.assertFalse(self.ok("POST", f"{path}?verbose=true", {"schema": "{"})["is_compatible"])

    def test_scopes(self) -> None:
        """Configurations, modes and contexts are told."""
        self.assertEqual(self.ok("GET", "/config"), {"compatibilityLevel": "BACKWARD"})
        self.refused(40408, "GET", "/config/s")
        self.assertEqual(self.ok("GET", "/config/s?defaultToGlobal=true"), {"compatibilityLevel": "BACKWARD"})
        self.refused(40409, "GET", "/mode/s")
        self.assertEqual(self.ok("GET", "/mode/s?defaultToGlobal=true"), {"mode": "READWRITE"})
        self.assertEqual(self.ok("GET", "/contexts"), ["."])

    def test_metadata(self) -> None:
        """The latest version with some metadata is told."""
        self.register("m", metadata={"properties": {"owner": "me"}})
        found = self.ok("GET", "/subjects/m/metadata?key=owner&value=me")
        self.assertEqual(found["metadata"], {"properties": {"owner": "me"}})
        self.refused(40403, "GET", "/subjects/m/metadata?key=owner&value=you")
