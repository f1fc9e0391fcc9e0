"""Errors: the status of the response follows from the code."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry import errors


class ErrorTests(SynchronousTestCase):
    def test_status(self) -> None:
        """A code of five digits begins with the status; one of three digits is the status."""
        cases = {
            errors.subject_not_found("s"): (40401, 404),
            errors.incompatible("s"): (409, 409),
            errors.invalid_schema("s"): (42201, 422),
            errors.store_error("s"): (50001, 500),
            errors.unknown_leader(): (50004, 500),
        }
        for error, expected in cases.items():
            self.assertEqual((error.code, error.status), expected)

    def test_messages(self) -> None:
        """Messages are those of Confluent's registry, which clients may look for."""
        found = [
            errors.subject_not_found("s"),
            errors.version_not_found(3),
            errors.schema_not_found(),
            errors.schema_not_found(7),
            errors.no_subject_config("s"),
        ]
        self.assertEqual(
            list(map(str, found)),
            [
                "Subject 's' not found.",
                "Version 3 not found.",
                "Schema not found",
                "Schema 7 not found",
                "Subject 's' does not have subject-level compatibility configured",
            ],
        )
        key = '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}'
        expected = f"One or more references exist to the schema {key}."
        self.assertEqual(str(errors.still_referenced("s", 1)), expected)
