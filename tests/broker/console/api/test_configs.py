"""Configs of brokers."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.case import ConsoleCase

PATH = "/configs/brokers/0"
NAME = "max.connections"


class ConfigsTests(ConsoleCase):
    def found(self, name: str = NAME) -> tuple[str, str]:
        """Return a setting of the broker, and its source."""
        (found,) = [one for one in self.get(PATH)["configs"] if one["name"] == name]
        return found["value"], found["source"]

    def test_changes(self) -> None:
        """A dynamic setting is changed and put back, and both are in the audit."""
        self.assertEqual(self.found(), ("2147483647", "DEFAULT_CONFIG"))
        self.assertEqual(self.found("kafkatx.storage")[1], "STATIC_BROKER_CONFIG")
        self.change("PATCH", PATH, {"set": {NAME: 77}})
        self.assertEqual(self.found(), ("77", "DYNAMIC_BROKER_CONFIG"))
        self.change("PATCH", PATH, {"delete": [NAME]})
        self.assertEqual(self.found()[1], "DEFAULT_CONFIG")
        found = self.get("/actions")["items"]
        told = {(one["action"], one["resource"], one["result"]) for one in found}
        self.assertEqual(told, {("alter configs", f"broker 0: {NAME}", "done")})

    def test_refused(self) -> None:
        """Fixed settings, wrong values and unknown brokers are refused, with reasons."""
        for body, code in (
            ({"set": {NAME: "many"}}, "INVALID_REQUEST"),
            ({"set": {"log.dirs": "/x"}}, "INVALID_REQUEST"),
            ({"set": {}}, "INVALID_REQUEST"),
            ({"set": {NAME: [1]}}, "INVALID_REQUEST"),
        ):
            self.assertEqual(self.refused(self.change("PATCH", PATH, body, 400)), code, body)
        for broker in ("7", "x", "%20", "9" * 30):
            self.refused(self.get(f"/configs/brokers/{broker}", 404))
            self.refused(self.change("PATCH", f"/configs/brokers/{broker}", {"set": {NAME: "1"}}, 404))


class AuthorizedConfigsTests(AuthorizedConsoleCase):
    def test_rights(self) -> None:
        """Reading and changing need rights of their own."""
        self.refused(self.get(PATH, 403))
        body = {"set": {NAME: "77"}}
        self.assertEqual(self.refused(self.change("PATCH", PATH, body, 403)), "CLUSTER_AUTHORIZATION_FAILED")
        self.assertEqual(self.broker.metadata.state.broker_configs, {})
        self.grant(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
        self.get(PATH)
        self.refused(self.change("PATCH", PATH, body, 403))
        self.grant(AclOperation.ALTER_CONFIGS, ResourceType.CLUSTER)
        self.change("PATCH", PATH, body)
