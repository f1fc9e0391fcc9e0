"""Tests of kafkatx.networkclient.metadata, through the cluster."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.clientcore.errors import UnknownTopic
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.blocking.fakes import Log
from tests.networkclient.case import ClusterTestCase


class MetadataTests(ClusterTestCase):
    def test_from_memory(self) -> None:
        """Concurrent lookups of a topic share one request, and later ones need none."""
        first, second = (Deferred.fromCoroutine(self.cluster.topic("t")) for _ in range(2))
        self.network.pump()
        self.assertEqual(list(self.successResultOf(first).partitions), [0, 1])
        self.successResultOf(second)
        self.run_(self.cluster.topic("t"))
        self.assertEqual(self.metadata_requests(), [[], ["t"]])

    def test_leader(self) -> None:
        """Leaders are cached; an unknown or dead leader is -1."""
        self.assertEqual(self.cluster.leader("t", 0), -1)
        self.run_(self.cluster.topic("t"))
        self.assertEqual([self.cluster.leader("t", number) for number in range(3)], [1, 2, -1])
        self.brokers.topics["t"][0].leader = 7
        self.network.result(self.cluster.refreshed(), 1)
        self.assertEqual(self.cluster.leader("t", 0), -1)

    def test_created(self) -> None:
        """A producer's lookup lets the broker create the topic, an admin client's does not."""
        self.assertEqual(len(self.run_(self.cluster.topic("new")).partitions), 1)
        admin = self.network.started("admin")
        error = self.assertRaises(UnknownTopic, self.run_, admin.topic("newer"), 10)
        self.assertEqual(error.topic, "newer")
        self.assertEqual([names for names in self.metadata_requests() if names == ["newer"]], [["newer"]] * 6)
        self.network.result(admin.close())

    def test_allowed(self) -> None:
        """A consumer lets topics be created if its settings do."""
        for allowed in (True, False):
            consumer = self.network.started("consumer", allow_auto_create_topics=allowed)
            self.run_(consumer.topic("t"))
            self.assertEqual(self.network.sent(MetadataRequest)[-1].allow_auto_topic_creation, allowed)
            self.network.result(consumer.close())

    def test_comes_late(self) -> None:
        """A topic that the first broker does not know yet is requested again."""
        self.brokers.auto_create = False
        waiting = Deferred.fromCoroutine(self.cluster.topic("late"))
        self.network.run(0.5)
        self.assertNoResult(waiting)
        self.brokers.topics["late"] = [Log()]
        self.network.run(1)
        self.assertEqual(self.successResultOf(waiting).name, "late")

    def test_bad_name(self) -> None:
        """A final error of the broker is raised."""
        self.brokers.faults[MetadataRequest].append(ErrorCode.INVALID_TOPIC_EXCEPTION)
        error = self.assertRaises(RequestError, self.run_, self.cluster.topic("b/d"))
        self.assertIs(error.code, ErrorCode.INVALID_TOPIC_EXCEPTION)

    def test_tracked(self) -> None:
        """Refreshes request the topics that each owner tracks, and those in use."""
        self.cluster.track(["a"])
        self.cluster.track(["b"], owner="other")
        self.run_(self.cluster.topic("t"))
        self.network.result(self.cluster.refreshed(), 1)
        self.assertEqual(self.metadata_requests()[-1], ["a", "b", "t"])
        self.cluster.untrack()
        self.network.result(self.cluster.refreshed(), 1)
        self.assertEqual(self.metadata_requests()[-1], ["b", "t"])
        self.cluster.track_all(60, owner="other")
        self.network.result(self.cluster.refreshed(), 1)
        self.assertIsNone(self.metadata_requests()[-1])

    def test_deleted(self) -> None:
        """A deleted topic is dropped while all topics are tracked."""
        self.cluster.track_all(60)
        self.network.result(self.cluster.refreshed(), 1)
        self.assertEqual(list(self.cluster.metadata.topics), ["t"])
        self.brokers.topics = {"u": [Log()]}
        self.network.result(self.cluster.refreshed(), 1)
        self.assertEqual(list(self.cluster.metadata.topics), ["u"])

    def test_idle(self) -> None:
        """An unused topic is dropped after metadata.max.idle.ms, and one in use is not."""
        self.brokers.topics["u"] = [Log()]
        self.run_(self.cluster.topic("t"))
        self.run_(self.cluster.topic("u"))
        for seconds in (1, 299, 2):
            self.assertEqual(len(self.cluster.metadata.topics), 2)
            self.network.pump(seconds)
            self.cluster.leader("u", 0)
            self.network.result(self.cluster.refreshed(), 1)
        self.assertEqual(self.metadata_requests()[-1], ["u"])
        self.assertEqual(list(self.cluster.metadata.topics), ["u"])

    def test_age(self) -> None:
        """Metadata is refreshed when it is old."""
        self.network.pump(299)
        self.assertEqual(len(self.metadata_requests()), 1)
        self.network.pump(1)
        self.assertEqual(len(self.metadata_requests()), 2)

    def test_all_brokers_gone(self) -> None:
        """Metadata requests are repeated until a broker is back, and callers wait meanwhile."""
        for number in (1, 2, 3):
            self.network.kill(number)
        waiting = self.cluster.refreshed()
        self.network.run(120, step=0.5)
        self.assertNoResult(waiting)
        self.network.down.clear()
        self.network.run(2)
        self.successResultOf(waiting)

    def test_listeners(self) -> None:
        """Listeners get old and new metadata after each change until they end; their errors are logged."""
        told: list[tuple[Any, Any]] = []

        def broken(old: Any, new: Any) -> None:
            raise ValueError("mine")

        self.cluster.on_metadata(broken)
        end = self.cluster.on_metadata(lambda old, new: told.append((old, new)))
        before = self.cluster.metadata
        self.run_(self.cluster.topic("t"))
        self.assertEqual(told, [(before, self.cluster.metadata)])
        self.network.result(self.cluster.refreshed(), 1)  # nothing has changed
        end()
        self.run_(self.cluster.topic("u"))
        self.assertEqual(len(told), 1)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 2)
