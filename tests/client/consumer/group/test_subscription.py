"""Tests of kafkatx.client.consumer.group.subscription."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.client.consumer.group.subscription import Subscription
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import FakeCluster, Log
from tests.client.fakes import Network


class SubscriptionTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a broker with topics of one and two partitions, and a started cluster."""
        self.topics = {"t": [Log()], "team": [Log(), Log()], "__consumer_offsets": [Log()]}
        self.network = Network(FakeCluster(self.topics, auto_create=False).answer)
        self.cluster = self.network.started("consumer")
        self.addCleanup(lambda: self.network.result(self.cluster.close()))
        self.subscription = self.make()

    def make(self, internal: bool = False) -> Subscription:
        """Return a subscription without topics."""
        return Subscription(self.cluster, internal=internal, refresh_s=60)

    def requested(self) -> Any:
        """Return the topics of a metadata refresh; None means all topics."""
        self.cluster.stale()
        self.network.run(1)
        topics = self.network.sent(MetadataRequest)[-1].topics
        return None if topics is None else sorted(topic.name for topic in topics)

    def test_topics(self) -> None:
        """Subscribed topics are in metadata; a str is one topic, and later topics replace earlier ones."""
        self.assertFalse(self.subscription)
        self.subscription.set(["t", "team"], None)
        self.assertTrue(self.subscription)
        self.assertEqual(self.requested(), ["t", "team"])
        self.assertEqual(self.subscription.partition_counts(), {"t": 1, "team": 2})
        self.subscription.set("t", None)
        self.assertEqual((self.subscription.names, self.requested()), ({"t"}, ["t"]))

    def test_watched_topics(self) -> None:
        """Watched topics are refreshed together with subscribed ones, until the next call."""
        self.subscription.set(["t"], None)
        self.subscription.watch(frozenset({"team"}))
        self.assertEqual(self.requested(), ["t", "team"])
        self.subscription.watch(frozenset())
        self.assertEqual(self.requested(), ["t"])

    def test_unknown_topic_is_refreshed_soon(self) -> None:
        """Metadata is refreshed without waiting for its age if a topic is missing in it."""
        self.subscription.set(["t"], None)
        self.requested()
        before = len(self.network.sent(MetadataRequest))
        self.subscription.track()
        self.network.run(1)
        self.assertEqual(len(self.network.sent(MetadataRequest)), before)
        self.subscription.watch(frozenset({"team"}))
        self.network.run(1)
        self.assertEqual(len(self.network.sent(MetadataRequest)), before + 1)

    def test_clear(self) -> None:
        """Without a subscription its topics are not refreshed any more."""
        self.subscription.set(["t"], None)
        self.subscription.clear()
        self.assertFalse(self.subscription)
        self.assertEqual(self.requested(), [])

    def test_pattern(self) -> None:
        """A pattern asks for all topics and matches whole names of existing ones."""
        self.subscription.set(None, "te.*|x")
        self.assertIsNone(self.requested())
        self.assertEqual(self.subscription.matching_topics(), ["team"])
        found = [name for name in ("t", "steam", "team", "tea-new", "xy") if self.subscription.matches(name)]
        self.assertEqual(found, ["team", "tea-new"])

    def test_internal_topics(self) -> None:
        """Internal topics match only if that is allowed, whether or not metadata has them."""
        for internal in (False, True):
            subscription = self.make(internal)
            subscription.set(None, ".*")
            self.requested()
            self.assertIs(subscription.matches("__consumer_offsets"), internal)
            self.assertIs(subscription.matches("__transaction_state"), internal)
            subscription.clear()

    def test_errors(self) -> None:
        """Topics and a pattern, neither, or a malformed pattern are errors."""
        for topics, pattern in ((["t"], "t"), (None, None), ([], None)):
            error = self.assertRaises(ValueError, self.subscription.set, topics, pattern)
            self.assertIn("give exactly one of them", str(error))
        error = self.assertRaises(ValueError, self.subscription.set, None, "(")
        self.assertIn("the pattern '(' is malformed", str(error))
        self.assertFalse(self.subscription)

    def test_names(self) -> None:
        """A topic that cannot exist is rejected with its name, and the earlier subscription stays."""
        self.subscription.set(["t"], None)
        for topics, words in (("", "empty"), (["t", "a b"], "'a b'"), ([".."], "'..'")):
            error = self.assertRaises(ValueError, self.subscription.set, topics, None)
            self.assertIn(words, str(error))
        bad: Any = [b"t"]
        error = self.assertRaises(TypeError, self.subscription.set, bad, None)
        self.assertEqual(str(error), "topic must be a str, not bytes")
        self.assertEqual(self.subscription.names, {"t"})
