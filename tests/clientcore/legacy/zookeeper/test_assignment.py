"""Tests of kafkatx.clientcore.legacy.zookeeper.assignment."""

from __future__ import annotations

import random

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.legacy.topic_filter import Blacklist, Subscription, Whitelist
from kafkatx.clientcore.legacy.zookeeper.assignment import assigned_streams
from kafkatx.types import TopicPartition


def numbers(found: dict[TopicPartition, int], topic: str = "t") -> dict[int, int]:
    """Return the stream of each partition of a topic."""
    return {at.partition: stream for at, stream in found.items() if at.topic == topic}


class AssignmentTests(SynchronousTestCase):
    def test_paper(self) -> None:
        """Five partitions and three streams give two, two and one."""
        members = {"a": Subscription({"t": 2}), "b": Subscription({"t": 1})}
        self.assertEqual(numbers(assigned_streams("a", members, {"t": 5})), {0: 0, 1: 0, 2: 1, 3: 1})
        self.assertEqual(numbers(assigned_streams("b", members, {"t": 5})), {4: 0})

    def test_sorted_as_text(self) -> None:
        """Streams are sorted as text: the eleventh comes before the third."""
        found = numbers(assigned_streams("a", {"a": Subscription({"t": 11})}, {"t": 11}))
        self.assertEqual([found[place] for place in range(4)], [0, 1, 10, 2])

    def test_filters(self) -> None:
        """A filter counts for each topic that it accepts, and for no internal one."""
        topics = {"t": 2, "u": 2, "__consumer_offsets": 2}
        members = {
            "a": Subscription(filter=Whitelist("t"), streams=1),
            "b": Subscription(filter=Blacklist("u"), streams=1),
        }
        self.assertEqual(set(assigned_streams("a", members, topics)), {TopicPartition("t", 0)})
        self.assertEqual(set(assigned_streams("b", members, topics)), {TopicPartition("t", 1)})
        internal = assigned_streams("b", members, topics, exclude_internal=False)
        self.assertEqual(len(numbers(internal, "__consumer_offsets")), 2)

    def test_absent(self) -> None:
        """A topic that does not exist, and a member that is not in the group, get nothing."""
        members = {"a": Subscription({"t": 1})}
        self.assertEqual(assigned_streams("a", members, {}), {})
        self.assertEqual(assigned_streams("b", members, {"t": 1}), {})

    def test_each_once(self) -> None:
        """Each partition of a topic with streams is assigned once, by the formula, to any members."""
        chance = random.Random(1)
        for _ in range(100):
            members = {
                f"m{number}": Subscription({"t": chance.randint(1, 12)})
                for number in range(chance.randint(1, 5))
            }
            partitions = chance.randint(0, 30)
            streams = sorted(f"{one}-{k}" for one, each in members.items() for k in range(each.topics["t"]))
            share, rest = divmod(partitions, len(streams))
            expected = {
                place: name
                for k, name in enumerate(streams)
                for place in range(
                    share * k + min(k, rest), share * k + min(k, rest) + share + (1 if k < rest else 0)
                )
            }
            found: dict[int, str] = {}
            for one in members:
                for at, stream in assigned_streams(one, members, {"t": partitions}).items():
                    self.assertNotIn(at.partition, found)
                    found[at.partition] = f"{one}-{stream}"
            self.assertEqual(found, expected)
