"""Tests of kafkatx.clientcore.registry.requests, against a registry in memory."""

from __future__ import annotations

from kafkatx.clientcore.registry import requests
from kafkatx.clientcore.registry.errors import RegistryError
from kafkatx.schemas.types import Schema
from tests.clientcore.registry.case import PlanCase


class RequestTests(PlanCase):
    def test_names(self) -> None:
        """Subjects with slashes, colons, blanks and other letters keep their names."""
        for name in ("a/b", ":.ctx:a", "a b?c=d&e#f", "größe", "%2F"):
            self.registry.add(name, '"int"')
            self.assertEqual(self.send(requests.versions(name)), [1])
            self.assertEqual(self.send(requests.schema_version(name)).subject, name)
        self.assertEqual(len(self.send(requests.subjects())), 5)

    def test_errors(self) -> None:
        """Errors have Confluent's codes; not found is told apart."""
        for request, code in (
            (requests.schema_version("none"), 40401),
            (requests.schema_by_id(7), 40403),
        ):
            with self.assertRaises(RegistryError) as caught:
                self.send(request)
            self.assertEqual(caught.exception.code, code)
            self.assertTrue(caught.exception.not_found)
            self.assertFalse(caught.exception.retriable)

    def test_check(self) -> None:
        """The verdict of the registry comes with its reasons."""
        schema = Schema('"int"')
        self.assertTrue(self.send(requests.check("s", schema)).compatible)
        self.registry.refused["s"] = "no"
        self.assertEqual(self.send(requests.check("s", schema)), requests.Verdict(False, ("no",)))

    def test_types(self) -> None:
        """The languages of the registry are read."""
        self.assertEqual(self.send(requests.schema_types()), ["AVRO", "JSON", "PROTOBUF"])

    def test_levels(self) -> None:
        """Compatibility levels are read, set and deleted."""
        self.assertEqual(self.send(requests.set_compatibility("FULL", "s")), "FULL")
        self.assertEqual(self.send(requests.compatibility("s")), "FULL")
        self.send(requests.delete_compatibility("s"))
        self.assertEqual(self.send(requests.compatibility("s")), "BACKWARD")

    def test_deletions(self) -> None:
        """Versions and subjects are deleted."""
        self.registry.add("s", '"int"')
        self.registry.add("s", '"long"')
        self.assertEqual(self.send(requests.delete_version("s", 1)), [1])
        self.assertEqual(self.send(requests.delete_subject("s")), [2])
