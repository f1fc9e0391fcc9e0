"""Tests of kafkatx.clientcore.legacy.topic_filter."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.legacy.topic_filter import (
    Blacklist,
    StreamAssignment,
    Subscription,
    TopicFilter,
    Whitelist,
    ranges,
)
from kafkatx.errors import KafkaTXError
from kafkatx.types import TopicPartition

TOPICS = ("clicks", "clicks2", "views", "Views", "a.b", "axb")


def wanted(filter: TopicFilter) -> list[str]:
    """Return the topics that a filter selects."""
    return [topic for topic in TOPICS if filter.wants(topic)]


class FilterTests(SynchronousTestCase):
    def test_equal(self) -> None:
        """Filters of the same kind and expression are equal."""
        self.assertEqual({Whitelist("a"), Whitelist("a"), Blacklist("a")}, {Blacklist("a"), Whitelist("a")})
        self.assertNotEqual(Whitelist("a"), Whitelist("b"))
        self.assertNotEqual(Whitelist("a"), "a")

    def test_whitelist(self) -> None:
        """A whitelist matches whole names; a comma separates alternatives; spaces and outer quotes go."""
        self.assertEqual(wanted(Whitelist("clicks")), ["clicks"])
        self.assertEqual(wanted(Whitelist("click.*")), ["clicks", "clicks2"])
        self.assertEqual(wanted(Whitelist("clicks, views ,a\\.b")), ["clicks", "views", "a.b"])
        self.assertEqual(wanted(Whitelist("(?i)views|x")), ["views", "Views"])
        self.assertEqual(wanted(Whitelist(" 'cli cks,views\"")), ["clicks", "views"])

    def test_blacklist(self) -> None:
        """A blacklist selects all topics that do not match as a whole."""
        self.assertEqual(wanted(Blacklist("clicks")), ["clicks2", "views", "Views", "a.b", "axb"])
        self.assertEqual(wanted(Blacklist("click.*,a.b")), ["views", "Views"])
        self.assertEqual(wanted(Blacklist("(?i)VIEWS|.*[.x].*")), ["clicks", "clicks2"])

    def test_pattern(self) -> None:
        """The pattern selects the same topics as the filter."""
        for filter in (Whitelist("clicks,a.b"), Blacklist("clicks,a.b")):
            found = [topic for topic in TOPICS if filter.pattern.fullmatch(topic)]
            self.assertEqual(found, wanted(filter))

    def test_wrong(self) -> None:
        """An invalid regular expression raises an error that quotes it."""
        for kind in (Whitelist, Blacklist):
            error = self.assertRaises(KafkaTXError, kind, "a(b")
            self.assertIn("'a(b' is not a regular expression", str(error))

    def test_repr(self) -> None:
        """The repr is the constructor call."""
        self.assertEqual(repr(Blacklist("a,b")), "Blacklist('a,b')")


class SubscriptionTests(SynchronousTestCase):
    def test_wrong(self) -> None:
        """A subscription without topics or without streams is an error."""
        self.assertRaises(KafkaTXError, Subscription)
        error = self.assertRaises(KafkaTXError, Subscription, {"t": 1, "u": 0})
        self.assertEqual(str(error), "0 streams for u: there must be at least one")
        self.assertRaises(KafkaTXError, Subscription, filter=Whitelist(".*"), streams=0)


class SharesTests(SynchronousTestCase):
    def test_ranges(self) -> None:
        """The first streams get one partition more; streams beyond the partitions get none (Algorithm 1)."""
        places = [TopicPartition("t", number) for number in (4, 0, 3, 1, 2)]
        for streams, expected in (
            ("a", "aaaaa"),
            ("ab", "aaabb"),
            ("abc", "aabbc"),
            ("abcdefg", "abcde"),
            ("", ""),
        ):
            owners = ranges(places, list(streams))
            self.assertEqual("".join(owners[place] for place in sorted(owners)), expected)

    def test_by_topic(self) -> None:
        """A topic's streams share its partitions; a topic without streams has no owner."""
        places = [TopicPartition(topic, number) for topic in "tuv" for number in (0, 1)]
        shares = StreamAssignment({"t": ["t1", "t2"], "u": ["u1"]})
        self.assertEqual(shares.streams(), ["t1", "t2", "u1"])
        owners = {str(place): owner for place, owner in shares.divide(places).items()}
        self.assertEqual(owners, {"t-0": "t1", "t-1": "t2", "u-0": "u1", "u-1": "u1"})

    def test_all(self) -> None:
        """The streams of a filter share all partitions, even if each topic has only one."""
        shares = StreamAssignment(all=["a", "b"])
        owners = shares.divide(TopicPartition(topic, 0) for topic in "tuvw")
        self.assertEqual([owners[TopicPartition(topic, 0)] for topic in "tuvw"], ["a", "a", "b", "b"])
