"""Three brokers that control links, and a source in memory that has configs and groups as well."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import attrs
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkatx.broker.mirror.control.source import SourceClient
from kafkatx.clientcore.group.offsets import OffsetAndMetadata
from kafkatx.config.links import LinkSettings
from kafkatx.config.mirror_record import MirrorRecord, MirrorState, record_of
from kafkatx.errors import ErrorCode
from kafkatx.net.server import KafkaServerFactory
from kafkatx.types import Topic, TopicPartition
from kafkatx.wire.messages import describe_configs, list_groups, offset_commit, offset_fetch
from tests.broker.brokers import LIMITS, ClusterBroker, ClusterOfBrokersCase
from tests.broker.mirror.source import PORT, VERSIONS, FakeSource
from tests.broker.mirror.source_log import SourceLog

CONFIGS, GROUPS, OFFSETS = 32, 16, 9
FIRST_SOURCE_ID = 100
"""The id of the source's machine 0 in the network."""

Offsets = dict[TopicPartition, OffsetAndMetadata]


@attrs.define
class FullSource(FakeSource):
    """A source with configs of topics, and groups.

    :ivar configs: the configs that are set, by topic.
    :ivar groups: the committed offsets of each group; the first broker coordinates all.
    :ivar kinds: the types of groups, where these are not classic.
    :ivar group_errors: errors of groups.
    """

    versions: dict[int, int] = attrs.field(
        factory=lambda: {**VERSIONS, CONFIGS: 4, GROUPS: 5, OFFSETS: 8}.copy()
    )
    configs: dict[str, dict[str, str]] = attrs.field(factory=dict)
    groups: dict[str, Offsets] = attrs.field(factory=dict)
    kinds: dict[str, str] = attrs.field(factory=dict)
    group_errors: dict[str, int] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Answer the requests that a source of records alone does not know."""
        self.answers |= {
            CONFIGS: self._describe_configs,
            GROUPS: self._list_groups,
            OFFSETS: self._fetch_offsets,
        }

    def _describe_configs(self, node_id: int, request: Any) -> Any:
        m = describe_configs
        results = []
        for asked in request.resources:
            entries = [
                m.DescribeConfigsResourceResult(name, value, config_source=1)
                for name, value in self.configs.get(asked.resource_name, {}).items()
            ]
            entries.append(m.DescribeConfigsResourceResult("segment.bytes", "77", config_source=5))
            code = 0 if asked.resource_name in self.topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            results.append(
                m.DescribeConfigsResult(code, None, asked.resource_type, asked.resource_name, entries)
            )
        return m.DescribeConfigsResponse(0, results)

    def _list_groups(self, node_id: int, request: Any) -> Any:
        m = list_groups
        mine = self.groups if node_id == self.node_ids[0] else {}
        found = [m.ListedGroup(name, "consumer", "Stable", self.kinds.get(name, "classic")) for name in mine]
        return m.ListGroupsResponse(0, 0, found)

    def _fetch_offsets(self, node_id: int, request: Any) -> Any:
        m = offset_fetch
        if not request.groups:
            return m.OffsetFetchResponse(0, self._topics(m, request.group_id, m.OffsetFetchResponseTopic))
        return m.OffsetFetchResponse(
            groups=[
                m.OffsetFetchResponseGroup(
                    asked.group_id,
                    self._topics(m, asked.group_id, m.OffsetFetchResponseTopics),
                    self.group_errors.get(asked.group_id, 0),
                )
                for asked in request.groups
            ]
        )

    def _topics(self, m: Any, group: str, kind: Any) -> list[Any]:
        part = (
            m.OffsetFetchResponsePartition
            if kind is m.OffsetFetchResponseTopic
            else m.OffsetFetchResponsePartitions
        )
        found: dict[str, Any] = {}
        for at, offset in self.groups.get(group, {}).items():
            topic = found.setdefault(at.topic, kind(at.topic, []))
            topic.partitions.append(
                part(at.partition, offset.offset, offset.leader_epoch, offset.metadata, 0)
            )
        return [*found.values()]


class ControlCase(ClusterOfBrokersCase):
    """Brokers 1, 2 and 3; the source has a topic t with two partitions."""

    settings: ClassVar[dict[str, str]] = {
        **ClusterOfBrokersCase.settings,
        "default.replication.factor": "3",
        "mirror.dc1.refresh.interval.ms": "500",
        "mirror.dc1.groups.interval.ms": "500",
    }

    def setUp(self) -> None:
        """Make the source."""
        super().setUp()
        self.source = FullSource(self.stores.clock)
        self.source.add_topic("t", 2)
        for node_id in self.source.node_ids:
            factory = KafkaServerFactory(self.source.broker(node_id), LIMITS, self.stores.clock)
            self.network.listen(FIRST_SOURCE_ID + node_id, (self.source.host(node_id), PORT), factory)

    def start(self, broker_id: int) -> ClusterBroker:
        """Start a broker with its mirrors."""
        one = super().start(broker_id)
        one.broker.mirrors.start((f"b{broker_id}", 9100 + broker_id))
        self.addCleanup(one.broker.mirrors.stop)
        return one

    def kill(self, broker_id: int) -> None:
        """Kill a broker."""
        self.brokers[broker_id].broker.mirrors.stop()
        super().kill(broker_id)

    # --- links

    def alter(self, **settings: str) -> None:
        """Change settings of the link ``dc1``; ``_`` stands for a dot."""
        named = {f"mirror.dc1.{name.replace('_', '.')}": value for name, value in settings.items()}
        any_broker = next(iter(self.brokers.values()))
        self.run_to_end(
            any_broker.metadata.alter_broker_configs("", lambda old: {**old, "mirror.links": "dc1", **named})
        )

    def link(self, topics: str = ".*", **settings: str) -> None:
        """Make the link, and let its first round end."""
        self.alter(bootstrap_servers=self.source.bootstrap, topics=topics, **settings)
        self.advance(2)

    def make_client(self, broker_id: int = 1, **settings: str) -> SourceClient:
        """Return a client of the source."""
        link = LinkSettings(
            "dc1", tuple(self.source.bootstrap.split(",")), ".*", ".*", None, "", "", settings
        )
        client = SourceClient(link, broker_id, self.stores.clock, self.network.endpoints_of(broker_id))
        self.addCleanup(lambda: self.stores.run(client.close()))
        return client

    # --- what there is

    @property
    def controller(self) -> int:
        """The id of the controller."""
        first = next(iter(self.brokers.values()))
        found: int = first.metadata.state.controller_id
        return found

    def topic(self, name: str = "t") -> Topic:
        """Return a topic, as the controller knows it."""
        found: Topic = self.brokers[self.controller].metadata.state.topics[name]
        return found

    def record(self, name: str = "t") -> MirrorRecord:
        """Return the record of a mirror."""
        found = record_of(self.topic(name).configs)
        assert found is not None
        return found

    def state(self, name: str = "t") -> MirrorState:
        """Return the state of a mirror."""
        return self.record(name).state

    def log(self, partition: int = 0, topic: str = "t") -> SourceLog:
        """Return a log of the source."""
        return self.source.topics[topic].logs[partition]

    # --- groups

    def commit(self, group: str, topic: str, offsets: Mapping[int, int], metadata: str = "") -> int:
        """Commit offsets of a group in this cluster, as a client without members; return the error."""
        m = offset_commit
        parts = [
            m.OffsetCommitRequestPartition(number, offset, committed_metadata=metadata)
            for number, offset in offsets.items()
        ]
        request = m.OffsetCommitRequest(group, topics=[m.OffsetCommitRequestTopic(topic, parts)])
        response = self.ask(self._coordinator(group), 8, 8, request)
        code: int = response.topics[0].partitions[0].error_code
        return code

    def offsets(self, group: str, topic: str = "t") -> dict[int, OffsetAndMetadata]:
        """Return the committed offsets of a group in this cluster."""
        m = offset_fetch
        request = m.OffsetFetchRequest(groups=[m.OffsetFetchRequestGroup(group, topics=None)])
        response = self.ask(self._coordinator(group), OFFSETS, 8, request)
        return {
            one.partition_index: OffsetAndMetadata(
                one.committed_offset, one.metadata or "", one.committed_leader_epoch
            )
            for told in response.groups[0].topics
            if told.name == topic
            for one in told.partitions
        }

    def _coordinator(self, group: str) -> int:
        offsets = self.brokers[self.controller].broker.groups.topic
        if not offsets.exists:
            self.run_to_end(offsets.ensure())
            self.advance(1)
        return offsets.leader_of(group).id

    def result(self, work: Any) -> Any:
        """Run a coroutine to its end; return its result, or raise its error."""
        results: list[Any] = []
        self.stores.run(Deferred.fromCoroutine(work).addBoth(results.append))
        if isinstance(results[0], Failure):
            results[0].raiseException()
        return results[0]


def places(topic: str, numbers: Collection[int]) -> list[TopicPartition]:
    """Return partitions of a topic."""
    return [TopicPartition(topic, number) for number in numbers]
