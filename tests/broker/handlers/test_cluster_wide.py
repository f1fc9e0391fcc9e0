"""Requests about the whole cluster, to a broker that is number 1 of three."""

from __future__ import annotations

from typing import Any, cast

import attrs
from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import ILogStore
from kafkatx.types import NO_LEADER, PartitionState, Topic
from kafkatx.wire.messages import alter_client_quotas as quotas
from kafkatx.wire.messages import (
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    create_partitions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_quorum,
    describe_topic_partitions,
    elect_leaders,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_partition_reassignments,
    metadata,
)
from tests.broker.cluster import ClusterTestCase
from tests.broker.running import codes

TOPIC, BROKER, GROUP = 2, 4, 32
SET = 0


class ClusterWideTestCase(ClusterTestCase):
    """Topic ``t`` has a partition on each of the brokers 1, 2 and 3."""

    def setUp(self) -> None:
        """Create the topic elsewhere."""
        super().setUp()
        self.metadata.put(self.metadata.make_topic("t", [[1], [2], [3]], {"retention.ms": "7000"}))

    def commands(self) -> list[str]:
        """Return the names of the changes that this broker has asked the store for."""
        return [command.name for command in self.metadata.commands if command.name != "record"]


class MetadataTests(ClusterWideTestCase):
    def described(self, name: str = "t") -> metadata.MetadataResponseTopic:
        """Return the metadata of a topic, which is not created."""
        asked = [metadata.MetadataRequestTopic(name=name)]
        (found,) = self.ask(3, 12, metadata.MetadataRequest(asked, False)).topics
        return cast(metadata.MetadataResponseTopic, found)

    def ask_creating(self, *names: str) -> dict[str, int]:
        """Return the topics' codes of a request that creates missing ones."""
        asked = [metadata.MetadataRequestTopic(name=name) for name in names]
        topics = self.ask(3, 12, metadata.MetadataRequest(asked, True)).topics
        return {topic.name: topic.error_code for topic in topics}

    def test_brokers(self) -> None:
        """All live brokers are returned with their addresses and racks, and the controller."""
        response = self.ask(3, 12, metadata.MetadataRequest([]))
        self.assertEqual(
            {(one.node_id, one.host, one.port, one.rack) for one in response.brokers},
            {(n, f"b{n}", 9100 + n, f"rack {n}") for n in (1, 2, 3)},
        )
        self.assertEqual(response.controller_id, 2)

    def test_leaders(self) -> None:
        """A topic shows its partitions on all brokers."""
        partitions = self.described().partitions
        found = [(p.error_code, p.leader_id, p.leader_epoch) for p in partitions]
        self.assertEqual(found, [(0, 1, 0), (0, 2, 0), (0, 3, 0)])

    def test_broker_gone(self) -> None:
        """A partition of a broker that is gone has no leader; its replica is offline, its epoch is kept."""
        self.metadata.leave(3)
        _mine, _other, gone = self.described().partitions
        self.assertEqual(
            (gone.error_code, gone.leader_id, gone.leader_epoch, gone.replica_nodes, gone.offline_replicas),
            (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, 1, [3], [3]),
        )
        self.assertEqual(codes(self.described().partitions), [0, 0, ErrorCode.LEADER_NOT_AVAILABLE])

    def test_new_topic(self) -> None:
        """A topic without states is not shown, and LEADER_NOT_AVAILABLE if it is asked for."""
        new = self.metadata.make_topic("new", [[2], [3]])
        waiting = PartitionState(NO_LEADER, -1, (2,), (), -1)
        self.metadata.put(attrs.evolve(new, partitions=(waiting, waiting)))
        found = self.described("new")
        self.assertEqual((found.error_code, found.partitions), (ErrorCode.LEADER_NOT_AVAILABLE, []))
        self.assertEqual([t.name for t in self.ask(3, 12, metadata.MetadataRequest(None)).topics], ["t"])
        asked = describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest("new")]
        )
        (topic,) = self.ask(75, 0, asked).topics
        self.assertEqual((topic.error_code, topic.partitions), (ErrorCode.LEADER_NOT_AVAILABLE, []))
        self.assertEqual(self.ask_creating("new"), {"new": ErrorCode.LEADER_NOT_AVAILABLE})

    def test_new_partition(self) -> None:
        """A partition without a state is LEADER_NOT_AVAILABLE if others have one; their number is right."""
        known = self.metadata.state.topics["t"]
        waiting = PartitionState(NO_LEADER, -1, (2,), (), -1)
        self.metadata.put(attrs.evolve(known, partitions=(*known.partitions, waiting)))
        partition = self.described().partitions[3]
        self.assertEqual(
            (partition.error_code, partition.leader_id, partition.leader_epoch, partition.replica_nodes),
            (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, -1, [2]),
        )

    def test_fenced(self) -> None:
        """A fenced broker still answers with what it knows."""
        self.metadata.fence()
        self.assertEqual(codes(self.described().partitions), [0, 0, 0])

    def test_not_created(self) -> None:
        """A topic that only other brokers have is not created again."""
        self.metadata.put(self.metadata.make_topic("theirs", [[2]]))
        self.assertEqual(self.ask_creating("theirs"), {"theirs": 0})
        self.assertEqual(self.commands(), [])

    def test_created(self) -> None:
        """A missing topic is created by the broker that is asked."""
        self.assertEqual(self.ask_creating("new"), {"new": 0})
        self.assertEqual(self.commands(), ["create_topic"])

    def test_created_by_another(self) -> None:
        """The client is told to ask again if another broker has created a topic meanwhile."""
        self.metadata.holding = True
        asked = [metadata.MetadataRequestTopic(name="new")]
        waiting = self.answer(3, 12, metadata.MetadataRequest(asked, True))
        (command,) = self.metadata.commands
        command.done.errback(RequestError(ErrorCode.TOPIC_ALREADY_EXISTS))
        (topic,) = self.response(3, 12, self.successResultOf(waiting)).topics
        self.assertEqual(topic.error_code, ErrorCode.LEADER_NOT_AVAILABLE)

    def test_describe_topic_partitions(self) -> None:
        """DescribeTopicPartitions answers as Metadata does."""
        self.metadata.leave(3)
        asked = describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest("t")]
        )
        (topic,) = self.ask(75, 0, asked).topics
        self.assertEqual(
            [(p.error_code, p.leader_id, p.offline_replicas) for p in topic.partitions],
            [(0, 1, []), (0, 2, []), (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER, [3])],
        )

    def test_describe_cluster(self) -> None:
        """DescribeCluster shows the live brokers and the controller."""
        self.metadata.leave(3)
        response = self.ask(60, 0, describe_cluster.DescribeClusterRequest())
        found = {(node.broker_id, node.host, node.rack) for node in response.brokers}
        self.assertEqual(found, {(1, "b1", "rack 1"), (2, "b2", "rack 2")})
        self.assertEqual(response.controller_id, 2)

    def test_describe_quorum(self) -> None:
        """The controller is the voter and all other brokers observe; without one there is no voter."""
        asked = describe_quorum.DescribeQuorumRequest(
            [describe_quorum.TopicRequest("__cluster_metadata", [describe_quorum.PartitionRequest(0)])]
        )
        for controller, voters, observers in ((2, [2], {1, 3}), (-1, [], {1, 2, 3})):
            self.metadata.change(controller_id=controller)
            (topic,) = self.ask(55, 2, asked).topics
            (quorum,) = topic.partitions
            self.assertEqual(quorum.leader_id, controller)
            self.assertEqual([one.replica_id for one in quorum.current_voters], voters)
            self.assertEqual({one.replica_id for one in quorum.observers}, observers)


