"""The sampler, on a broker in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.history.series import ROWS
from kafkatx.broker.sampling.sampler import MOST_TOPICS, SHARE, Sampler
from kafkatx.net.poll_meter import PollMeter
from kafkatx.net.server import KafkaServerFactory, Limits
from kafkatx.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.running import BrokerTestCase


class FakePoller:
    """An epoll object that does nothing."""

    def _nothing(self, *arguments: object) -> list[Any]:
        return []

    poll = register = modify = unregister = fileno = close = _nothing


class SamplerTests(BrokerTestCase):
    def setUp(self) -> None:
        """Make a sampler."""
        super().setUp()
        server = KafkaServerFactory(self.dispatch, Limits(1 << 20, -1, -1), self.clock)
        self.meter = PollMeter(FakePoller(), self.clock.seconds)
        self.cpu_s = 0.0
        self.sampler = Sampler(self.broker, server, self.meter, (), lambda: self.cpu_s)

    def sample(self, passed_s: float = 1.0) -> Mapping[str, float]:
        """Return the samples after a time."""
        self.clock.advance(passed_s)
        found: Deferred[Mapping[str, float]] = Deferred.fromCoroutine(self.sampler.sample())
        for _ in range(1000):
            if found.called:
                break
            self.clock.advance(0)
        return self.successResultOf(found)

    def commit(self, group: str, offset: int) -> None:
        """Commit an offset."""
        partition = OffsetCommitRequestPartition(0, offset, committed_metadata="")
        self.ask(8, 9, OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic("t", [partition])]))

    def test_rates(self) -> None:
        """Counters are rates, of the time that has passed."""
        self.make_topic("t", 2)
        self.sample()
        self.fill(b"a", b"b", b"c")
        self.cpu_s = 0.5
        found = self.sample(2.0)
        self.assertEqual((found["recordsIn"], found["produceRequests"], found["cpu"]), (1.5, 0.5, 0.25))
        self.assertGreater(found["bytesIn"], 20)
        self.assertEqual((found["topics"], found["partitions"], found["leaders"]), (1, 2, 2))
        self.assertEqual((found["underReplicated"], found["offline"]), (0, 0))
        self.assertGreater(found["sizeBytes"], 40)
        quiet = self.sample()
        self.assertEqual((quiet["recordsIn"], quiet["bytesIn"], quiet["requests"]), (0, 0, 0))

    def test_deleted(self) -> None:
        """A topic that is deleted takes no rate below zero."""
        self.make_topic("t")
        self.fill(b"a" * 1000)
        self.sample()
        self.sample()
        self.successResultOf(Deferred.fromCoroutine(self.broker.topic_commands.delete("t")))
        self.assertEqual(self.sample()["bytesIn"], 0)

    def test_table(self) -> None:
        """All samples are in the table, and the others have been sampled."""
        self.make_topic("t")
        self.meter.idle_s = 1.0
        self.sample()
        self.meter.idle_s, self.meter.busy_s = 1.75, 0.25
        self.fill(b"a")
        found = self.sample()
        self.assertEqual({row.name for row in ROWS} - found.keys(), {"syncMs"})
        self.assertEqual(found.keys() - {row.name for row in ROWS}, set())
        self.assertEqual(found["reactorIdle"], 0.75)

    def test_groups(self) -> None:
        """Groups are counted, with what they are behind."""
        self.make_topic("t")
        self.successResultOf(self.broker.groups.topic.ensure())
        self.fill(*[b"x"] * 10)
        self.commit("behind", 3)
        self.commit("done", 10)
        found = self.sample()
        self.assertEqual((found["groups"], found["members"], found["lag"]), (2, 0, 7))
        self.assertEqual(self.sampler.named(), {"lag:behind": 7})

    def test_caught_up(self) -> None:
        """A group that has caught up is drawn on, at 0; one that never was behind is not."""
        self.make_topic("t")
        self.successResultOf(self.broker.groups.topic.ensure())
        self.fill(*[b"x"] * 10)
        self.commit("behind", 3)
        self.commit("done", 10)
        self.sample()
        self.sampler.named()
        self.commit("behind", 10)
        for _ in range(3):
            self.assertEqual(self.sample()["lag"], 0)
            lags = {name: lag for name, lag in self.sampler.named().items() if name.startswith("lag:")}
            self.assertEqual(lags, {"lag:behind": 0})

    def test_topics(self) -> None:
        """The busiest topics have series of their own."""
        for number in range(MOST_TOPICS + 2):
            self.make_topic(f"t{number}")
        self.sample()
        self.sampler.named()
        for number in range(MOST_TOPICS + 1):
            self.fill(b"x" * (number + 1) * 10, topic=f"t{number}")
        self.sample(10)
        found = self.sampler.named()
        self.assertNotIn("topicBytesIn:t0", found)  # the smallest of them
        self.assertNotIn(f"topicBytesIn:t{MOST_TOPICS + 1}", found)
        self.assertEqual(len(found), 2 * MOST_TOPICS)
        self.assertGreater(found[f"topicBytesIn:t{MOST_TOPICS}"], found["topicBytesIn:t1"])
        self.assertEqual(found["topicBytesOut:t1"], 0)

    def test_long_walks(self) -> None:
        """A walk that takes long is made in turns, and not again before its share of the time has passed."""
        for number in range(5):
            self.make_topic(f"t{number}")
        self.sample()
        self.fill(b"x", topic="t0")
        real, walks, turn_s = self.broker.topics.of, [], 0.004

        def slow(name: str) -> Any:
            walks.append(name)
            self.clock.rightNow += turn_s
            return real(name)

        self.patch(self.broker.topics, "of", slow)
        found = self.sample()
        self.assertEqual(len(walks), 5)
        self.assertGreater(found["recordsIn"], 0)
        took_s = 5 * turn_s
        again = self.sample(took_s / SHARE - 1.0)
        self.assertEqual((len(walks), again["recordsIn"]), (5, found["recordsIn"]))
        self.assertEqual(self.sample(1.0)["recordsIn"], 0)
        self.assertEqual(len(walks), 10)
