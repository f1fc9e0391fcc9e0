"""Bodies of requests: what is read, refused and ignored."""

from __future__ import annotations

import json
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.registry.api.bodies import read_candidate
from kafkatx.registry.errors import RegistryError
from kafkatx.registry.registration import Candidate
from kafkatx.schemas.types import Reference, Schema, SchemaType
from kafkatx.web.calls import Call


def read(body: Any, most: int = 100) -> Candidate:
    """Read a body."""
    headers = {"content-type": "application/json"}
    return read_candidate(Call("POST", "/", (), {}, headers, json.dumps(body).encode()), most)


class BodyTests(SynchronousTestCase):
    def test_members(self) -> None:
        """All members are read; those that are not known are ignored."""
        found = read(
            {
                "schema": "x",
                "schemaType": "json",
                "references": [{"name": "n", "subject": "s", "version": 1, "more": 1}],
                "metadata": {"a": 1},
                "ruleSet": {"b": 1},
                "id": 5,
                "version": 2,
                "schemaTagsToAdd": [],
            }
        )
        schema = Schema("x", SchemaType.JSON, (Reference("n", "s", 1),))
        self.assertEqual(found, Candidate(schema, {"a": 1}, {"b": 1}, 5, 2))

    def test_defaults(self) -> None:
        """Missing members, and numbers by which clients leave the choice, are as if they were not there."""
        empty = {"schemaType": None, "references": None, "metadata": None, "ruleSet": None}
        for more in ({}, {"id": -1, "version": 0}, {"version": -1}, empty):
            self.assertEqual(read({"schema": "x", **more}), Candidate(Schema("x")))

    def test_refused(self) -> None:
        """Members of wrong types are refused with the code of their kind."""
        cases: list[tuple[int, Any]] = [
            (422, []),
            (422, None),
            (42201, {}),
            (42201, {"schema": ""}),
            (42201, {"schema": {"type": "string"}}),
            (42201, {"schema": "\ud800"}),
            (42201, {"schema": "x", "schemaType": "COBOL"}),
            (42201, {"schema": "x", "schemaType": 1}),
            (42201, {"schema": "x", "references": {}}),
            (42201, {"schema": "x", "references": [{"name": "n"}]}),
            (42201, {"schema": "x", "metadata": []}),
            (42210, {"schema": "x", "ruleSet": 1}),
            (422, {"schema": "x", "id": "1"}),
            (422, {"schema": "x", "version": 2**31}),
            (42209, {"schema": "ü" * 51}),
        ]
        for code, body in cases:
            self.assertEqual(self.assertRaises(RegistryError, read, body).code, code, body)
        read({"schema": "ü" * 50})
