"""The table of verdicts: at most five differ from Confluent's in all, each with a reason."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.schemas.verdicts import avro_cases, json_cases, protobuf_cases
from tests.schemas.verdicts.case import Case
from tests.schemas.verdicts.document import page

ROOT = Path(__file__).parent.parent.parent.parent
MOST_DIFFERENCES = 5


def unexpected(cases: Iterable[Case]) -> list[Case]:
    """Return the cases where our verdict is not the one that the table says."""
    return [case for case in cases if case.verdict() != (case.compatible != bool(case.difference))]


class VerdictTests(SynchronousTestCase):
    def check(self, cases: list[Case], at_least: int) -> None:
        """Check the number of rows, that both verdicts occur, and each verdict of ours."""
        self.assertGreaterEqual(len(cases), at_least)
        refused = sum(not case.compatible for case in cases)
        self.assertGreater(refused, at_least // 4)
        self.assertEqual(unexpected(cases), [])

    def test_avro(self) -> None:
        """Avro: each verdict is the one in the table, which has over 100 rows."""
        self.check(list(avro_cases.cases()), 100)

    def test_json_schema(self) -> None:
        """JSON Schema: each verdict is the one in the table, which has over 150 rows."""
        self.check(list(json_cases.cases()), 150)

    def test_protobuf(self) -> None:
        """Protobuf: each verdict is the one in the table, which has over 80 rows."""
        self.check(list(protobuf_cases.cases()), 80)

    def test_page(self) -> None:
        """The page on compatibility shows this table: ``make documents`` writes it anew."""
        shown = (ROOT / "docs" / "schema-compatibility.md").read_text(encoding="utf-8")
        self.assertEqual(shown, f"{page().rstrip()}\n")

    def test_differences(self) -> None:
        """At most five verdicts differ from Confluent's."""
        rows = [*avro_cases.cases(), *json_cases.cases(), *protobuf_cases.cases()]
        self.assertLessEqual(sum(bool(case.difference) for case in rows), MOST_DIFFERENCES)
