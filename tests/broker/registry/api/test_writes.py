"""Requests that change something, end to end in memory."""

from __future__ import annotations

from tests.broker.registry.case import A, B, C, RegistryCase


class WritesTests(RegistryCase):
    def test_register(self) -> None:
        """A registration answers id, version, guid and schema; another with the same text the same."""
        body = self.register("s")
        self.assertEqual((body["id"], body["version"], body["schema"]), (1, 1, A))
        self.assertEqual(self.register("s"), body)
        self.assertEqual(self.register("s", id=-1, version=0), body)

    def test_refused(self) -> None:
        """Registrations are refused with the codes of Confluent's registry."""
        path = "/subjects/s/versions"
        self.register("s")
        self.refused(409, "POST", path, {"schema": C})
        self.refused(42201, "POST", path, {"schema": "{"})
        self.refused(
            42201, "POST", path, {"schema": B, "references": [{"name": "x", "subject": "y", "version": 1}]}
        )
        self.refused(42205, "POST", path, {"schema": B, "id": 7})
        self.refused(42208, "POST", "/subjects/%01/versions", {"schema": A})
        self.refused(42209, "POST", path, {"schema": "x" * 1_000_001})
        self.refused(415, "POST", path, {"schema": A}, content_type="text/plain")
        self.refused(400, "POST", path)

    def test_large(self) -> None:
        """A schema of almost the limit is stored, though JSON within JSON is larger."""
        doc = '"' * 499_000
        text = '{"type":"fixed","name":"F","size":1,"doc":"' + doc.replace('"', '\\"') + '"}'
        self.assertEqual(self.register("large", text)["id"], 1)
        self.assertEqual(self.ok("GET", "/schemas/ids/1")["schema"], text)

    def test_delete(self) -> None:
        """Deletions answer the versions; the codes tell what comes first."""
        self.register("s")
        self.register("s", B)
        self.refused(40407, "DELETE", "/subjects/s/versions/2?permanent=true")
        self.assertEqual(self.ok("DELETE", "/subjects/s/versions/latest"), 2)
        self.refused(40406, "DELETE", "/subjects/s/versions/2")
        self.refused(40405, "DELETE", "/subjects/s?permanent=true")
        self.assertEqual(self.ok("DELETE", "/subjects/s"), [1])
        self.refused(40404, "DELETE", "/subjects/s")
        self.assertEqual(self.ok("DELETE", "/subjects/s?permanent=true"), [1, 2])
        self.refused(40401, "DELETE", "/subjects/s")

    def test_config(self) -> None:
        """PUT sends and returns ``compatibility``, GET returns ``compatibilityLevel``."""
        self.assertEqual(self.ok("PUT", "/config", {"compatibility": "full"}), {"compatibility": "FULL"})
        self.assertEqual(self.ok("GET", "/config"), {"compatibilityLevel": "FULL"})
        self.assertEqual(
            self.ok("PUT", "/config/s", {"compatibility": "NONE", "x": 1}), {"compatibility": "NONE"}
        )
        self.refused(42203, "PUT", "/config/s", {"compatibility": "x"})
        self.assertEqual(self.ok("DELETE", "/config/s"), {"compatibilityLevel": "NONE"})
        self.assertEqual(self.ok("DELETE", "/config"), {"compatibilityLevel": "FULL"})
        self.assertEqual(self.ok("GET", "/config"), {"compatibilityLevel": "BACKWARD"})

    def test_import(self) -> None:
        """The mode IMPORT takes ids and versions from the client; afterwards ids go on above them."""
        self.assertEqual(self.ok("PUT", "/mode/s", {"mode": "IMPORT"}), {"mode": "IMPORT"})
        body = self.register("s", id=40, version=4)
        self.assertEqual((body["id"], body["version"]), (40, 4))
        self.assertEqual(self.register("s", id=40, version=4), body)
        self.assertEqual(self.ok("DELETE", "/mode/s"), {"mode": "IMPORT"})
        self.assertEqual(self.register("s", B)["id"], 41)
        self.refused(42205, "PUT", "/mode", {"mode": "IMPORT"})
        self.ok("PUT", "/mode?force=true", {"mode": "IMPORT"})
        self.refused(42204, "PUT", "/mode", {"mode": "x"})

    def test_normalized(self) -> None:
        """A registration can ask for the normal text."""
        body = self.ok("POST", "/subjects/s/versions?normalize=true", {"schema": '{"type": "string"}'})
        self.assertEqual(body["schema"], '"string"')