class TopicTests(ClusterWideTestCase):
    def create(self, *asked: create_topics.CreatableTopic) -> list[create_topics.CreatableTopicResult]:
        """Return the results of CreateTopics."""
        response = self.ask(19, 7, create_topics.CreateTopicsRequest(list(asked), 1000))
        return cast("list[create_topics.CreatableTopicResult]", response.topics)

    def replicas(self, name: str) -> list[tuple[int, ...]]:
        """Return the replicas of each partition of a topic."""
        topic: Topic = self.metadata.state.topics[name]
        return [partition.replicas for partition in topic.partitions]

    def test_create(self) -> None:
        """A topic is spread over all brokers."""
        (result,) = self.create(create_topics.CreatableTopic("new", 6, 1))
        self.assertEqual(result.error_code, 0)
        self.assertEqual(sorted(self.replicas("new")), [(1,), (1,), (2,), (2,), (3,), (3,)])

    def test_create_assigned(self) -> None:
        """Replicas may be given by hand; each must be a live broker."""
        for brokers, code in (([3], 0), ([4], ErrorCode.INVALID_REPLICA_ASSIGNMENT)):
            given = [create_topics.CreatableReplicaAssignment(0, brokers)]
            (result,) = self.create(create_topics.CreatableTopic(f"on-{brokers[0]}", -1, -1, given))
            self.assertEqual(result.error_code, code)
        self.assertEqual(self.replicas("on-3"), [(3,)])

    def test_create_with_copies(self) -> None:
        """More than one replica is refused, by number and by assignment."""
        given = [create_topics.CreatableReplicaAssignment(0, [1, 2])]
        results = self.create(
            create_topics.CreatableTopic("a", 1, 3), create_topics.CreatableTopic("b", -1, -1, given)
        )
        self.assertEqual(codes(results), [ErrorCode.INVALID_REPLICATION_FACTOR] * 2)
        for result in results:
            self.assertIn("kafkatx does not copy partitions yet", result.error_message or "")
        self.assertEqual(self.commands(), [])

    def test_exists_elsewhere(self) -> None:
        """A topic that only other brokers have exists."""
        self.metadata.put(self.metadata.make_topic("theirs", [[2]]))
        (result,) = self.create(create_topics.CreatableTopic("theirs", 1, 1))
        self.assertEqual(result.error_code, ErrorCode.TOPIC_ALREADY_EXISTS)

    def test_grow(self) -> None:
        """Any broker adds partitions, spread over all brokers."""
        given = [create_topics.CreatableReplicaAssignment(number, [number + 1]) for number in range(3)]
        self.create(create_topics.CreatableTopic("new", -1, -1, given))
        asked = create_partitions.CreatePartitionsRequest(
            [create_partitions.CreatePartitionsTopic("new", 6, None)], 1000
        )
        self.assertEqual(codes(self.ask(37, 3, asked).results), [0])
        self.assertEqual(self.replicas("new"), [(1,), (2,), (3,), (1,), (2,), (3,)])

    def test_delete(self) -> None:
        """Any broker deletes a topic, by name and by id, also one that it has nothing of."""
        theirs = self.metadata.make_topic("theirs", [[2]])
        self.metadata.put(theirs)
        for asked in (
            delete_topics.DeleteTopicState("t"),
            delete_topics.DeleteTopicState(None, theirs.topic_id),
        ):
            response = self.ask(20, 6, delete_topics.DeleteTopicsRequest([asked], timeout_ms=1000))
            self.assertEqual(codes(response.responses), [0])
        self.assertEqual(dict(self.metadata.state.topics), {})

    def elect(self, kind: int, asked: dict[str, list[int]] | None) -> dict[tuple[str, int], int]:
        """Return the code of each partition of an election."""
        topics = None
        if asked is not None:
            topics = [elect_leaders.TopicPartitions(name, numbers) for name, numbers in asked.items()]
        response = self.ask(43, 2, elect_leaders.ElectLeadersRequest(kind, topics, 1000))
        return {
            (one.topic, result.partition_id): result.error_code
            for one in response.replica_election_results
            for result in one.partition_result
        }

    def test_elections(self) -> None:
        """No election is needed where the leader is live, and none is possible where it is not."""
        self.metadata.leave(3)
        for kind, code in (
            (0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
            (1, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        ):
            needless = ErrorCode.ELECTION_NOT_NEEDED
            self.assertEqual(
                self.elect(kind, {"t": [0, 1, 2]}), {("t", 0): needless, ("t", 1): needless, ("t", 2): code}
            )
            self.assertEqual(self.elect(kind, None), {("t", 2): code})

    def test_reassignments(self) -> None:
        """A partition cannot be moved, and the reason is told; one that stays is accepted when away, too."""
        self.metadata.leave(3)
        for number, replicas, code in (
            (1, [2], 0),
            (2, [3], 0),
            (1, [1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            (1, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ):
            asked = [
                alter_partition_reassignments.ReassignableTopic(
                    "t", [alter_partition_reassignments.ReassignablePartition(number, replicas)]
                )
            ]
            request = alter_partition_reassignments.AlterPartitionReassignmentsRequest(1000, asked)
            (topic,) = self.ask(45, 0, request).responses
            (result,) = topic.partitions
            self.assertEqual(result.error_code, code)
            if replicas == [1]:
                self.assertIn("kafkatx does not copy partitions yet", result.error_message)
        listed = self.ask(46, 0, list_partition_reassignments.ListPartitionReassignmentsRequest(1000))
        self.assertEqual((listed.error_code, listed.topics), (0, []))


class ConfigTests(ClusterWideTestCase):
    def describe(self, kind: int, name: str) -> tuple[int, str | None, dict[str, str | None]]:
        """Return code, message and values of a resource."""
        asked = [describe_configs.DescribeConfigsResource(kind, name, None)]
        (found,) = self.ask(32, 4, describe_configs.DescribeConfigsRequest(asked)).results
        return found.error_code, found.error_message, {one.name: one.value for one in found.configs}

    def set(self, kind: int, name: str, config: str, value: str) -> tuple[int, str | None]:
        """Set one config; return code and message."""
        configs = [incremental_alter_configs.AlterableConfig(config, SET, value)]
        asked = [incremental_alter_configs.AlterConfigsResource(kind, name, configs)]
        request = incremental_alter_configs.IncrementalAlterConfigsRequest(asked)
        (result,) = self.ask(44, 1, request).responses
        return result.error_code, result.error_message

    def test_topic(self) -> None:
        """Any broker shows and changes the configs of a topic, also one that it has nothing of."""
        self.metadata.put(self.metadata.make_topic("theirs", [[2]], {"retention.ms": "7000"}))
        self.assertEqual(self.describe(TOPIC, "theirs")[2]["retention.ms"], "7000")
        self.assertEqual(self.set(TOPIC, "theirs", "retention.ms", "8000"), (0, None))
        self.assertEqual(self.describe(TOPIC, "theirs")[2]["retention.ms"], "8000")

    def test_group(self) -> None:
        """Any broker shows and changes the configs of a group."""
        self.assertEqual(self.set(GROUP, "g", "consumer.session.timeout.ms", "50000"), (0, None))
        self.assertEqual(self.describe(GROUP, "g")[2]["consumer.session.timeout.ms"], "50000")

    def test_broker(self) -> None:
        """The settings of another broker are refused with the ids, as Apache Kafka does; own ones are not."""
        why = "Unexpected broker id, expected 1 or empty string, but received 2"
        self.assertEqual(self.describe(BROKER, "2"), (ErrorCode.INVALID_REQUEST, why, {}))
        self.assertEqual(self.set(BROKER, "2", "log.retention.ms", "5000"), (ErrorCode.INVALID_REQUEST, why))
        asked = [alter_configs.AlterConfigsResource(BROKER, "2", [])]
        (result,) = self.ask(33, 2, alter_configs.AlterConfigsRequest(asked)).responses
        self.assertEqual((result.error_code, result.error_message), (ErrorCode.INVALID_REQUEST, why))
        self.assertEqual(self.commands(), [])
        self.assertEqual(self.set(BROKER, "1", "log.retention.ms", "5000"), (0, None))
        self.assertEqual(self.describe(BROKER, "1")[2]["log.retention.ms"], "5000")

    def test_all_brokers(self) -> None:
        """The defaults of all brokers can be changed at any; those of another broker do not count here."""
        self.metadata.change(broker_configs={"2": {"log.retention.ms": "1"}})
        self.assertEqual(self.set(BROKER, "", "log.retention.ms", "6000"), (0, None))
        self.assertEqual(self.describe(BROKER, "")[2]["log.retention.ms"], "6000")
        self.assertEqual(self.describe(BROKER, "1")[2]["log.retention.ms"], "6000")

    def test_resources(self) -> None:
        """All brokers have configs."""
        asked = list_config_resources.ListConfigResourcesRequest([BROKER])
        found = self.ask(74, 1, asked).config_resources
        self.assertEqual([one.resource_name for one in found], ["1", "2", "3"])

    def test_quotas(self) -> None:
        """A quota that is set at another broker applies here, and one that is set here is the cluster's."""
        entity = (("client-id", "tests"),)
        self.metadata.change(client_quotas={entity: {"producer_byte_rate": 10.0}})
        assert self.broker.quotas.producer is not None
        self.assertEqual(self.broker.quotas.producer.limits[entity], 10.0)
        asked = quotas.AlterClientQuotasRequest(
            [
                quotas.EntryData(
                    [quotas.EntityData("client-id", "c")], [quotas.OpData("consumer_byte_rate", 5.0, False)]
                )
            ]
        )
        self.assertEqual(codes(self.ask(49, 1, asked).entries), [0])
        self.assertIn((("client-id", "c"),), self.metadata.state.client_quotas)


class LocalTests(ClusterWideTestCase):
    """Requests that are about this broker's own logs."""

    def test_log_dirs(self) -> None:
        """A partition that this broker does not have cannot be moved to another of its log dirs."""
        log_dir = alter_replica_log_dirs.AlterReplicaLogDir(
            "/data", [alter_replica_log_dirs.AlterReplicaLogDirTopic("t", [1])]
        )
        self.patch(self.broker, "store", cast(ILogStore, _NoMoves()))
        request = alter_replica_log_dirs.AlterReplicaLogDirsRequest([log_dir])
        (topic,) = self.ask(34, 2, request).results
        self.assertEqual([p.error_code for p in topic.partitions], [ErrorCode.REPLICA_NOT_AVAILABLE])


class ProducerIdTests(ClusterWideTestCase):
    def test_block(self) -> None:
        """Any broker gives producer ids, from a block that the cluster reserves for it."""
        self.metadata.next_producer_id = 5000
        for expected in (5000, 5001):
            response = self.ask(22, 4, init_producer_id.InitProducerIdRequest(None, 1000))
            self.assertEqual((response.error_code, response.producer_id), (0, expected))
        self.assertEqual(self.commands(), ["allocate_producer_ids"])

    def test_many_at_once(self) -> None:
        """Requests that come while a block is reserved share it, and each gets its own id."""
        self.metadata.holding = True
        request = init_producer_id.InitProducerIdRequest(None, 1000)
        waiting: list[Deferred[Any]] = [self.answer(22, 4, request) for _ in range(3)]
        (command,) = self.metadata.commands
        command.carry_out()
        given = [self.response(22, 4, self.successResultOf(one)).producer_id for one in waiting]
        self.assertEqual(sorted(given), [0, 1, 2])
        self.assertEqual(self.commands(), ["allocate_producer_ids"])


class _NoMoves:
    """A log store that must not be asked to move anything."""

    def relocate(self, *args: object) -> None:
        """Fail the test."""
        raise AssertionError(f"moved {args}")
