"""Quotas."""

from __future__ import annotations

from typing import Any

from tests.broker.console.case import ConsoleCase


class QuotasTests(ConsoleCase):
    def put(self, entity: Any, status: int = 200, **more: Any) -> Any:
        """Change the quotas of an entity."""
        return self.change("PUT", "/quotas", {"entity": entity, **more}, status)

    def test_changes(self) -> None:
        """Quotas of an entity are set and removed; null is the default of all."""
        self.put({"user": "ann", "clientId": None}, set={"producer_byte_rate": "1000"})
        self.put({"ip": "192.0.2.1"}, set={"connection_creation_rate": 5})
        found = self.get("/quotas")
        self.assertEqual(
            [(one["entity"], one["quotas"]) for one in found["items"]],
            [
                ({"user": "ann", "clientId": None}, {"producer_byte_rate": 1000}),
                ({"ip": "192.0.2.1"}, {"connection_creation_rate": 5}),
            ],
        )
        self.put({"user": "ann", "clientId": None}, delete=["producer_byte_rate"])
        self.assertEqual(self.get("/quotas")["total"], 1)
        told = self.get("/actions?search=ann")["items"][0]
        self.assertEqual((told["action"], told["result"]), ("alter quotas", "done"))

    def test_wrong(self) -> None:
        """Entities and quotas that there are not are refused."""
        for entity, more in (
            ({}, {"set": {"producer_byte_rate": 1}}),
            ({"group": "g"}, {"set": {"producer_byte_rate": 1}}),
            ({"user": 5}, {"set": {"producer_byte_rate": 1}}),
            ({"user": "u"}, {}),
            ({"user": "u"}, {"set": {"producer_byte_rate": "much"}}),
            ({"user": "u"}, {"set": {"producer_byte_rate": "inf"}}),
            ({"user": "u"}, {"set": {"producer_byte_rate": "nan"}}),
            ({"user": "u"}, {"set": {"nothing": 1}}),
        ):
            self.refused(self.put(entity, 400, **more))
        self.assertEqual(self.get("/quotas")["total"], 0)
