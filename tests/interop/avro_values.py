"""Apache Avro for Java gives the same values as ours for data of a writer's schema and a reader's.

``python -m tests.interop.avro_values`` prints its answers: the file
``tests/schemas/messages/avro/apache.txt`` is made so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from tests.interop.apache import JARS
from tests.schemas.messages.avro.resolution_cases import Case, cases, ours

SOURCE = os.path.join(os.path.dirname(__file__), "avro", "AvroValues.java")


def apache(asked: Sequence[Case]) -> list[str]:
    """Return the answers of Apache Avro."""
    command = ["java", "-cp", os.path.join(f"{JARS}-avro", "*"), SOURCE]
    questions = "".join(f"{case.question}\n" for case in asked)
    done = subprocess.run(command, input=questions, check=True, capture_output=True, text=True, timeout=300)
    return done.stdout.splitlines()


class AvroValueTests(SynchronousTestCase):
    def test_cases(self) -> None:
        """Values are the same: defaults, annotations, promotions and branches of unions."""
        asked = cases()
        answers = apache(asked)
        self.assertEqual(len(answers), len(asked))
        other = [
            f"{case.name}\n  Apache Avro: {answer}\n  ours:        {ours(case)}"
            for case, answer in zip(asked, answers, strict=True)
            if ours(case) != answer
        ]
        self.assertEqual(other, [])


def main() -> None:
    """Print the names of cases, and the answers."""
    asked = cases()
    for case, answer in zip(asked, apache(asked), strict=True):
        sys.stdout.write(f"{case.name}\t{answer}\n")


if __name__ == "__main__":
    main()
