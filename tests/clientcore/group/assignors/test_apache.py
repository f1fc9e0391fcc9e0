"""Assignments equal Apache Kafka's, partition by partition."""

from __future__ import annotations

import os
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from tests.clientcore.group.assignors.lines import ASSIGNORS, ours

ANSWERS = os.path.join(os.path.dirname(__file__), "apache.txt")


def told() -> Iterator[tuple[str, str]]:
    """Yield questions with Apache Kafka's answers."""
    with open(ANSWERS, encoding="ascii") as file:
        lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
    for question, answer in zip(lines[::2], lines[1::2], strict=True):
        yield question, answer.removeprefix("= ")


class ApacheTests(SynchronousTestCase):
    def check(self, name: str) -> None:
        """Compare the answers of an assignor with Apache Kafka's."""
        asked = [(question, answer) for question, answer in told() if question.startswith(f"{name}|")]
        self.assertGreater(len(asked), 10)
        for question, answer in asked:
            self.assertEqual(ours(question), answer, question)

    def test_range(self) -> None:
        """Range assignments equal Apache Kafka's."""
        self.check("range")

    def test_roundrobin(self) -> None:
        """Round-robin assignments equal Apache Kafka's."""
        self.check("roundrobin")

    def test_sticky(self) -> None:
        """Sticky assignments and the members' user data equal Apache Kafka's."""
        self.check("sticky")

    def test_cooperative_sticky(self) -> None:
        """Cooperative sticky assignments and the members' user data equal Apache Kafka's."""
        self.check("cooperative-sticky")

    def test_all(self) -> None:
        """The file has questions for all assignors."""
        self.assertEqual({question.split("|")[0] for question, _ in told()}, set(ASSIGNORS))
