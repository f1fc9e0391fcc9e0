"""The checks of the scenarios can fail."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.clients import scenario
from tests.clients.scenario import SENT, Scenario, check_keyed, same, until


def placed() -> list[tuple[int, bytes, bytes]]:
    """All that was sent, with the partition of its key."""
    return [(int(key.split(b"-")[1]) % 6, key, value) for key, value in SENT]


class Broken(Scenario):
    def version(self) -> str:
        """Some version."""
        return "1"

    def consume(self) -> str:
        """Works."""
        return "well"

    def produce_keyed(self) -> None:
        """Does not."""
        same(1, 2, "one")


class KeyedTests(SynchronousTestCase):
    def test_right(self) -> None:
        """Records are right in any order of partitions."""
        check_keyed(placed())
        check_keyed(sorted(placed(), key=lambda row: row[0]))

    def test_missing(self) -> None:
        """A record that is missing is noticed."""
        self.assertRaises(AssertionError, check_keyed, placed()[:-1])

    def test_doubled(self) -> None:
        """A record that came twice is noticed."""
        self.assertRaises(AssertionError, check_keyed, [*placed(), placed()[-1]])

    def test_order(self) -> None:
        """Two records of a key that changed places are noticed."""
        found = placed()
        found[0], found[17] = found[17], found[0]
        self.assertRaises(AssertionError, check_keyed, found)

    def test_two_partitions_of_a_key(self) -> None:
        """A key in two partitions is noticed."""
        found = placed()
        found[0] = (5, *found[0][1:])
        self.assertRaises(AssertionError, check_keyed, found)

    def test_one_partition_for_all(self) -> None:
        """Keys that are all in one partition are noticed."""
        self.assertRaises(AssertionError, check_keyed, [(0, key, value) for _, key, value in placed()])


class ScenarioTests(SynchronousTestCase):
    def test_until(self) -> None:
        """A condition that never becomes true is an error."""
        self.assertRaises(AssertionError, until, "a miracle", lambda: False, 0)

    def test_report(self) -> None:
        """A feature that raises is reported as failed, with where; the next is tried all the same."""
        said: list[dict[str, object]] = []
        self.patch(scenario, "say", lambda **line: said.append(line))
        Broken("now", "nowhere").run(["produce keyed", "no such feature", "consume"])
        self.assertEqual([line.get("result") for line in said], [None, "fail", "fail", "pass"])
        self.assertIn("one: 1 instead of 2 (produce_keyed, line", str(said[1]["detail"]))
