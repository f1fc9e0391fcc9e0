"""The source as the controller asks it."""

from __future__ import annotations

from kafkatx.broker.mirror.control.source import MOST_GROUPS, MOST_TOPICS
from kafkatx.broker.mirror.control.topic_plan import SourceTopic
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.types import TopicPartition
from tests.broker.mirror.control.case import CONFIGS, OFFSETS, ControlCase

T0 = TopicPartition("t", 0)


def every(name: str) -> bool:
    """Choose all."""
    return True


class SourceClientTests(ControlCase):
    def setUp(self) -> None:
        """Make a client."""
        super().setUp()
        self.client = self.make_client()

    def test_topics(self) -> None:
        """Wanted topics come with id, number of partitions, and followed configs that are set."""
        self.source.add_topic("u")
        self.source.configs["t"] = {"retention.ms": "5", "min.insync.replicas": "2"}
        found = self.result(self.client.topics(lambda name: name == "t"))
        wanted = SourceTopic(self.source.topics["t"].topic_id, 2, {"retention.ms": "5"})
        self.assertEqual((found.found, found.unclear), ({"t": wanted}, frozenset()))

    def test_many_topics(self) -> None:
        """Configs are asked for in pieces."""
        for number in range(MOST_TOPICS):
            self.source.add_topic(f"u{number}")
        found = self.result(self.client.topics(every))
        self.assertEqual({topic.configs == {} for topic in found.found.values()}, {True})
        self.assertEqual([len(one.resources) for one in self.source.requests(CONFIGS)], [MOST_TOPICS, 1])

    def test_unclear(self) -> None:
        """A topic of which the source tells an error is neither there nor gone."""
        from kafkatx.wire.messages.metadata import MetadataResponse, MetadataResponseTopic

        def answer(node_id: int, request: object) -> MetadataResponse:
            told = self.source._metadata(request)
            assert isinstance(told, MetadataResponse)
            told.topics = [
                MetadataResponseTopic(ErrorCode.LEADER_NOT_AVAILABLE, "t"),
                MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "gone"),
            ]
            return told

        self.source.answers[3] = answer
        found = self.result(self.client.topics(every))
        self.assertEqual((dict(found.found), found.unclear), ({}, frozenset({"t"})))

    def test_old_configs(self) -> None:
        """Old brokers tell only if a value is the default."""
        from kafkatx.wire.messages import describe_configs as m

        def answer(node_id: int, request: object) -> m.DescribeConfigsResponse:
            entries = [
                m.DescribeConfigsResourceResult("retention.ms", "5", is_default=False),
                m.DescribeConfigsResourceResult("segment.ms", "6", is_default=True),
                m.DescribeConfigsResourceResult("other", "7", is_default=False),
            ]
            return m.DescribeConfigsResponse(0, [m.DescribeConfigsResult(0, None, 2, "t", entries)])

        self.source.versions[CONFIGS] = 0
        self.source.answers[CONFIGS] = answer
        found = self.result(self.client.topics(every))
        self.assertEqual(found.found["t"].configs, {"retention.ms": "5"})

    def test_groups(self) -> None:
        """Wanted groups with offsets are told by their coordinators; share groups have none."""
        self.source.groups = {"g": {}, "h": {}, "s": {}}
        self.source.kinds = {"s": "share", "h": "Consumer"}
        self.assertEqual(self.result(self.client.groups(every)), {1: ["g", "h"], 2: []})
        self.assertEqual(self.result(self.client.groups(lambda name: name == "h"))[1], ["h"])

    def test_offsets(self) -> None:
        """Offsets of several groups come in one request; an error is that of its group."""
        offset = OffsetAndMetadata(5, "x", 3)
        self.source.groups = {f"g{number}": {T0: offset} for number in range(MOST_GROUPS + 1)}
        self.source.group_errors["g1"] = ErrorCode.NOT_COORDINATOR
        self.result(self.client.groups(every))
        found = self.result(self.client.offsets(1, list(self.source.groups), {"t": 1}))
        self.assertEqual(found["g0"], {T0: offset})
        self.assertIsInstance(found["g1"], RequestError)
        self.assertEqual(len(found), MOST_GROUPS + 1)
        self.assertEqual([len(one.groups) for one in self.source.requests(OFFSETS)], [MOST_GROUPS, 1])

    def test_old_offsets(self) -> None:
        """An old broker is asked for one group at a time."""
        self.source.versions[OFFSETS] = 5
        self.source.groups = {name: {T0: OffsetAndMetadata(5)} for name in "gh"}
        self.result(self.client.groups(every))
        found = self.result(self.client.offsets(1, ["g", "h"], {"t": 1}))
        self.assertEqual(found, {name: {T0: OffsetAndMetadata(5)} for name in "gh"})

    def test_away(self) -> None:
        """A source that does not answer is an error, which says so."""
        self.network.cut |= {(1, 101), (1, 102)}
        for asked in (self.client.topics(every), self.client.groups(every)):
            with self.assertRaises(ConnectionFailed):
                self.result(asked)
