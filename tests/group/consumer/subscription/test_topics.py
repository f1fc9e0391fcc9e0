"""Subscribed topics: expressions are resolved against the cluster, and only against what is new."""

from __future__ import annotations

from collections.abc import Collection

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.group.consumer.member import Metadata
from kafkatx.group.consumer.records import Kind
from kafkatx.group.consumer.state import GroupState
from kafkatx.group.consumer.subscription import topics
from kafkatx.group.consumer.subscription.topics import (
    compiled,
    facts_of,
    find_topics,
    ids_of,
    resolve_regexes,
    subscribed_regexes,
    topics_of,
)
from tests.group.consumer.driver import cluster, topic


class CompiledTests(SynchronousTestCase):
    def test_cached(self) -> None:
        """An expression is compiled once."""
        self.assertIs(compiled("a+cached"), compiled("a+cached"))

    def test_bounded(self) -> None:
        """The cache does not grow without end."""
        self.patch(topics, "MOST_COMPILED", 2)
        self.patch(topics, "_compiled", {})
        for regex in ("a", "b", "c"):
            compiled(regex)
        self.assertLessEqual(len(topics._compiled), 2)

    def test_invalid(self) -> None:
        """An invalid expression is reported as the client's fault, and is named in the message."""
        error = self.assertRaises(RequestError, find_topics, "(", ["a"])
        self.assertEqual(error.code, ErrorCode.INVALID_REGULAR_EXPRESSION)
        self.assertIn("`(`", str(error))


class ResolveTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a group with a member that subscribes to ``x`` and to all topics with an ``a``."""
        self.state = GroupState()
        metadata = Metadata(topic_names=frozenset({"x"}), topic_regex=".*a.*")
        self.state.put(Kind.MEMBER, "m", metadata)
        self.before = cluster(topic("ab", 1), topic("x", 2), topic("y", 3))

    def topics(self) -> frozenset[str]:
        """Return the topics of the member."""
        return topics_of(self.state.members["m"], self.state)

    def test_first(self) -> None:
        """A new expression is matched against all topics."""
        resolve_regexes(self.state, self.before, None, 7)
        self.assertEqual(self.topics(), {"x", "ab"})
        self.assertEqual(self.state.regexes[".*a.*"].timestamp_ms, 7)

    def test_new_topics(self) -> None:
        """Later only new topics are matched; deleted ones are dropped."""
        resolve_regexes(self.state, self.before, None, 7)
        asked: list[list[str]] = []
        find = topics.find_topics

        def spy(regex: str, names: Collection[str]) -> frozenset[str]:
            asked.append([*names])
            return find(regex, names)

        self.patch(topics, "find_topics", spy)
        resolve_regexes(self.state, cluster(topic("x", 2), topic("ca", 1)), self.before, 8)
        self.assertEqual((asked, self.topics()), ([["ca"]], {"x", "ca"}))

    def test_nothing_new(self) -> None:
        """The same cluster, and a cluster with other topics only, change nothing."""
        resolve_regexes(self.state, self.before, None, 7)
        self.state.commit()
        resolve_regexes(self.state, self.before, self.before, 8)
        resolve_regexes(self.state, cluster(*self.before.topics.values(), topic("z", 1)), self.before, 9)
        self.assertEqual(self.state.changes, [])

    def test_unused(self) -> None:
        """An expression that no member uses any more is removed."""
        resolve_regexes(self.state, self.before, None, 7)
        self.state.put(Kind.MEMBER, "m", Metadata())
        self.assertEqual(subscribed_regexes(self.state), set())
        resolve_regexes(self.state, self.before, self.before, 8)
        self.assertEqual(self.state.regexes, {})

    def test_facts(self) -> None:
        """The facts are those of subscribed topics that exist."""
        resolve_regexes(self.state, self.before, None, 7)
        facts = facts_of(self.state, cluster(topic("x", 2)))
        self.assertEqual({name: one.partitions for name, one in facts.items()}, {"x": 2})
        self.assertEqual(ids_of(frozenset({"x", "ab"}), facts), {topic("x", 2).topic_id})
