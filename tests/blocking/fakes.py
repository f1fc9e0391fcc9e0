"""A cluster in memory behind the client's ``connect`` seam: answers request objects, fails on demand."""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import attrs

from kafkatx.blocking.cluster import Cluster
from kafkatx.clientcore.errors import ConnectionFailed
from kafkatx.errors import ErrorCode
from kafkatx.records.batch import parse_header
from kafkatx.wire.api import api_for
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.messages import (
    alter_partition_reassignments,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    elect_leaders,
    fetch,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    list_partition_reassignments,
    metadata,
    produce,
)

LOSE_REQUEST = "the connection breaks before the broker reads the request"
LOSE_REPLY = "the connection breaks after the broker has done it"


MOST_REQUESTS = 5000


@attrs.define
class Log:
    """One partition: its leader, its batches, and what its producers sent last."""

    leader: int = 1
    replicas: tuple[int, ...] = ()
    """The leader alone if empty."""
    isr: tuple[int, ...] = ()
    """All replicas if empty."""
    batches: list[bytes] = attrs.Factory(list)
    start: int = 0
    end: int = 0
    max_bytes: int = 1 << 30
    sequences: dict[int, list[int]] = attrs.Factory(dict)
    epoch: int = -1
    """The leader epoch; from 0 on, refusals name the leader."""

    def append(self, data: bytes) -> tuple[int, int]:
        """Append as a broker does, idempotence included; return (error code, base offset)."""
        header = parse_header(data)
        if len(data) > self.max_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        if header.producer_id >= 0:
            known = self.sequences.setdefault(header.producer_id, [0])
            if header.base_sequence in known[:-1][-5:]:
                return ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1
            if header.base_sequence != known[-1]:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            known.append(header.base_sequence + header.count)
        base = self.end
        self.batches.append(struct.pack(">q", base) + data[8:])
        self.end = base + header.count
        return 0, base


