"""Apache Kafka's own assignors come to the same as ours, in rebalances that follow one from the other.

``python -m tests.interop.assignors COUNT`` prints questions with Apache Kafka's answers: the file
``tests/clientside/assignors/apache.txt`` is made so.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from tests.clientcore.group.assignors.lines import Story, ordered, ours
from tests.interop.apache import JARS

SOURCE = os.path.join(os.path.dirname(__file__), "Assignors.java")
STORIES = 500
MOST_OTHER = 0.002
"""Where members hold unequal shares of unequal topics, the order of Java's hash sets may decide."""


class Apache:
    """A process that answers."""

    def __init__(self) -> None:
        command = ["java", "-cp", os.path.join(JARS, "*"), SOURCE]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, question: str) -> str:
        """An answer of Apache Kafka's."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        return ordered(self._process.stdout.readline().strip())

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


def told(apache: Apache, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Questions of so many stories, with the answers."""
    for number in range(count):
        story = Story(random.Random(f"{seed} {number}"))
        for question in story.questions():
            answer = apache.ask(question)
            story.answered(answer)
            yield question, answer


class AssignorTests(SynchronousTestCase):
    def test_stories(self) -> None:
        """Assignments and user data are the same."""
        apache = Apache()
        self.addCleanup(apache.end)
        asked, other = 0, []
        for question, answer in told(apache, STORIES, 1):
            asked += 1
            if ours(question) != answer:
                other.append(f"{question}\n  Apache Kafka: {answer}\n  ours:         {ours(question)}")
        self.assertGreater(asked, STORIES)
        self.assertLessEqual(len(other), MOST_OTHER * asked, "\n".join(other))


def main(count: int) -> None:
    """Print questions and answers."""
    apache = Apache()
    for question, answer in told(apache, count, 2):
        sys.stdout.write(f"{question}\n= {answer}\n")
    apache.end()


if __name__ == "__main__":
    main(int(sys.argv[1]))
