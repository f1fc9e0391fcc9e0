"""The table of verdicts: at most five differ from Confluent's in all, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable

from twisted.trial.unittest import SynchronousTestCase

from tests.schemas.verdicts import avro_cases
from tests.schemas.verdicts.case import Case

MOST_DIFFERENCES = 5


def unexpected(cases: Iterable[Case]) -> list[Case]:
    """Return the cases where our verdict is not the one that the table says."""
    return [case for case in cases if case.verdict() != (case.compatible != bool(case.difference))]


class VerdictTests(SynchronousTestCase):
    def test_avro(self) -> None:
        """Avro: each verdict is the one in the table, which has over 100 rows."""
        cases = list(avro_cases.cases())
        self.assertGreaterEqual(len(cases), 100)
        self.assertEqual(unexpected(cases), [])

    def test_differences(self) -> None:
        """At most five verdicts differ from Confluent's."""
        differing = [case for case in avro_cases.cases() if case.difference]
        self.assertLessEqual(len(differing), MOST_DIFFERENCES)