@attrs.define(eq=False)
class FakeCluster:
    """Brokers 1.. at ``broker1:9092`` and so on; ``down`` ones refuse connections.

    ``faults[RequestClass]`` is a queue: each request of the class takes one, and None means none. A fault
    is LOSE_REQUEST, LOSE_REPLY or an ErrorCode for its partitions.
    """

    topics: dict[str, list[Log]] = attrs.Factory(dict)
    brokers: int = 1
    controller: int = 1
    auto_create: bool = True
    versions: dict[type[Any], int] = attrs.Factory(dict)
    faults: defaultdict[type[Any], deque[Any]] = attrs.Factory(lambda: defaultdict(deque))
    down: set[int] = attrs.Factory(set)
    fenced: set[int] = attrs.Factory(set)
    requests: list[tuple[int, Any]] = attrs.Factory(list)
    channels: list[FakeChannel] = attrs.Factory(list)
    slept: list[float] = attrs.Factory(list)
    now: float = 1000.0
    on_sleep: Callable[[], None] = lambda: None
    bootstrap: str = "broker1:9092"
    reassigning: dict[tuple[str, int], tuple[int, ...]] = attrs.Factory(dict)
    """The new replicas of partitions that are being reassigned; a list of them completes one."""
    configs: dict[tuple[int, str], dict[str, str]] = attrs.Factory(dict)
    """The configs that were set, by type and name of the resource."""
    fetch_bytes: int = 1 << 30
    """How much a fetch reply holds at most, whatever is asked for; cuts a batch."""

    def client(self, **options: Any) -> Cluster:
        """A :class:`Cluster` that talks to this one, with a clock that only sleeping moves."""
        return Cluster(
            self.bootstrap, connect=self.connect, clock=lambda: self.now, sleep=self.sleep, **options
        )

    def sleep(self, seconds: float) -> None:
        """Record it and move the clock."""
        self.slept.append(seconds)
        self.now += seconds
        self.on_sleep()

    def connect(self, host: str, port: int) -> FakeChannel:
        """A channel to one broker, which fails to open if that is down."""
        channel = FakeChannel(self, host, port)
        self.channels.append(channel)
        return channel

    def sent(self, request: type[Any]) -> list[Any]:
        """All requests of one class so far."""
        return [message for _, message in self.requests if isinstance(message, request)]

    def answer(self, node: int, request: Any, version: int) -> Any:
        """Return broker *node*'s response, or a fault that loses it."""
        self.requests.append((node, request))
        assert len(self.requests) < MOST_REQUESTS, "the client asks for ever"
        faults = self.faults[type(request)]
        fault = faults.popleft() if faults else None
        if fault == LOSE_REQUEST:
            return fault
        error = fault if isinstance(fault, ErrorCode) else 0
        response = getattr(self, f"answer_{type(request).__module__.rsplit('.', 1)[1]}")(
            node, request, version, error
        )
        return fault if fault == LOSE_REPLY else response

    def answer_metadata(self, node: int, request: Any, version: int, error: int) -> Any:
        """Every broker, and the topics asked for."""
        names = list(self.topics) if request.topics is None else [topic.name for topic in request.topics]
        for name in names:
            if name not in self.topics and request.allow_auto_topic_creation and self.auto_create:
                self.topics[name] = [Log()]
        return metadata.MetadataResponse(
            brokers=[
                metadata.MetadataResponseBroker(n, f"broker{n}", 9092) for n in range(1, self.brokers + 1)
            ],
            controller_id=self.controller,
            cluster_id="fake",
            topics=[self._topic(name, error) for name in names],
        )

    def _topic(self, name: str, error: int) -> metadata.MetadataResponseTopic:
        if error or name not in self.topics:
            code = error or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return metadata.MetadataResponseTopic(error_code=code, name=name)
        partitions = [
            metadata.MetadataResponsePartition(
                partition_index=index,
                leader_id=log.leader,
                leader_epoch=log.epoch,
                replica_nodes=list(log.replicas) or [log.leader],
                isr_nodes=list(log.isr or log.replicas) or [log.leader],
            )
            for index, log in enumerate(self.topics[name])
        ]
        return metadata.MetadataResponseTopic(
            name=name, is_internal=name.startswith("__"), partitions=partitions
        )

    def answer_describe_cluster(self, node: int, request: Any, version: int, error: int) -> Any:
        """The broker itself."""
        itself = describe_cluster.DescribeClusterBroker(
            node, f"broker{node}", 9092, None, node in self.fenced
        )
        return describe_cluster.DescribeClusterResponse(brokers=[itself])

    def answer_init_producer_id(self, node: int, request: Any, version: int, error: int) -> Any:
        """Always producer 7."""
        return init_producer_id.InitProducerIdResponse(error_code=error, producer_id=7, producer_epoch=0)

    def answer_produce(self, node: int, request: Any, version: int, error: int) -> Any:
        """Append, unless the fault or another leader forbids it."""
        data = request.topic_data[0]
        partition = data.partition_data[0]
        log = self.topics[data.name][partition.index]
        base = -1
        if not error and log.leader != node:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not error:
            error, base = log.append(bytes(partition.records))
        answer = produce.PartitionProduceResponse(partition.index, error, base)
        answer.current_leader = self._hint(log, error)
        told = [produce.TopicProduceResponse(data.name, [answer])]
        return produce.ProduceResponse(told, node_endpoints=self._endpoints(answer))

    def _hint(self, log: Log, error: int) -> LeaderIdAndEpoch | None:
        if error != ErrorCode.NOT_LEADER_OR_FOLLOWER or log.epoch < 0:
            return None
        return LeaderIdAndEpoch(log.leader, log.epoch)

    def _endpoints(self, *answers: Any) -> list[NodeEndpoint]:
        leaders = {one.current_leader.leader_id for one in answers if one.current_leader is not None}
        return [NodeEndpoint(leader, f"broker{leader}", 9092) for leader in leaders]

    def answer_list_offsets(self, node: int, request: Any, version: int, error: int) -> Any:
        """-1, -2, and any other time stands for offset 1 with timestamp 11."""
        return list_offsets.ListOffsetsResponse(
            topics=[
                list_offsets.ListOffsetsTopicResponse(
                    topic.name, [self._offset(node, topic.name, asked, error) for asked in topic.partitions]
                )
                for topic in request.topics
            ]
        )

    def _offset(self, node: int, topic: str, asked: Any, error: int) -> Any:
        log = self.topics[topic][asked.partition_index]
        code = error or (0 if log.leader == node else int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        offset, timestamp = {-1: (log.end, -1), -2: (log.start, -1)}.get(asked.timestamp, (1, 11))
        return list_offsets.ListOffsetsPartitionResponse(
            partition_index=asked.partition_index, error_code=code, offset=offset, timestamp=timestamp
        )

    def answer_fetch(self, node: int, request: Any, version: int, error: int) -> Any:
        """The batches from the asked offsets on, cut at ``fetch_bytes``; never waits."""
        told = [
            fetch.FetchableTopicResponse(
                topic.topic,
                partitions=[self._fetched(node, topic.topic, asked, error) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
        endpoints = self._endpoints(*(part for topic in told for part in topic.partitions))
        return fetch.FetchResponse(responses=told, node_endpoints=endpoints)

    def _fetched(self, node: int, topic: str, asked: Any, error: int) -> Any:
        log = self.topics[topic][asked.partition]
        code = error or (0 if log.leader == node else int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        if not code and not log.start <= asked.fetch_offset <= log.end:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        wanted = [b for b in log.batches if parse_header(b).last_offset >= asked.fetch_offset]
        limit = min(asked.partition_max_bytes, self.fetch_bytes)
        return fetch.PartitionData(
            partition_index=asked.partition,
            error_code=code,
            current_leader=self._hint(log, code),
            high_watermark=log.end,
            last_stable_offset=log.end,
            log_start_offset=log.start,
            records=memoryview(b"" if code else b"".join(wanted)[:limit]),
        )

    def answer_create_topics(self, node: int, request: Any, version: int, error: int) -> Any:
        """Create, unless it is there."""
        topic = request.topics[0]
        if topic.name in self.topics:
            error = ErrorCode.TOPIC_ALREADY_EXISTS
        else:
            self.topics[topic.name] = [Log() for _ in range(max(1, topic.num_partitions))]
        return create_topics.CreateTopicsResponse(
            topics=[create_topics.CreatableTopicResult(name=topic.name, error_code=error)]
        )

    def answer_delete_topics(self, node: int, request: Any, version: int, error: int) -> Any:
        """Delete, if it is there."""
        name = request.topics[0].name
        code = error or (0 if name in self.topics else int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        if not code:
            del self.topics[name]
        return delete_topics.DeleteTopicsResponse(
            responses=[delete_topics.DeletableTopicResult(name=name, error_code=code)]
        )

    def answer_describe_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """One setting of the topic's own, one of the broker's."""
        entries = [
            describe_configs.DescribeConfigsResourceResult(name="retention.ms", value="5", config_source=1),
            describe_configs.DescribeConfigsResourceResult(
                name="cleanup.policy", value="delete", config_source=5
            ),
        ]
        result = describe_configs.DescribeConfigsResult(
            error_code=error, resource_type=2, resource_name="t", configs=entries
        )
        return describe_configs.DescribeConfigsResponse(results=[result])

    def answer_elect_leaders(self, node: int, request: Any, version: int, error: int) -> Any:
        """Make the first replica lead; a partition that it leads already needs no election."""
        if node != self.controller:
            return elect_leaders.ElectLeadersResponse(0, ErrorCode.NOT_CONTROLLER, [])
        asked = request.topic_partitions
        if asked is None:
            asked = [
                elect_leaders.TopicPartitions(name, list(range(len(logs))))
                for name, logs in self.topics.items()
            ]
        results = []
        for topic in asked:
            parts = []
            for number in topic.partitions:
                log = self.topics[topic.topic][number]
                needed = bool(log.replicas) and log.leader != log.replicas[0]
                if needed and not error:
                    log.leader = log.replicas[0]
                code = error or (0 if needed else int(ErrorCode.ELECTION_NOT_NEEDED))
                if request.topic_partitions is not None or code != ErrorCode.ELECTION_NOT_NEEDED:
                    parts.append(elect_leaders.PartitionResult(number, code, None))
            results.append(elect_leaders.ReplicaElectionResult(topic.topic, parts))
        return elect_leaders.ElectLeadersResponse(0, 0, results)

    def answer_alter_partition_reassignments(self, node: int, request: Any, version: int, error: int) -> Any:
        """Begin or cancel reassignments."""
        results = []
        for topic in request.topics:
            parts = []
            for asked in topic.partitions:
                name = (topic.name, asked.partition_index)
                if not error and asked.replicas is None:
                    self.reassigning.pop(name, None)
                elif not error:
                    self.reassigning[name] = tuple(asked.replicas)
                parts.append(
                    alter_partition_reassignments.ReassignablePartitionResponse(asked.partition_index, error)
                )
            results.append(alter_partition_reassignments.ReassignableTopicResponse(topic.name, parts))
        return alter_partition_reassignments.AlterPartitionReassignmentsResponse(0, 0, None, results)

    def answer_list_partition_reassignments(self, node: int, request: Any, version: int, error: int) -> Any:
        """List what is in progress, and complete the first one."""
        topics = []
        for (name, number), target in self.reassigning.items():
            before = self.topics[name][number].replicas
            ongoing = list_partition_reassignments.OngoingPartitionReassignment(
                number,
                list(dict.fromkeys([*target, *before])),
                [each for each in target if each not in before],
                [each for each in before if each not in target],
            )
            topics.append(list_partition_reassignments.OngoingTopicReassignment(name, [ongoing]))
        if self.reassigning:
            (name, number), target = next(iter(self.reassigning.items()))
            del self.reassigning[name, number]
            self.topics[name][number].replicas = target
        return list_partition_reassignments.ListPartitionReassignmentsResponse(
            error_code=error, topics=topics
        )

    def answer_incremental_alter_configs(self, node: int, request: Any, version: int, error: int) -> Any:
        """Set and delete configs."""
        results = []
        for one in request.resources:
            configs = self.configs.setdefault((one.resource_type, one.resource_name), {})
            for change in one.configs:
                configs.pop(change.name, None)
                if change.value is not None:
                    configs[change.name] = change.value
            results.append(
                incremental_alter_configs.AlterConfigsResourceResponse(
                    error, None, one.resource_type, one.resource_name
                )
            )
        return incremental_alter_configs.IncrementalAlterConfigsResponse(responses=results)


class FakeChannel:
    """A :class:`kafkatx.blocking.connection.Channel` to a :class:`FakeCluster`."""

    def __init__(self, cluster: FakeCluster, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.closed = False
        self.unread = 0
        self.most_unread = 0
        self._cluster = cluster
        self._node = int(host.removeprefix("broker"))
        self._replies: list[Any] = []
        self._opened = False
        self.features: dict[str, int] = {}

    def open(self) -> None:
        """Fail if the broker is down."""
        if self._opened and not self.closed:
            return
        if self.closed or self._node in self._cluster.down:
            self.closed = True
            raise ConnectionFailed(f"no broker answers at {self.host}:{self.port}")
        self._opened = True

    def version_for(self, message: type[Any], at_most: int | None = None) -> int:
        """The highest, unless the test or the caller wants less."""
        highest = self._cluster.versions.get(message, api_for(message.API_KEY).versions[-1])
        return highest if at_most is None else min(highest, at_most)

    def request(self, message: Any, version: int | None = None) -> Any:
        """Send and receive."""
        return self.receive(self.send(message, version))

    def send(self, message: Any, version: int | None = None, *, expect_reply: bool = True) -> int:
        """The broker works at once; its reply waits for :meth:`receive`."""
        self.open()
        reply = self._cluster.answer(self._node, message, version or 0)
        self._replies.append(reply)
        if expect_reply:
            self.unread += 1
            self.most_unread = max(self.most_unread, self.unread)
        return len(self._replies) - 1

    def receive(self, ticket: int) -> Any:
        """Give the reply; a lost one breaks this connection, and with it all that follow."""
        if self.closed:
            raise ConnectionFailed("closed")
        self.unread -= 1
        reply = self._replies[ticket]
        if reply in (LOSE_REQUEST, LOSE_REPLY):
            self.close()
            raise ConnectionFailed("lost")
        return reply

    def fileno(self) -> int:
        """There is no socket."""
        return -1

    def close(self) -> None:
        """Stay closed."""
        self.closed = True
