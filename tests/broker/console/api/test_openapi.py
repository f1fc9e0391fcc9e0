"""The description of the API."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.api.openapi import describe
from kafkatx.broker.console.route import Route


class OpenApiTests(SynchronousTestCase):
    def test_described(self) -> None:
        """Placeholders, parameters, bodies and the header of changes are described."""
        routes = [
            Route("GET", "/topics/{name}/x/{number}", repr, "Tell", {"sort": "a field"}),
            Route("POST", "/topics/{name}/x/{number}", repr, "Do", body={"count": "a number"}, changes=True),
        ]
        document: Any = describe(routes)
        self.assertEqual(document["openapi"], "3.1.0")
        (path,) = document["paths"].values()
        get, post = path["get"], path["post"]
        self.assertEqual([one["name"] for one in get["parameters"]], ["name", "number", "sort"])
        self.assertEqual([one["in"] for one in post["parameters"]], ["path", "path", "header"])
        schema = post["requestBody"]["content"]["application/json"]["schema"]
        self.assertEqual(list(schema["properties"]), ["count"])
        self.assertNotIn("requestBody", get)
